"""A relying party made of idpyoidc, as it is published, against a server that runs.

    python sign_in.py SCENE      SCENE is a JSON file that bin/clients-for-tests writes

idpyoidc is what the certified oidcrp of the same author has become.
"""

import json
import logging
import sys
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urljoin, urlsplit
from urllib.request import Request, urlopen

from cryptojwt.jws.jws import factory
from cryptojwt.key_jar import KeyJar
from idpyoidc.client.exception import OidcServiceError
from idpyoidc.client.rp_handler import RPHandler

SCOPE = ["openid", "profile", "email", "offline_access", "invoices:read"]
OAUTH2 = "idpyoidc.client.oauth2"
OIDC = "idpyoidc.client.oidc"


def ask(url, body=None, session=None):
    headers = {"accept": "application/json", "content-type": "application/json"}
    if session:
        headers["x-session-token"] = session
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, headers)) as answer:
            return json.load(answer)
    except HTTPError as refusal:
        raise AssertionError(f"{url} answers {refusal.code}: {refusal.read()}") from refusal


def person(url, scene):
    """Takes the steps that a flow's document offers, as a program without cookies does.

    Returns what the client is sent back with, and the token of the session.
    """
    known = {
        "identifier": {"identifier": scene["email"]},
        "password": {"password": scene["password"]},
        "consent": {"decision": "allow"},
    }
    flow = ask(url)
    while flow["state"] != "done":
        step = next((step for step in flow["steps"] if step["name"] in known), None)
        assert step, f"no step leads on: {flow}"
        flow = ask(urljoin(url, step["href"]), known[step["name"]])
    result = flow["result"]
    return dict(parse_qsl(urlsplit(result["redirect_to"]).query)), result["session_token"]


def register_for_refresh(services):
    """An add-on: the library derives grant types from response types, and never names this one."""

    def name_it(request_args, **_):
        request_args["grant_types"] = ["authorization_code", "refresh_token"]
        return request_args

    services["registration"].post_construct.append(name_it)


def configuration(scene, method, algorithm, more):
    services = {
        "discovery": f"{OIDC}.provider_info_discovery.ProviderInfoDiscovery",
        "registration": f"{OIDC}.registration.Registration",
        "authorization": f"{OIDC}.authorization.Authorization",
        "accesstoken": f"{OIDC}.access_token.AccessToken",
        "refresh_access_token": f"{OIDC}.refresh_access_token.RefreshAccessToken",
        "userinfo": f"{OIDC}.userinfo.UserInfo",
        "introspection": f"{OAUTH2}.introspection.Introspection",
    }
    pkce = {"code_challenge_length": 64, "code_challenge_method": "S256"}
    return {
        "issuer": scene["issuer"],
        "client_type": "oidc",
        "redirect_uris": [scene["pypi"]["redirect_uri"]],
        "response_types_supported": ["code"],
        "token_endpoint_auth_methods_supported": [method],
        "client_authn_methods": [method],
        "id_token_signing_alg_values_supported": [algorithm],
        "services": {name: {"class": path} for name, path in services.items()},
        "add_ons": {
            "pkce": {"function": f"{OAUTH2}.add_on.pkce.add_support", "kwargs": pkce},
            "refresh": {"function": f"{__name__}.register_for_refresh", "kwargs": {}},
        },
        **more,
    }


def equal(left, right):
    assert left == right, f"{left!r} is not {right!r}"


def refused(error, run, *arguments):
    """Expects an OAuth error, which the library raises or returns as it likes."""
    try:
        answer = run(*arguments)
    except OidcServiceError as refusal:
        assert error in str(refusal), refusal
    else:
        equal(answer.get("error"), error)


class Story:
    """What a client of any kind does."""

    def __init__(self, scene, method, algorithm, more):
        self.scene, self.issuer = scene, scene["issuer"]
        self.method, self.algorithm = method, algorithm
        self.state = self.session_token = ""
        config = configuration(scene, method, algorithm, more)
        self.handler = RPHandler(client_configs={self.issuer: config}, keyjar=KeyJar())

    @contextmanager
    def check(self, sentence):
        told = f"idpyoidc, {self.method}, {self.algorithm}: {sentence}"
        try:
            yield
        except BaseException:
            print(f"FAILED  {told}", flush=True)
            raise
        print(f"ok      {told}", flush=True)

    def sign_in(self):
        # The library would leave out what the server does not list, and it lists no API's scopes.
        url = self.handler.begin(self.issuer, req_args={"scope": SCOPE})
        answer, self.session_token = person(url, self.scene)
        session = self.handler.finalize(self.issuer, answer)
        assert "error" not in session, session
        self.state = session["state"]
        return session

    def ask(self, service, **arguments):
        client = self.handler.issuer2rp[self.issuer]
        return client.do_request(
            service, request_args=arguments, state=self.state, authn_method=self.method
        )

    def refresh(self, token):
        return self.ask("refresh_token", refresh_token=token)

    def active(self, token):
        return self.ask("introspection", token=token)["active"]

    def held(self, name):
        return self.handler.get_session_information(self.state)[name]

    def algorithm_used(self):
        return factory(self.held("id_token")).jwt.headers["alg"]

    def tell(self, beginning):
        with self.check(beginning):
            self.handler.client_setup(self.issuer)

        with self.check("a person signs in; iss, state, nonce and signature hold"):
            session = self.sign_in()
            equal(self.algorithm_used(), self.algorithm)
            before = session["id_token"]
            equal(before["org"], "acme")

        with self.check("userinfo is about the same person"):
            told = session["userinfo"]
            equal((told["sub"], told["email"]), (before["sub"], self.scene["email"]))
            equal((told["email_verified"], told["given_name"]), (True, "Ana"))

        first = self.held("refresh_token")
        with self.check("a refresh rotates, with an ID token of the same sign-in"):
            after = self.handler.refresh_access_token(self.state)["__verified_id_token"]
            equal((after["sub"], after["auth_time"]), (before["sub"], before["auth_time"]))
            equal(self.algorithm_used(), self.algorithm)
            second, access = self.held("refresh_token"), self.held("access_token")
            assert second != first
            equal(self.handler.get_user_info(self.state)["sub"], before["sub"])

        with self.check("introspection knows the access token"):
            token = self.ask("introspection", token=access)
            equal((token["active"], token["sub"]), (True, before["sub"]))

        with self.check("a refresh token used twice is refused, and its successor with it"):
            refused("invalid_grant", self.refresh, first)
            refused("invalid_grant", self.refresh, second)
            equal(self.active(access), False)
            refused("invalid_token", self.handler.get_user_info, self.state)

        with self.check("a code redeemed twice is refused, and its tokens with it"):
            self.sign_in()
            refused("invalid_grant", self.handler.get_tokens, self.state)
            refused("invalid_grant", self.refresh, self.held("refresh_token"))
            equal(self.active(self.held("access_token")), False)


def main():
    # It logs as errors the refusals that are expected here.
    logging.disable(logging.CRITICAL)
    with open(sys.argv[1], encoding="utf-8") as file:
        scene = json.load(file)

    more = {"client_name": "From PyPI", "userinfo_signing_alg_values_supported": ["ES256"]}
    registered = Story(scene, "client_secret_basic", "RS256", more)
    registered.tell("discovery and registration (RFC 7591), with signed userinfo")

    more = {name: scene["pypi"][name] for name in ["client_id", "client_secret"]}
    Story(scene, "client_secret_post", "EdDSA", more).tell("discovery")


if __name__ == "__main__":
    main()
