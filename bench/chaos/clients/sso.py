"""Single sign-on: people come by another Porteiro, whose identity is linked to their account."""

import json
import urllib.parse

from clients.base import GaveUp, Worker
from clients.code import Code
from history import mark
from parties import PASSWORD


class Sso(Code):
    def __init__(self, world, name):
        super().__init__(world, name)
        self.is_linked = False
        self.upstream_session = None

    def at_upstream(self, method, path, data=None, session=None):
        """A request to the other provider, which no fault strikes."""
        headers = {"accept": "application/json", "content-type": "application/json"}
        if session:
            headers["x-session-token"] = session
        body = json.dumps(data).encode() if data is not None else None
        answer = self.world.upstream.send(0, method, path, headers, body)
        if isinstance(answer, str) or answer.status >= 400:
            raise GaveUp
        return answer.json()

    def there(self):
        """The session at the other provider."""
        if self.upstream_session is None:
            flow = self.at_upstream("POST", "/flows", {"kind": "sign_in"})["id"]
            self.at_upstream("POST", f"/flows/{flow}/identifier", {"identifier": "sso@other.test"})
            done = self.at_upstream("POST", f"/flows/{flow}/password", {"password": PASSWORD})
            self.upstream_session = done["result"]["session_token"]
        return self.upstream_session

    def callback(self, flow, session=None):
        """Leaves for the other provider and returns the address that it sends the browser back to."""
        left = self.need(self.step(flow, "sso/options", {"connection": self.world.connection}, session=session))
        to = urllib.parse.urlsplit(left.json()["redirect_to"])
        done = self.at_upstream("GET", f"{to.path}?{to.query}", session=self.there())
        back = (done.get("result") or {}).get("redirect_to")
        if back is None:
            self.upstream_session = None
            raise GaveUp
        return back

    def link(self):
        self.sign_in()
        session = self.session
        flow = self.begin({"kind": "link", "connection": self.world.connection}, session=session)["id"]
        back = self.callback(flow, session)
        self.need(self.step(flow, "sso", {"callback": back}, session=session))
        outcome, answer = self.step(flow, "confirm", {"decision": "allow"}, session=session, do="link")
        if outcome == "ok" and answer.json().get("state") == "done":
            self.is_linked = True
        # Of an unknown outcome the next sign-in tells.

    def sign_in(self):
        if not self.is_linked:
            Worker.sign_in(self)
            return
        flow = self.begin({"kind": "sign_in"})["id"]
        back = self.callback(flow)
        started = self.started()

        def read(outcome, answer):
            found = started(outcome, answer)
            if not found:
                found = {"got": "no session"}
            if outcome == "refused" and answer.error == "account_not_vouched":
                found["found"] = False
            return found

        self.sign_in_once(lambda: self.step(flow, "sso", {"callback": back}, do="sign_in", read=read,
                                            about={"thing": f"callback:{mark(back)}", "expects": "identity"}))

    def round(self):
        if not self.is_linked:
            self.link()
            if not self.is_linked:
                raise GaveUp
        self.session = None
        self.sign_in()
        scope, verifier = self.draw_scope(), self.draw_verifier()
        code, name, rests = self.get_code(scope, verifier)
        said = self.at_least_once(lambda: self.redeem(code, name, rests, scope, verifier)).json()
        self.look(said["access_token"])
        if self.dice.random() < 0.5:
            outcome = self.sign_out(said)
            for node in range(len(self.wire.addresses)):
                self.introspect(said["access_token"], node=node)
            if outcome == "ok":
                self.remember_ended(said["access_token"])
