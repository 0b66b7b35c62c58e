"""What all clients share: a worker that goes round, a person who signs in, tokens and how they are looked at."""

import base64
import hashlib
import random
import threading
import urllib.parse

from history import mark
from parties import CALLBACK, PASSWORD, SECRET
from wire import Caller, basic, claims

ACCESS_SECONDS = 300
CODE_SECONDS = 60


class GaveUp(Exception):
    """A round cannot go on: an answer that it needs did not come."""


class Worker(Caller):
    """Goes round and round until it is told to stop."""

    def __init__(self, world, name):
        super().__init__(world.wire, name)
        self.world = world
        self.dice = random.Random(f"client {world.seed} {name}")
        self.email = f"{name}@acme.test"
        self.rounds = 0
        self.calm_rounds = 0
        self.session = None
        self.sessions = 0
        self.ended = []

    def node(self, other_than=None):
        """Draws a node, perhaps another than the one that was asked before."""
        count = len(self.wire.addresses)
        if other_than is None:
            return self.dice.randrange(count)
        return (other_than + 1 + self.dice.randrange(count - 1)) % count

    def run(self):
        while not self.world.is_over.is_set():
            is_calm = self.world.is_calm.is_set()
            try:
                self.round()
                self.rounds += 1
                if is_calm:
                    self.calm_rounds += 1
            except GaveUp:
                pass
            self.world.is_over.wait(self.dice.uniform(0.05, 0.3) * self.world.pause)

    def round(self):
        raise NotImplementedError

    def final(self):
        """Looks once more, when nothing is wrong any more, at what was ended."""
        for token, name in self.ended[-4:]:
            for node in range(len(self.wire.addresses)):
                self.introspect(token, name, node=node)

    def need(self, result):
        """The answer, where it is a good one."""
        outcome, answer = result
        if outcome != "ok":
            raise GaveUp
        return answer

    # A person.

    def step(self, flow, name, data, node=None, do="step", about=None, read=None, session=None):
        headers = {"x-session-token": session} if session else None
        return self.call(do, self.node() if node is None else node, "POST", f"/flows/{flow}/{name}",
                         data=data, about=about, read=read, headers=headers)

    def begin(self, body, session=None):
        headers = {"x-session-token": session} if session else None
        answer = self.need(self.call("begin", self.node(), "POST", "/flows", data=body, headers=headers))
        return answer.json()

    def started(self, more=()):
        """What is noted of an answer that may have begun a session."""

        def read(outcome, answer):
            token = (answer.json().get("result") or {}).get("session_token") if outcome == "ok" else None
            if token is None:
                return {}
            name = f"session:{mark(token)}"
            return {"issued": [{"thing": name, "type": "session", "rests": [name, f"account:{self.email}", *more]}]}

        return read

    def sign_in(self):
        """Signs in by the password, and keeps the session."""
        flow = self.begin({"kind": "sign_in"})["id"]
        self.need(self.step(flow, "identifier", {"identifier": self.email}))
        answer = self.need(self.step(flow, "password", {"password": PASSWORD}, do="sign_in", read=self.started()))
        self.keep_session(answer)

    def keep_session(self, answer):
        token = (answer.json().get("result") or {}).get("session_token")
        if token is None:
            raise GaveUp
        self.session = token
        self.sessions += 1

    def sign_in_once(self, present):
        """Presents what is good for one sign-in, sometimes twice at once, and keeps the session that came of it."""
        answers = []

        def one():
            answers.append(present())

        if self.dice.random() < 0.3:
            self.race(one, one)
        else:
            one()
        for outcome, answer in answers:
            if outcome == "ok" and (answer.json().get("result") or {}).get("session_token"):
                self.keep_session(answer)
                return
        raise GaveUp

    def in_session(self):
        if self.session is None:
            self.sign_in()
        return self.session

    def session_name(self):
        return f"session:{mark(self.session)}"

    def look_at_session(self, token=None, node=None):
        """Whether a session is open: a read of the account in it."""
        token = token or self.session

        def read(outcome, answer):
            if outcome == "ok":
                return {"active": True}
            return {"active": False} if answer.status == 401 else {}

        return self.call("use", self.node() if node is None else node, "GET", "/me",
                         headers={"x-session-token": token},
                         about={"thing": f"session:{mark(token)}", "how": "me"}, read=read)

    # Tokens.

    def token_request(self, do, client, form, about, node=None, rests=(), may=(), asked=(), secret=SECRET):
        """Asks for tokens by a grant; notes what was issued and what it rests on."""
        family = f"family:{about['thing']}" if "thing" in about and "family" not in about else about.get("family")
        about = {**about, "client": client, "asked": sorted(asked)}
        if family:
            about["family"] = family
        headers = {"authorization": basic(client, secret)} if secret else {}
        if not secret:
            form = {**form, "client_id": client}
        rests = [*rests, *([family] if family else [])]

        def read(outcome, answer):
            if outcome != "ok":
                return {}
            said = answer.json()
            return {"issued": issued(said, rests, list(may))}

        return self.call(do, self.node() if node is None else node, "POST", "/connect/token",
                         headers=headers, form=form, about=about, read=read)

    def introspect(self, token, name=None, node=None, by="invoices-api"):
        name = name or f"access:{mark(token)}"

        def read(outcome, answer):
            if outcome != "ok":
                return {}
            said = answer.json()
            found = {"active": said.get("active") is True}
            if found["active"]:
                found["scope"] = sorted((said.get("scope") or "").split())
            return found

        return self.call("use", self.node() if node is None else node, "POST", "/connect/introspect",
                         headers={"authorization": basic(by, SECRET)}, form={"token": token},
                         about={"thing": name, "how": "introspect"}, read=read)

    def userinfo(self, token, node=None):
        def read(outcome, answer):
            if outcome == "ok":
                return {"active": True}
            return {"active": False} if answer.status == 401 else {}

        return self.call("use", self.node() if node is None else node, "GET", "/connect/userinfo",
                         headers={"authorization": f"Bearer {token}"},
                         about={"thing": f"access:{mark(token)}", "how": "userinfo"}, read=read)

    def revoke(self, client, token, ends, promises=(), node=None):
        return self.call("end", self.node() if node is None else node, "POST", "/connect/revoke",
                         headers={"authorization": basic(client, SECRET)}, form={"token": token},
                         about={"ends": list(ends), "promises": list(promises)})

    def look(self, token):
        """Asks one of the nodes what a token is worth, by one of the ways."""
        if self.dice.random() < 0.5:
            return self.introspect(token)
        return self.userinfo(token)

    def remember_ended(self, token):
        self.ended.append((token, f"access:{mark(token)}"))

    # Two at once.

    def race(self, one, other):
        """Does two things at the same time."""
        thread = threading.Thread(target=one, daemon=True)
        thread.start()
        other()
        thread.join()


