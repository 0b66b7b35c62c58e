"""CIBA: a client asks, the person decides where they are signed in, the client polls."""

from clients.base import GaveUp, Worker
from history import mark
from parties import CIBA_GRANT, SECRET
from wire import basic

SCOPE = ("openid", "invoices:read")


class Ciba(Worker):
    def round(self):
        session = self.in_session()
        denies = self.dice.random() < 0.2
        number = f"{self.rounds}-{self.dice.randrange(1 << 30)}"
        form = {"login_hint": self.email, "scope": " ".join(SCOPE), "organization": "acme",
                "binding_message": f"Order {number}"}
        asked = self.need(self.call("ask_ciba", self.node(), "POST", "/connect/ciba", form=form,
                                    headers={"authorization": basic("agent", SECRET)}))
        request = asked.json()["auth_req_id"]
        name = f"ciba:{mark(request)}"
        approval = self.waiting(session, form["binding_message"])
        decided = self.decide(session, approval, denies, name)
        rests = [f"account:{self.email}"]
        poll = {"grant_type": CIBA_GRANT, "auth_req_id": request}
        said = None
        for turn in range(5):
            outcome, answer = self.token_request("spend", "agent", poll, {"thing": name, "denied": denies},
                                                 rests=rests, may=[self.session_name()], asked=SCOPE)
            if outcome == "ok":
                said = answer.json()
            if outcome == "refused" and answer.error in ("authorization_pending", "slow_down") and not decided:
                self.decide(session, approval, denies, name)
                continue
            if outcome in ("ok", "refused") and not (turn == 0 and said and self.dice.random() < 0.3):
                break
        if said is None:
            return
        self.look(said["access_token"])
        if self.dice.random() < 0.5:
            outcome, _ = self.revoke("agent", said["refresh_token"], [f"family:{name}"])
            for node in range(len(self.wire.addresses)):
                self.introspect(said["access_token"], node=node)
            if outcome == "ok":
                self.remember_ended(said["access_token"])

    def waiting(self, session, message):
        """Finds the approval that was asked for; it was acknowledged, so each node must show it."""

        def read(outcome, answer):
            if outcome != "ok":
                return {}
            return {"found": any(one["binding_message"] == message for one in answer.json()["items"])}

        answer = self.need(self.call("read", self.node(), "GET", "/me/approvals",
                                     headers={"x-session-token": session},
                                     about={"expects": f"approval:{message}"}, read=read))
        for one in answer.json()["items"]:
            if one["binding_message"] == message:
                return one["id"]
        raise GaveUp

    def decide(self, session, approval, denies, name):
        word = "deny" if denies else "approve"

        def read(outcome, _):
            if outcome != "ok" or denies:
                return {}
            rests = [f"account:{self.email}"]
            return {"issued": [{"thing": name, "type": "ciba", "rests": rests, "may": [self.session_name()],
                                "seconds": 300}]}

        outcome, _ = self.call("decide", self.node(), "POST", f"/me/approvals/{approval}", data={"decision": word},
                               headers={"x-session-token": session}, read=read)
        return outcome == "ok"
