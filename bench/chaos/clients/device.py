"""Device authorization (RFC 8628): a device asks, a person confirms in a flow, the device polls."""

from clients.base import GaveUp, Worker
from history import mark
from parties import DEVICE_GRANT, PASSWORD

SCOPE = ("openid", "invoices:read")


class Device(Worker):
    def round(self):
        code, user_code = self.ask()
        name = f"device:{mark(code)}"
        rests = self.confirm(user_code, name)
        form = {"grant_type": DEVICE_GRANT, "device_code": code}

        def poll(node=None):
            return self.token_request("spend", "tv", form, {"thing": name}, node=node, rests=rests, asked=SCOPE,
                                      secret=None)

        answers = []
        if self.dice.random() < 0.3:
            self.race(lambda: answers.append(poll(0)), lambda: answers.append(poll(1)))
        for _ in range(4):
            if any(outcome in ("ok", "refused") for outcome, _ in answers):
                break
            answers.append(poll())
        said = next((answer.json() for outcome, answer in answers if outcome == "ok"), None)
        if said is None:
            raise GaveUp
        self.look(said["access_token"])
        if len(answers) == 1 and self.dice.random() < 0.3:
            # The code comes again, which ends what came of it.
            poll()
            self.introspect(said["access_token"])
            self.remember_ended(said["access_token"])
            return
        if self.dice.random() < 0.5:
            self.end_session(said["access_token"])

    def ask(self):
        form = {"client_id": "tv", "scope": " ".join(SCOPE), "organization": "acme"}
        answer = self.need(self.call("ask_device", self.node(), "POST", "/connect/device", form=form))
        return answer.json()["device_code"], answer.json()["user_code"]

    def confirm(self, user_code, name):
        """Signs in with the code and confirms; returns what the tokens rest on."""
        flow = self.begin({"kind": "device", "user_code": user_code})["id"]
        self.need(self.step(flow, "identifier", {"identifier": self.email}))
        self.need(self.step(flow, "password", {"password": PASSWORD}))

        def read(outcome, answer):
            found = self.started()(outcome, answer)
            if outcome == "ok" and found:
                rests = [found["issued"][0]["thing"], f"account:{self.email}"]
                found["issued"].append({"thing": name, "type": "device", "rests": rests, "seconds": 600})
            return found

        answer = self.need(self.step(flow, "confirm", {"decision": "allow"}, do="sign_in", read=read))
        self.keep_session(answer)
        return [self.session_name(), f"account:{self.email}"]

    def end_session(self, token):
        """Signs out, which ends what rests on the session."""
        name, session = self.session_name(), self.session
        flow = self.begin({"kind": "sign_out"}, session=session)["id"]
        self.session = None
        outcome, _ = self.step(flow, "confirm", {"decision": "allow"}, session=session, do="end",
                               about={"ends": [name]})
        for node in range(len(self.wire.addresses)):
            self.introspect(token, node=node)
        if outcome == "ok":
            self.look_at_session(session)
            self.remember_ended(token)
