#!/usr/bin/env python3
"""Fills an installation as people and clients do, and writes its store down as SQL, for tests of later versions.

    fill.py PORTEIRO FOLDER

PORTEIRO is the binary of the version whose store is wanted. FOLDER gets `store.sql`, the keys, and `known.json`: what
clients and people hold, so that a test can present it to a later version. Everything in it is made up for the test.
"""

import base64
import hashlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

SECRET = "a-secret-of-more-than-thirty-two-characters"
PASSWORD = "correct horse battery staple"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
GRANT = "urn:ietf:params:oauth:grant-type:"
CIBA = "urn:openid:params:grant-type:ciba"
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
CALLBACK = "https://web.example.com/cb"

FILE = f"""
[[resource]]
identifier = "https://api.example.com/invoices"
name = "Invoices"
scopes = ["invoices:read", "invoices:write"]

[[organization]]
slug = "acme"
name = "Acme Lda"
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*", "members:*", "apikeys:*", "audit:read"]

[[client]]
client_id = "web"
client_name = "Web"
client_secret = "{SECRET}"
redirect_uris = ["{CALLBACK}"]
grant_types = ["authorization_code", "refresh_token", "{GRANT}token-exchange"]
trusted = true

[[client]]
client_id = "shop"
client_secret = "{SECRET}"
redirect_uris = ["https://shop.example.com/cb"]

[[client]]
client_id = "invoices-api"
client_secret = "{SECRET}"
introspects = ["https://api.example.com/invoices"]

[[client]]
client_id = "billing"
client_secret = "{SECRET}"
organization = "acme"
roles = ["clerk"]

[[client]]
client_id = "tv"
token_endpoint_auth_method = "none"
grant_types = ["{GRANT}device_code", "refresh_token"]

[[client]]
client_id = "agent"
client_name = "Agent"
client_secret = "{SECRET}"
grant_types = ["{CIBA}", "refresh_token"]

[[account]]
email = "ana@acme.test"
email_verified = true
password = "{PASSWORD}"
given_name = "Ana"
memberships = [{{ organization = "acme", roles = ["manager"] }}]

[[account]]
email = "bruno@acme.test"
email_verified = true
password = "{PASSWORD}"
memberships = [{{ organization = "acme", roles = ["clerk"] }}]

[[account]]
email = "dora@acme.test"
password = "{PASSWORD}"
totp_secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Installation:
    def __init__(self, porteiro):
        self.porteiro = os.path.abspath(porteiro)
        self.folder = tempfile.mkdtemp()
        self.port = free_port()
        self.base = f"http://localhost:{self.port}"
        with open(f"{self.folder}/porteiro.toml", "w") as out:
            out.write(
                f'issuer = "{self.base}"\nlisten = "127.0.0.1:{self.port}"\n'
                f'[store]\nurl = "sqlite://{self.folder}/porteiro.db"\n[keys]\ndir = "keys"\n'
                f'[operator]\nlisten = "127.0.0.1:{free_port()}"\n[registration]\nopen = true\n'
                # Mails wait: no server listens there.
                f'[mail]\ntransport = "smtp://127.0.0.1:1"\nfrom = "id@example.com"\n[log]\nkeep_days = 400\n'
            )

    def run(self, *arguments, environment=None):
        command = [self.porteiro, "--config", "porteiro.toml", *arguments]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def serve(self):
        command = [self.porteiro, "--config", "porteiro.toml", "serve"]
        log = open(f"{self.folder}/log", "w")
        self.server = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        for _ in range(400):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        sys.exit(open(f"{self.folder}/log").read())

    def stop(self):
        self.server.terminate()
        self.server.wait(30)

    def ask(self, path, form=None, body=None, headers=None, client=None, wanted=(200, 201, 204)):
        headers = dict(headers or {})
        data = None
        if form is not None:
            data = urllib.parse.urlencode(form).encode()
        if body is not None:
            data = json.dumps(body).encode()
            headers["content-type"] = "application/json"
        if client:
            pair = base64.b64encode(f"{client}:{SECRET}".encode()).decode()
            headers["authorization"] = f"Basic {pair}"
        request = urllib.request.Request(self.base + path, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        if status not in wanted:
            sys.exit(f"{path}: {status} {text!r}")
        return json.loads(text) if text else None

    def step(self, flow, name, body, session=None):
        headers = {"x-session-token": session} if session else {}
        return self.ask(f"/flows/{flow['id']}/{name}", body=body, headers=headers)

    def prove(self, flow, email):
        self.step(flow, "identifier", {"identifier": email})
        return self.step(flow, "password", {"password": PASSWORD})

    def sign_in(self, email):
        flow = self.ask("/flows", body={"kind": "sign_in"})
        return self.prove(flow, email)["result"]["session_token"]

    def authorize(self, session, client, callback, scope):
        challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest())
        query = {
            "client_id": client, "redirect_uri": callback, "response_type": "code", "scope": scope,
            "state": "x", "code_challenge": challenge.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        headers = {"accept": "application/json", "x-session-token": session}
        return self.ask("/connect/authorize?" + urllib.parse.urlencode(query), headers=headers)

    def code(self, answer):
        query = urllib.parse.urlparse(answer["result"]["redirect_to"]).query
        return urllib.parse.parse_qs(query)["code"][0]

    def tokens(self, session, scope="openid offline_access invoices:read"):
        code = self.code(self.authorize(session, "web", CALLBACK, scope))
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK,
                "code_verifier": VERIFIER}
        return self.ask("/connect/token", form=form, client="web")


def fill(one):
    known = {}
    ana, bruno = one.sign_in("ana@acme.test"), one.sign_in("bruno@acme.test")
    known["session"] = ana
    tokens = one.tokens(ana)
    known["refresh_token"] = tokens["refresh_token"]
    known["access_token"] = tokens["access_token"]
    # A family that has been rotated and ended, and one that waits for its code.
    ended = one.tokens(bruno)
    form = {"grant_type": "refresh_token", "refresh_token": ended["refresh_token"]}
    one.ask("/connect/token", form=form, client="web")
    one.ask("/connect/token", form=form, client="web", wanted=(400,))
    known["ended_refresh_token"] = ended["refresh_token"]
    known["code"] = one.code(one.authorize(ana, "web", CALLBACK, "openid"))
    # Consent that was given, and a flow that waits for it.
    flow = one.authorize(ana, "shop", "https://shop.example.com/cb", "openid")
    one.step(flow, "consent", {"decision": "allow"}, session=ana)
    waiting = one.authorize(bruno, "shop", "https://shop.example.com/cb", "openid")
    known["waiting_flow"] = waiting["id"]
    # A token of a machine, and one that was exchanged.
    form = {"grant_type": "client_credentials", "scope": "invoices:read"}
    known["machine_token"] = one.ask("/connect/token", form=form, client="billing")["access_token"]
    # A device: one that was let in, and one that waits.
    device = one.ask("/connect/device", form={"client_id": "tv", "scope": "openid"})
    flow = one.ask("/flows", body={"kind": "device", "user_code": device["user_code"]})
    one.prove(flow, "ana@acme.test")
    one.step(flow, "confirm", {"decision": "allow"})
    known["device_code"] = device["device_code"]
    waits = one.ask("/connect/device", form={"client_id": "tv", "scope": "openid"})
    known["waiting_user_code"] = waits["user_code"]
    # A request for an approval that waits.
    form = {"login_hint": "ana@acme.test", "scope": "openid"}
    known["auth_req_id"] = one.ask("/connect/ciba", form=form, client="agent")["auth_req_id"]
    # A client that registered itself, and a wrong password, which is charged.
    body = {"redirect_uris": ["https://new.example.com/cb"], "client_name": "New"}
    known["registered"] = one.ask("/connect/register", body=body)["client_id"]
    flow = one.ask("/flows", body={"kind": "sign_in"})
    one.step(flow, "identifier", {"identifier": "bruno@acme.test"})
    one.ask(f"/flows/{flow['id']}/password", body={"password": "wrong"}, wanted=(200, 401))
    # What operators make.
    made = one.run("apikey", "create", "--organization", "acme", "--name", "old", "--permission",
                   "audit:read", "--json")
    known["api_key"] = json.loads(made)["key"]
    one.run("account", "invite", "--administrator", "new@acme.test", "--organization", "acme")
    # A link that waits.
    flow = one.ask("/flows", body={"kind": "recovery"})
    one.step(flow, "identifier", {"identifier": "ana@acme.test"})
    one.step(flow, "email_code/send", {})
    time.sleep(1)
    known["at"] = int(time.time() * 1000)
    known["issuer"] = one.base
    return known


def main():
    porteiro, folder = sys.argv[1:]
    one = Installation(porteiro)
    one.run("keys", "generate")
    with open(f"{one.folder}/file.toml", "w") as out:
        out.write(FILE)
    # Long ago, so that the log has been shortened. libfaketime is Debian's package.
    long_ago = {**os.environ, "LD_PRELOAD": FAKETIME, "FAKETIME": "-410d"}
    one.run("organization", "create", "gone", environment=long_ago)
    one.run("apply", "file.toml")
    one.serve()
    try:
        known = fill(one)
    finally:
        one.stop()
    os.makedirs(folder, exist_ok=True)
    with sqlite3.connect(f"{one.folder}/porteiro.db") as store:
        lines = list(store.iterdump())
        tables = [row[0] for row in store.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        known["rows"] = {name: store.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
                         for name in sorted(tables)}
        kinds = store.execute("SELECT DISTINCT kind FROM entities ORDER BY kind")
        known["kinds"] = [row[0] for row in kinds]
    with open(f"{folder}/store.sql", "w") as out:
        out.write("\n".join(lines) + "\n")
    with open(f"{folder}/known.json", "w") as out:
        json.dump(known, out, indent=1, sort_keys=True)
        out.write("\n")
    shutil.copytree(f"{one.folder}/keys", f"{folder}/keys", dirs_exist_ok=True)
    shutil.rmtree(one.folder)
    print(f"{folder}: {known['rows']}")


main()
