"""A person behind a reverse proxy: Apache with mod_auth_openidc, against a server that runs.

    python3 browse.py SCENE      SCENE is a JSON file that bin/clients-for-tests writes

Apache has a configuration, a port and a folder of its own, and is never the system's. What it lets
through goes to an application behind it, which tells the headers that it was sent.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit
from urllib.request import (
    HTTPCookieProcessor,
    HTTPRedirectHandler,
    ProxyHandler,
    Request,
    build_opener,
)

CONFIGURATION = """
ServerRoot "{folder}"
DefaultRuntimeDir "{folder}"
PidFile "{folder}/pid"
ErrorLog "{folder}/log"
LogLevel auth_openidc:info
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
Listen 127.0.0.1:{posting_port}
StartServers 1
{user}
{modules}

OIDCProviderMetadataURL {issuer}/.well-known/openid-configuration
OIDCClientID {client_id}
OIDCClientSecret "{client_secret}"
OIDCRedirectURI {origin}/oidc
OIDCDefaultURL {origin}/page
OIDCCryptoPassphrase {passphrase}
OIDCPKCEMethod S256
OIDCScope "openid profile email"
OIDCRemoteUserClaim email
OIDCAuthNHeader X-Remote-User

ProxyPass /oidc !
ProxyPass / {application}/
<Location />
    AuthType openid-connect
    Require valid-user
</Location>
<Location /bye>
    AuthType None
    Require all granted
</Location>

# The same proxy, but it asks by a form that the browser posts.
<VirtualHost 127.0.0.1:{posting_port}>
    OIDCProviderAuthRequestMethod POST
    OIDCRedirectURI {posting_origin}/oidc
    ProxyPass /oidc !
    ProxyPass / {application}/
</VirtualHost>
"""

MODULES = ["mpm_event", "authn_core", "authz_core", "authz_user", "proxy", "proxy_http", "auth_openidc"]


class Application(BaseHTTPRequestHandler):
    """Tells what the proxy says of the person who asks."""

    def do_GET(self):
        told = json.dumps({"path": self.path, "headers": dict(self.headers.items())}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_):
        pass


def written(scene, application):
    """Returns the path of Apache's configuration."""
    proxy = scene["apache"]
    folder = Path(proxy["folder"])
    folder.mkdir()
    loaded = [f"LoadModule {name}_module {proxy['modules']}/mod_{name}.so" for name in MODULES]
    path = folder / "httpd.conf"
    text = CONFIGURATION.format(
        folder=folder,
        port=urlsplit(proxy["origin"]).port,
        posting_port=urlsplit(proxy["posting_origin"]).port,
        # Apache's workers refuse to run as root.
        user="User nobody\nGroup nogroup" if os.getuid() == 0 else "",
        modules="\n".join(loaded),
        issuer=scene["issuer"],
        client_id=proxy["client_id"],
        client_secret=proxy["client_secret"],
        origin=proxy["origin"],
        posting_origin=proxy["posting_origin"],
        passphrase=os.urandom(16).hex(),
        application=application,
    )
    path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def running(scene):
    """Runs Apache, and the application behind it."""
    application = ThreadingHTTPServer(("127.0.0.1", 0), Application)
    Thread(target=application.serve_forever, daemon=True).start()
    path = written(scene, f"http://127.0.0.1:{application.server_port}")
    command = [scene["apache"]["program"], "-f", path, "-D", "FOREGROUND"]
    apache = subprocess.Popen(command)
    try:
        for _ in range(600):
            assert apache.poll() is None, "Apache did not start"
            if Path(scene["apache"]["folder"], "pid").exists():
                break
            time.sleep(0.05)
        yield
    except BaseException:
        log = Path(scene["apache"]["folder"], "log")
        if log.exists():
            print("the end of Apache's log:", *log.read_text().splitlines()[-20:], sep="\n")
        raise
    finally:
        apache.terminate()
        apache.wait(20)
        application.shutdown()


class Answer:
    def __init__(self, answer):
        self.status, self.body = answer.status, answer.read().decode()
        self.location = answer.headers.get("location")

    def json(self):
        return json.loads(self.body)


