"""Writes small histories by hand, for the tests of the checker."""

SCOPE = ["invoices:read", "openid"]
SESSION = "session:s"
CODE = "code:c"
FAMILY = "family:code:c"


class Sample:
    """Writes a history, one second a line unless it is told otherwise."""

    def __init__(self):
        self.lines = []
        self.at = 0.0

    def line(self, what, **said):
        self.at += 1.0
        self.lines.append({"n": len(self.lines) + 1, "at": self.at, "what": what, **said})
        return self.lines[-1]["n"]

    def ask(self, do, **about):
        return self.line("asked", do=do, worker="w", node=0, **about)

    def answer(self, number, outcome="ok", **said):
        return self.line("answered", of=number, outcome=outcome, **said)

    def do(self, do, outcome="ok", answer=None, **about):
        return self.answer(self.ask(do, **about), outcome, **(answer or {}))

    def fact(self, fact, **said):
        self.line("fact", fact=fact, **said)

    def fault(self, kind, seconds=1.0):
        number = len(self.lines)
        self.line("fault", kind=kind, target=0, phase="begins", number=number)
        self.at += seconds
        self.line("fault", kind=kind, target=0, phase="ends", number=number)

    def replace(self, phase, node=0):
        self.fact("replacement", node=node, phase=phase)

    def wait(self, seconds):
        self.at += seconds

    def sign_in(self):
        self.do("sign_in", answer={"issued": [
            {"thing": SESSION, "type": "session", "rests": [SESSION, "account:ana"]}]})

    def code(self):
        self.do("authorize", answer={"got": "a code", "issued": [
            {"thing": CODE, "type": "code", "rests": [SESSION, "account:ana"], "seconds": 60}]})

    def tokens(self, number, scope=None, may=(), client="web"):
        rests = [SESSION, "account:ana", FAMILY]
        return {"issued": [
            {"thing": f"access:{number}", "type": "access", "rests": [*rests, f"access:{number}"], "may": list(may),
             "seconds": 300, "scope": scope or SCOPE, "client": client, "org": "acme"},
            {"thing": f"refresh:{number}", "type": "refresh", "rests": rests}]}

    def redeem(self, outcome="ok", number=1, **more):
        answer = self.tokens(number, **more) if outcome == "ok" else {"error": "invalid_grant", "status": 400}
        self.do("spend", outcome, answer, thing=CODE, family=FAMILY, client="web", asked=SCOPE)

    def refresh(self, number, outcome="ok", error="invalid_grant"):
        answer = self.tokens(number + 1) if outcome == "ok" else {"error": error, "status": 400}
        self.do("spend", outcome, answer, thing=f"refresh:{number}", family=FAMILY, client="web", asked=SCOPE)

    def use(self, thing="access:1", active=True, **more):
        self.do("use", answer={"active": active, **more}, thing=thing, how="introspect")

    def end(self, *names, outcome="ok", **more):
        self.do("end", outcome, ends=list(names), **more)

    def write(self, value, outcome="ok", key="user:u", **more):
        self.do("write", outcome, key=key, value=value, **more)

    def read(self, value, key="user:u"):
        self.do("read", answer={"value": value}, key=key)

    def finish(self, log=0, records=(), ids=(), mails=()):
        self.fact("log_verified", code=log, said="")
        self.fact("records", records=[list(one) for one in records], ids=list(ids))
        self.fact("mails", to=list(mails))
        self.fact("finished")
