"""Journeys: what people and clients do, request by request; each is begun by chance, by its share."""

import base64
import hashlib
import json
import random
import urllib.parse

import scene
from people import Grant, Pool, Session
from wire import Unexpected

ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"

# Of a thousand journeys.
SHARES = {
    "introspection": 215, "refresh": 190, "client_credentials": 120, "code": 110, "userinfo": 90, "code_by_par": 60,
    "exchange": 60, "profile": 55, "ciba": 25, "pushed_unspent": 20, "discovery": 18, "sign_in_abandoned": 12,
    "device": 10, "sign_in": 8, "sign_out": 6, "wrong_password": 1,
}

BASICS = {}


def basic(client):
    if client not in BASICS:
        BASICS[client] = "Basic " + base64.b64encode(f"{client}:{scene.SECRET}".encode()).decode()
    return BASICS[client]


class Journeys:
    def __init__(self, host, seed):
        self.host = host
        self.dice = random.Random(seed)
        self.sessions, self.grants = Pool(20_000), Pool(20_000)
        self.names, shares = list(SHARES), list(SHARES.values())
        self.ends = [sum(shares[:index + 1]) for index in range(len(shares))]
        self.registered = 0

    def draw(self):
        name = self.dice.choices(self.names, cum_weights=self.ends)[0]
        return name, getattr(self, name)()

    def may_close(self):
        """Every twentieth journey ends its connection; the next one opens another."""
        return self.dice.random() < 0.05

    # Requests.

    def request(self, method, path, *, form=None, data=None, by=None, session=None, bearer=None,
                wanted=(200, 201, 204)):
        """Asks, and returns the answer, which must be one that is wanted."""
        lines = [f"{method} {path} HTTP/1.1", f"host: {self.host}", "accept: application/json"]
        body = b""
        if form is not None:
            body = urllib.parse.urlencode(form).encode()
            lines.append("content-type: application/x-www-form-urlencoded")
        elif data is not None:
            body = json.dumps(data).encode()
            lines.append("content-type: application/json")
        if by:
            lines.append(f"authorization: {basic(by)}")
        if bearer:
            lines.append(f"authorization: Bearer {bearer}")
        if session:
            lines.append(f"x-session-token: {session.token}")
        if method != "GET":
            lines.append(f"content-length: {len(body)}")
        answer = yield "\r\n".join(lines).encode() + b"\r\n\r\n" + body
        if answer.status not in wanted:
            raise Unexpected(f"{method} {path.partition('?')[0]}", answer)
        return answer

    def token(self, form, by=None, wanted=(200,)):
        answer = yield from self.request("POST", "/connect/token", form=form, by=by, wanted=wanted)
        return answer.json()

    def flow(self, kind, session=None, **more):
        answer = yield from self.request("POST", "/flows", data={"kind": kind, **more}, session=session)
        return answer.json()

    def step(self, flow, name, data, session=None, wanted=(200,)):
        path = f"/flows/{flow}/{name}"
        answer = yield from self.request("POST", path, data=data, session=session, wanted=wanted)
        return answer.json()

    # Sessions.

    def sign_in(self, mistaken=False):
        number = self.dice.randrange(scene.PEOPLE)
        flow = (yield from self.flow("sign_in"))["id"]
        yield from self.step(flow, "identifier", {"identifier": scene.email(number)})
        if mistaken:
            yield from self.step(flow, "password", {"password": "another battery staple"}, wanted=(401,))
        said = yield from self.step(flow, "password", {"password": scene.PASSWORD})
        session = Session(said["result"]["session_token"], number)
        self.sessions.put(session)
        return session

    def wrong_password(self):
        yield from self.sign_in(mistaken=True)

    def sign_in_abandoned(self):
        flow = (yield from self.flow("sign_in"))["id"]
        yield from self.step(flow, "identifier", {"identifier": scene.email(self.dice.randrange(scene.PEOPLE))})

    def open_session(self):
        """A session that this journey alone uses; whoever has none signs in."""
        session = self.sessions.take(self.dice.random() < 0.2)
        if session is None:
            yield from self.sign_in()
            session = self.sessions.take(True)
            if session is None:
                return (yield from self.open_session())
        # Back at once: a session serves many clients at a time.
        session.users += 1
        self.sessions.put(session)
        return session

    def sign_out(self):
        is_unused = lambda session: session.is_live() and session.users == 0
        session = self.sessions.take(self.dice.random() < 0.5, is_unused)
        if session is None:
            return
        session.is_over = True
        flow = (yield from self.flow("sign_out", session))["id"]
        yield from self.step(flow, "confirm", {"decision": "allow"}, session)
        yield from self.request("GET", "/me", session=session, wanted=(401,))

    def profile(self):
        session = yield from self.open_session()
        try:
            yield from self.request("GET", "/me", session=session)
        finally:
            session.users -= 1

    # Codes and refresh tokens.

    def get_grant(self, pushed):
        session = yield from self.open_session()
        try:
            verifier = "".join(self.dice.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=64))
            is_offline = self.dice.random() < 0.2
            asked = self.authorization(verifier, session.number, is_offline)
            query = asked
            if pushed:
                answer = yield from self.request("POST", "/connect/par", form=asked, by="web")
                query = {"client_id": "web", "request_uri": answer.json()["request_uri"]}
            path = "/connect/authorize?" + urllib.parse.urlencode(query)
            answer = yield from self.request("GET", path, session=session)
            code = code_of(answer)
            if code is None:
                raise Unexpected("no code", answer)
            form = {"grant_type": "authorization_code", "code": code, "redirect_uri": scene.CALLBACK,
                    "code_verifier": verifier}
            grant = Grant("web", session, is_offline)
            return grant.renew((yield from self.token(form, "web")))
        finally:
            session.users -= 1

    @staticmethod
    def authorization(verifier, number, is_offline=False):
        digest = hashlib.sha256(verifier.encode()).digest()
        return {
            "client_id": "web", "redirect_uri": scene.CALLBACK, "response_type": "code", "state": "af0ifjsldkj",
            "scope": "openid invoices:read invoices:write" + " offline_access" * is_offline,
            "organization": scene.slug(number), "code_challenge_method": "S256",
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        }

    def code(self):
        self.grants.put((yield from self.get_grant(False)))

    def code_by_par(self):
        self.grants.put((yield from self.get_grant(True)))

    def pushed_unspent(self):
        form = self.authorization("never-shown-" * 5, self.dice.randrange(scene.PEOPLE))
        yield from self.request("POST", "/connect/par", form=form, by="web")

    def held_grant(self, is_fit, newest):
        """A grant that this journey alone uses, and whose session does not end meanwhile."""
        grant = self.grants.take(newest, is_fit)
        if grant is None:
            grant = yield from self.get_grant(False)
        grant.session.users += 1
        return grant

    def refresh(self):
        grant = yield from self.held_grant(lambda grant: grant.is_live(), self.dice.random() < 0.5)
        try:
            former = {"grant_type": "refresh_token", "refresh_token": grant.refresh}
            grant.renew((yield from self.token(former, grant.client)))
            end = self.dice.random()
            if end < 0.1:
                yield from self.revoke(grant.client, grant.refresh)
            elif end < 0.13:
                # Its reuse ends the family.
                yield from self.token(former, grant.client, wanted=(400,))
            elif end < 0.2:
                yield from self.revoke(grant.client, grant.access)
                grant.used -= 60
                self.grants.put(grant)
            else:
                self.grants.put(grant)
        finally:
            grant.session.users -= 1

    def revoke(self, client, token):
        yield from self.request("POST", "/connect/revoke", form={"token": token}, by=client)

    # Tokens.

    def with_access(self, use):
        grant = yield from self.held_grant(lambda grant: grant.has_fresh_access(), True)
        try:
            yield from use(grant)
        finally:
            grant.session.users -= 1
        self.grants.put(grant)

    def introspection(self):
        def use(grant):
            form = {"token": grant.access}
            answer = yield from self.request("POST", "/connect/introspect", form=form, by="invoices-api")
            if answer.json().get("active") is not True:
                raise Unexpected("a live token is inactive", answer)

        yield from self.with_access(use)

    def userinfo(self):
        yield from self.with_access(lambda grant: self.request("GET", "/connect/userinfo", bearer=grant.access))

    def exchange(self):
        def use(grant):
            form = {"grant_type": scene.EXCHANGE_GRANT, "subject_token": grant.access,
                    "subject_token_type": ACCESS_TOKEN, "scope": "invoices:read"}
            yield from self.token(form, "actor")

        yield from self.with_access(use)

    def client_credentials(self):
        client = f"billing-{self.dice.randrange(scene.ORGANIZATIONS)}"
        said = yield from self.token({"grant_type": "client_credentials", "scope": "invoices:read"}, client)
        if self.dice.random() < 0.2:
            yield from self.revoke(client, said["access_token"])

    # Devices and back channels: half of them are granted, a fifth is denied, the others are left to expire.

    def device(self):
        number = self.dice.randrange(scene.PEOPLE)
        form = {"client_id": "tv", "scope": "openid invoices:read", "organization": scene.slug(number)}
        asked = (yield from self.request("POST", "/connect/device", form=form)).json()
        end = self.dice.random()
        if end >= 0.7:
            return
        flow = (yield from self.flow("device", user_code=asked["user_code"]))["id"]
        yield from self.step(flow, "identifier", {"identifier": scene.email(number)})
        yield from self.step(flow, "password", {"password": scene.PASSWORD})
        said = yield from self.step(flow, "confirm", {"decision": "allow" if end < 0.5 else "deny"})
        poll = {"grant_type": scene.DEVICE_GRANT, "device_code": asked["device_code"], "client_id": "tv"}
        if end >= 0.5:
            yield from self.token(poll, wanted=(400,))
            return
        self.sessions.put(Session(said["result"]["session_token"], number))
        yield from self.token(poll)

    def ciba(self):
        session = yield from self.open_session()
        try:
            number = session.number
            message = f"Order {self.dice.randrange(1 << 40)}"
            form = {"login_hint": scene.email(number), "scope": "openid invoices:read",
                    "organization": scene.slug(number), "binding_message": message}
            asked = (yield from self.request("POST", "/connect/ciba", form=form, by="agent")).json()
            end = self.dice.random()
            if end >= 0.7:
                return
            held = yield from self.request("GET", "/me/approvals", session=session)
            shown = [one["id"] for one in held.json()["items"] if one["binding_message"] == message]
            if not shown:
                raise Unexpected("the request is not among the approvals", held)
            decision = {"decision": "approve" if end < 0.5 else "deny"}
            yield from self.request("POST", f"/me/approvals/{shown[0]}", data=decision, session=session)
            poll = {"grant_type": scene.CIBA_GRANT, "auth_req_id": asked["auth_req_id"]}
            yield from self.token(poll, "agent", wanted=(200,) if end < 0.5 else (400,))
        finally:
            session.users -= 1

    # Clients.

    def discovery(self):
        yield from self.request("GET", "/.well-known/openid-configuration")
        yield from self.request("GET", "/connect/jwks")

    def registration(self):
        """A client registers itself, looks, and deletes itself."""
        data = {"client_name": "Passing", "redirect_uris": [scene.CALLBACK]}
        said = (yield from self.request("POST", "/connect/register", data=data)).json()
        self.registered += 1
        path, token = f"/connect/register/{said['client_id']}", said["registration_access_token"]
        yield from self.request("GET", path, bearer=token)
        yield from self.request("DELETE", path, bearer=token)


def code_of(answer):
    """The code in the redirect of a flow that is done."""
    to = (answer.json().get("result") or {}).get("redirect_to")
    found = urllib.parse.parse_qs(urllib.parse.urlsplit(to or "").query).get("code")
    return found[0] if found else None