class Unfollowed(HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    """Keeps cookies, follows no redirect by itself, and says how it came to ask, as browsers do."""

    def __init__(self):
        # A proxy for the world outside is none for us.
        cookies = HTTPCookieProcessor(CookieJar())
        self.opener = build_opener(ProxyHandler({}), Unfollowed(), cookies)

    def send(self, request):
        try:
            with self.opener.open(request, timeout=30) as answer:
                return Answer(answer)
        except HTTPError as refusal:
            with refusal:
                return Answer(refusal)

    def visit(self, url, accept="text/html"):
        headers = {"accept": accept, "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site"}
        return self.send(Request(url, headers=headers))

    def post_from(self, origin, form):
        headers = {
            "accept": "text/html",
            "content-type": "application/x-www-form-urlencoded",
            "origin": origin,
            "sec-fetch-mode": "navigate",
            "sec-fetch-site": "cross-site",
        }
        return self.send(Request(form.action, urlencode(form.fields).encode(), headers))

    def flow(self, url):
        """Opens what would be a screen as the document that the screen is made of."""
        answer = self.visit(url, "application/json")
        equal(answer.status, 200, answer.body)
        return answer.json()

    def step(self, base, step, body):
        url = urljoin(base, step["href"])
        parts = urlsplit(url)
        headers = {
            "accept": "application/json",
            "content-type": "application/json",
            "origin": f"{parts.scheme}://{parts.netloc}",
            "sec-fetch-mode": "cors",
            "sec-fetch-site": "same-origin",
        }
        answer = self.send(Request(url, json.dumps(body).encode(), headers))
        equal(answer.status, 200, answer.body)
        return answer.json()

    def finish(self, url, known):
        """Takes the steps of the flow that a URL begins; returns its result, and their names."""
        flow, taken = self.flow(url), []
        while flow["state"] != "done":
            step = next((step for step in flow["steps"] if step["name"] in known), None)
            assert step, f"no step leads on: {flow}"
            taken.append(step["name"])
            flow = self.step(url, step, known[step["name"]])
        return flow.get("result", {}), taken


def equal(left, right, why=""):
    assert left == right, f"{left!r} is not {right!r} {why}"


@contextmanager
def check(sentence):
    told = f"mod_auth_openidc: {sentence}"
    try:
        yield
    except BaseException:
        print(f"FAILED  {told}", flush=True)
        raise
    print(f"ok      {told}", flush=True)


class Form(HTMLParser):
    """Reads the one form of a page: where it goes, and what it holds."""

    def __init__(self, page):
        super().__init__()
        self.action, self.fields = "", {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "form":
            equal(attrs["method"].lower(), "post")
            self.action = attrs["action"]
        elif tag == "input" and "name" in attrs:
            self.fields[attrs["name"]] = attrs["value"]


class Story:
    def __init__(self, scene, origin):
        self.scene, self.issuer = scene, scene["issuer"]
        self.origin = scene["apache"][origin]
        self.page = f"{self.origin}/page?number=1"
        self.browser = Browser()
        self.known = {
            "identifier": {"identifier": scene["email"]},
            "password": {"password": scene["password"]},
            "consent": {"decision": "allow"},
        }

    def sent_to_sign_in(self):
        """Asks for the page; returns where Apache sends a person that it does not know."""
        answer = self.browser.visit(self.page)
        equal(answer.status, 302, answer.body)
        assert answer.location.startswith(f"{self.issuer}/connect/authorize?"), answer.location
        return answer.location

    def sign_in(self, begin=None):
        """Returns the steps that it took."""
        begin = begin or self.sent_to_sign_in()
        result, taken = self.browser.finish(begin, self.known)
        back = self.browser.visit(result["redirect_to"])
        equal((back.status, back.location), (302, self.page), back.body)
        return taken

    def shown(self):
        answer = self.browser.visit(self.page)
        equal(answer.status, 200, answer.body)
        return answer.json()

    def tell(self):
        with check("a person who is not known is sent to sign in, with PKCE"):
            asked = parse_qs(urlsplit(self.sent_to_sign_in()).query)
            equal(asked["code_challenge_method"], ["S256"])
            equal(asked["client_id"], [self.scene["apache"]["client_id"]])

        with check("they sign in and come back to the page they wanted"):
            equal(self.sign_in(), ["identifier", "password", "consent"])

        with check("the application behind it is told who they are"):
            told = self.shown()
            equal(told["path"], "/page?number=1")
            headers = {name.lower(): value for name, value in told["headers"].items()}
            email = self.scene["email"]
            equal((headers["x-remote-user"], headers["oidc_claim_email"]), (email, email))
            equal(headers["oidc_claim_given_name"], "Ana")
            equal(headers["oidc_claim_iss"], self.issuer)

        with check("its own cookie is enough for the next page"):
            self.shown()

        with check("its logout ends our session too, and leads back"):
            bye = f"{self.origin}/bye"
            left = self.browser.visit(f"{self.origin}/oidc?logout={quote(bye, safe='')}")
            assert left.location.startswith(f"{self.issuer}/connect/logout?"), left.location
            back = self.browser.visit(left.location)
            equal((back.status, back.location), (303, bye), back.body)
            equal(self.browser.visit(bye).status, 200)
            equal(self.browser.flow(self.sent_to_sign_in())["state"], "identify")

        with check("a sign-out at our own site reaches it (back-channel logout)"):
            equal(self.sign_in(), ["identifier", "password"])
            self.shown()
            confirmed = {"confirm": {"decision": "allow"}}
            _, taken = self.browser.finish(f"{self.issuer}/connect/logout", confirmed)
            equal(taken, ["confirm"])
            for _ in range(300):
                if self.browser.visit(self.page).status != 200:
                    break
                time.sleep(0.1)
            self.sent_to_sign_in()

    def tell_by_form(self):
        with check("a request that a page of its own posts is taken as well"):
            asked = self.browser.visit(self.page)
            equal(asked.status, 200, asked.body)
            form = Form(asked.body)
            equal(form.action, f"{self.issuer}/connect/authorize")
            # Lax cookies do not come with it, hence it is answered with a link that asks the same.
            link = self.browser.post_from(self.origin, form)
            equal(link.status, 303, link.body)
            equal(self.sign_in(urljoin(form.action, link.location)), ["identifier", "password"])
            equal(self.shown()["path"], "/page?number=1")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        scene = json.load(file)
    with running(scene):
        Story(scene, "origin").tell()
        Story(scene, "posting_origin").tell_by_form()


if __name__ == "__main__":
    main()
