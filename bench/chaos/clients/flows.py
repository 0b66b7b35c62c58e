"""Flows of people: sign-in by a mailed code, a changed profile, sign-out, the end of all sessions."""

import email
import email.policy
import os
import time

from clients.base import GaveUp, Worker


class Flows(Worker):
    def round(self):
        if self.dice.random() < 0.5:
            self.by_mail()
        else:
            self.sign_in()
        self.look_at_session()
        self.rename()
        former = None
        if self.dice.random() < 0.3:
            former = self.session
            self.sign_in()
        if self.dice.random() < 0.5:
            self.sign_out()
        else:
            self.end_all(former)

    def by_mail(self):
        """Signs in by a code that is mailed; an acknowledged one must arrive."""
        flow = self.begin({"kind": "sign_in"})["id"]
        self.need(self.step(flow, "identifier", {"identifier": self.email}))
        known = set(os.listdir(self.world.mails))
        self.need(self.step(flow, "email_code/send", {}, do="send", about={"promises": [["mail", self.email]]}))
        code = self.mailed(known)
        data = {"code": code}
        self.sign_in_once(lambda: self.step(flow, "email_code", data, do="sign_in", read=self.started(),
                                            about={"thing": f"mailed:{flow}"}))

    def mailed(self, known):
        until = time.monotonic() + 10
        while time.monotonic() < until:
            for name in sorted(set(os.listdir(self.world.mails)) - known):
                if not name.endswith(".eml"):
                    continue
                mail = read_mail(os.path.join(self.world.mails, name))
                if mail is not None and self.email in mail["to"] and (code := code_of_mail(mail)):
                    return code
            time.sleep(0.1)
        raise GaveUp

    def rename(self):
        key = f"me:{self.email}"
        for _ in range(self.dice.randrange(1, 3)):
            name = f"Ana {self.dice.randrange(10000)}"
            self.call("write", self.node(), "PATCH", "/me", data={"given_name": name},
                      headers={"x-session-token": self.session}, about={"key": key, "value": name})
            self.profile()

    def profile(self, node=None):
        def read(outcome, answer):
            return {"value": answer.json().get("given_name")} if outcome == "ok" else {}

        return self.call("read", self.node() if node is None else node, "GET", "/me",
                         headers={"x-session-token": self.session}, about={"key": f"me:{self.email}"}, read=read)

    def sign_out(self):
        name, session = self.session_name(), self.session
        flow = self.begin({"kind": "sign_out"}, session=session)["id"]
        outcome, _ = self.step(flow, "confirm", {"decision": "allow"}, session=session, do="end",
                               about={"ends": [name]})
        self.over(session, outcome)

    def end_all(self, former):
        session = self.session
        outcome, _ = self.call("end", self.node(), "DELETE", "/me/sessions", headers={"x-session-token": session},
                               about={"ends": [f"account:{self.email}"]})
        if former is not None:
            self.look_at_session(former)
        self.over(session, outcome)

    def over(self, session, outcome):
        for node in range(len(self.wire.addresses)):
            self.look_at_session(session, node)
        if outcome == "ok":
            self.ended.append(session)

    def final(self):
        for session in self.ended[-4:]:
            for node in range(len(self.wire.addresses)):
                self.look_at_session(session, node)
        try:
            self.sign_in()
        except GaveUp:
            return
        for node in range(len(self.wire.addresses)):
            self.profile(node)


def read_mail(path):
    """Returns a mail, or nothing where it is being written."""
    try:
        with open(path, "rb") as file:
            mail = email.message_from_binary_file(file, policy=email.policy.default)
        return mail if mail["to"] and mail.get_body(("plain",)) is not None else None
    except (OSError, LookupError, ValueError):
        return None


def code_of_mail(mail):
    """The line of a mail that is a code and nothing else."""
    for line in mail.get_body(("plain",)).get_content().splitlines():
        if len(line.strip()) == 6 and line.strip().isdigit():
            return line.strip()
    return None


def addressees(folder):
    """To whom the mails with a code are; those that only tell of something are left out."""
    found = []
    for name in sorted(os.listdir(folder)):
        mail = read_mail(os.path.join(folder, name)) if name.endswith(".eml") else None
        if mail is not None and code_of_mail(mail):
            found.append(str(mail["to"]))
    return found
