"""An agent: it finds out who guards an API, registers itself, is let in by a person, acts with less than it
was given, and asks the person before it pays.

    python3 agent.py                      a person decides in the browser
    python3 agent.py --as EMAIL PASSWORD  the script decides for a person, without a screen
"""

import argparse
import json
import re
import time

from web import call

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
CIBA = "urn:openid:params:grant-type:ciba"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"


def say(text):
    print(text, flush=True)


def good(answer, *statuses):
    if answer.status not in (statuses or (200,)):
        raise SystemExit(f"{answer.status}: {answer.body.decode()}")
    return answer.json()


class Person:
    """Who decides, when the script is to do it: signs in, and says yes."""

    def __init__(self, server, email, password):
        self.server = server
        flow = good(call("POST", f"{server}/flows", document={"kind": "sign_in"}), 201)
        self.step(flow, "identifier", {"identifier": email})
        done = self.step(flow, "password", {"password": password})
        self.headers = {"X-Session-Token": done["result"]["session_token"]}

    def step(self, flow, name, body, headers=()):
        url = f"{self.server}/flows/{flow['id']}/{name}"
        return good(call("POST", url, document=body, headers=headers))

    def let_device_in(self, user_code):
        body = {"kind": "device", "user_code": user_code}
        flow = good(call("POST", f"{self.server}/flows", document=body, headers=self.headers), 201)
        self.step(flow, "confirm", {"decision": "allow"}, self.headers)

    def approve(self):
        waiting = good(call("GET", f"{self.server}/me/approvals", headers=self.headers))["items"]
        for one in waiting:
            url = f"{self.server}/me/approvals/{one['id']}"
            good(call("POST", url, document={"decision": "approve"}, headers=self.headers), 204)


class Agent:
    def __init__(self, api):
        self.api = api
        # RFC 9728: the API says who guards it, and that server what it can do (RFC 8414).
        challenge = call("GET", api).headers["WWW-Authenticate"]
        guarded = good(call("GET", re.search(r'resource_metadata="([^"]+)"', challenge)[1]))
        self.server = guarded["authorization_servers"][0]
        well_known = f"{self.server}/.well-known/oauth-authorization-server"
        self.metadata = good(call("GET", well_known))
        say(f"{guarded['resource_name']} is guarded by {self.server}")
        # RFC 7591: it makes itself known.
        about = {
            "client_name": "An agent that pays",
            "grant_types": [DEVICE, "refresh_token", EXCHANGE, CIBA],
            "token_endpoint_auth_method": "client_secret_post",
            "backchannel_token_delivery_mode": "poll",
        }
        made = good(call("POST", self.metadata["registration_endpoint"], document=about), 201)
        self.proof = {key: made[key] for key in ("client_id", "client_secret")}
        say(f"it is registered as {made['client_id']}")

    def token(self, **form):
        return call("POST", self.metadata["token_endpoint"], form={**self.proof, **form})

    def wait(self, interval, **form):
        """Polls until the person has decided."""
        while True:
            answer = self.token(**form)
            error = answer.json().get("error")
            if error not in ("authorization_pending", "slow_down"):
                return good(answer)
            interval += 5 if error == "slow_down" else 0
            time.sleep(interval)

    def be_let_in(self, person):
        """RFC 8628: a person lets it act for them."""
        scope = "openid email payments:read"
        form = {**self.proof, "scope": scope, "resource": self.api}
        begun = good(call("POST", self.metadata["device_authorization_endpoint"], form=form))
        if person:
            person.let_device_in(begun["user_code"])
        else:
            say(f"open {begun['verification_uri_complete']}")
        held = self.wait(begun["interval"], grant_type=DEVICE, device_code=begun["device_code"])
        headers = {"Authorization": f"Bearer {held['access_token']}"}
        who = good(call("GET", self.metadata["userinfo_endpoint"], headers=headers))
        say(f"it acts for {who['email']}")
        return held["access_token"], who["email"]

    def narrowed(self, token):
        """RFC 8693: what it carries to the API is less than what it was given."""
        answer = self.token(
            grant_type=EXCHANGE,
            subject_token=token,
            subject_token_type=ACCESS_TOKEN,
            scope="payments:read",
        )
        return good(answer)["access_token"]

    def ask(self, email, payment, person):
        """OpenID CIBA: the person approves exactly this payment, or does not."""
        details = json.dumps([{"type": "payment_initiation", **payment}])
        form = {
            **self.proof,
            "scope": "openid",
            "login_hint": email,
            "binding_message": f"Invoice 17 for {payment['payee']}",
            "authorization_details": details,
        }
        begun = good(call("POST", self.metadata["backchannel_authentication_endpoint"], form=form))
        if person:
            person.approve()
        else:
            say("the person is asked: look at the mailbox, or at /approve")
        got = self.wait(
            begun.get("interval", 5), grant_type=CIBA, auth_req_id=begun["auth_req_id"]
        )
        return got["access_token"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--as", dest="person", nargs=2, metavar=("EMAIL", "PASSWORD"))
    parser.add_argument("--api", default="http://127.0.0.1:8090/payments", metavar="URL")
    given = parser.parse_args()
    api = given.api
    agent = Agent(api)
    person = Person(agent.server, *given.person) if given.person else None
    token, email = agent.be_let_in(person)
    bearer = lambda token: {"Authorization": f"Bearer {token}"}
    before = good(call("GET", api, headers=bearer(agent.narrowed(token))))
    say(f"it sees {len(before['payments'])} payments")
    payment = {"amount": 40, "payee": "Padaria Central"}
    refused = call("POST", api, document=payment, headers=bearer(token))
    say(f"without an approval it is told {refused.status}")
    approved = agent.ask(email, payment, person)
    more = call("POST", api, document={**payment, "amount": 4000}, headers=bearer(approved))
    say(f"for more than was approved it is told {more.status}")
    paid = good(call("POST", api, document=payment, headers=bearer(approved)), 201)
    say(f"paid: {json.dumps(paid)}")


if __name__ == "__main__":
    main()