def issued(said, rests, may):
    """The things that an answer of the token endpoint hands out."""
    things = []
    if access := said.get("access_token"):
        seen = claims(access)
        name = f"access:{mark(access)}"
        things.append({
            "thing": name, "type": "access", "rests": [*rests, name], "may": may, "seconds": ACCESS_SECONDS,
            "scope": sorted((seen.get("scope") or "").split()), "client": seen.get("client_id"),
            "org": seen.get("org"), "role": (seen.get("role") or "").split(), "sid": seen.get("sid"),
        })
    if refresh := said.get("refresh_token"):
        things.append({"thing": f"refresh:{mark(refresh)}", "type": "refresh", "rests": rests, "may": may})
    return things


def challenge(verifier):
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def authorization(scope, verifier, organization="acme"):
    """What the client `web` asks at authorize or PAR."""
    asked = {
        "client_id": "web", "redirect_uri": CALLBACK, "response_type": "code", "scope": scope,
        "state": "af0ifjsldkj", "code_challenge": challenge(verifier), "code_challenge_method": "S256",
    }
    return asked | ({"organization": organization} if organization else {})


def code_of(answer):
    """The code in the redirect of a flow that is done."""
    to = (answer.json().get("result") or {}).get("redirect_to")
    return parameter(to, "code") if to else None


def parameter(url, name):
    found = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query).get(name)
    return found[0] if found else None
