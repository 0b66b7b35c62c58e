"""The same relying party with a key of its own: private_key_jwt, a pushed request, logout.

    python keys_and_logout.py SCENE      SCENE is a JSON file that bin/clients-for-tests writes

The library has an add-on for pushed requests, which no server of RFC 9126 can serve: it takes 200 as
the only good answer, where §2.2 says 201, and its request object names "" as its issuer. So the request
that the library makes is pushed here, with the library's own proof of who the client is. It has nothing
for devices (RFC 8628), for registrations nothing but to read them, and takes no answer without a body,
as revocation has it (RFC 7009 §2.2).
"""

import json
import logging
import sys
from urllib.parse import parse_qsl, urlsplit

import requests
from cryptojwt.key_jar import KeyJar
from idpyoidc.client.rp_handler import RPHandler
from idpyoidc.message.oauth2 import JWTSecuredAuthorizationRequest
from sign_in import OIDC, Story, ask, configuration, equal

METHOD = "private_key_jwt"
# At any endpoint but the token endpoint the library signs with nothing else.
ALGORITHM = "RS256"
BYE = "https://pypi.example.com/bye"


def push_requests(services):
    """An add-on: pushes what the client would have asked for in the link."""

    def push(request_args, service, **_):
        provider = service.upstream_get("context").provider_info
        pushed = request_args.copy()
        headers = service.get_headers(
            pushed,
            http_method="POST",
            authn_method=METHOD,
            audience=provider["issuer"],
            algorithm=ALGORITHM,
        )
        endpoint = provider["pushed_authorization_request_endpoint"]
        answer = requests.post(endpoint, pushed.to_dict(), headers=headers, timeout=30)
        equal(answer.status_code, 201)
        # What it sends beside the reference counts for nothing, but it insists on sending it.
        kept = {name: request_args[name] for name in request_args.required_parameters()}
        return JWTSecuredAuthorizationRequest(request_uri=answer.json()["request_uri"], **kept)

    services["authorization"].post_construct.append(push)


def register_for_logout(services):
    """An add-on: the library registers this under a name in the singular, which is none."""

    def name_it(request_args, **_):
        request_args["post_logout_redirect_uris"] = [BYE]
        return request_args

    services["registration"].post_construct.append(name_it)


class KeyStory(Story):
    def __init__(self, scene):
        super().__init__(scene, METHOD, ALGORITHM, {})
        key = {"type": "RSA", "size": 2048, "use": ["sig"]}
        more = {
            "client_name": "From PyPI, with a key",
            "key_conf": {"key_defs": [key]},
            "token_endpoint_auth_signing_alg_values_supported": [ALGORITHM],
            "post_logout_redirect_uris": [BYE],
        }
        config = configuration(scene, METHOD, ALGORITHM, more)
        config["services"]["end_session"] = {"class": f"{OIDC}.end_session.EndSession"}
        reading = f"{OIDC}.read_registration.RegistrationRead"
        config["services"]["registration_read"] = {"class": reading}
        for add_on in [push_requests, register_for_logout]:
            function = f"{__name__}.{add_on.__name__}"
            config["add_ons"][add_on.__name__] = {"function": function, "kwargs": {}}
        self.handler = RPHandler(client_configs={self.issuer: config}, keyjar=KeyJar())

    def tell(self, beginning):
        with self.check(beginning):
            client = self.handler.client_setup(self.issuer)
            registered = client.get_context().registration_response
            equal(registered["token_endpoint_auth_method"], METHOD)
            equal(registered["post_logout_redirect_uris"], [BYE])
            assert "client_secret" not in registered, registered
            # Its assertions would name no issuer: it keeps this for clients that are configured.
            client.client_id = registered["client_id"]

        with self.check("its registration is read (RFC 7592)"):
            equal(client.do_request("registration_read")["client_id"], registered["client_id"])

        with self.check("a person signs in by a pushed request (RFC 9126)"):
            before = self.sign_in()["id_token"]
            equal(self.algorithm_used(), self.algorithm)

        with self.check("a refresh, userinfo and introspection"):
            self.handler.refresh_access_token(self.state)
            equal(self.handler.get_user_info(self.state)["sub"], before["sub"])
            equal(self.active(self.held("access_token")), True)

        with self.check("logout ends the session, and leads back with its state"):
            self.sign_in()
            profile = f"{self.issuer}/me"
            ask(profile, session=self.session_token)
            link = self.handler.logout(self.state)["url"]
            sent = dict(parse_qsl(urlsplit(link).query))
            equal(sent["id_token_hint"], self.held("id_token"))
            over = ask(link, session=self.session_token)
            equal(over["state"], "done")
            equal(over["result"]["redirect_to"], f"{BYE}?state={sent['state']}")
            ended = requests.get(profile, headers={"x-session-token": self.session_token}, timeout=30)
            equal(ended.status_code, 401)


def main():
    logging.disable(logging.CRITICAL)
    with open(sys.argv[1], encoding="utf-8") as file:
        scene = json.load(file)
    KeyStory(scene).tell("discovery and registration with a key set (RFC 7591)")


if __name__ == "__main__":
    main()
