"""Roles of a member are taken and given; no token confers more than its person holds now."""

from clients.base import GaveUp
from clients.code import Code

MEMBERS = "/api/organizations/acme/members"


class Roles(Code):
    """A manager becomes a clerk, and a manager again."""

    def __init__(self, world, name):
        super().__init__(world, name)
        self.member = None
        self.token = None

    @property
    def may(self):
        return (f"roles:{self.email}",)

    def headers(self):
        return {"authorization": f"Bearer {self.world.api_key}"}

    def show(self, node=None):
        """Reads the roles of the member and the version that they are at."""
        def read(outcome, answer):
            return {"value": sorted(answer.json()["roles"])} if outcome == "ok" else {}

        return self.call("read", self.node() if node is None else node, "GET", f"{MEMBERS}/{self.member}",
                         headers=self.headers(), about={"key": f"roles:{self.email}"}, read=read)

    def give(self, roles, tag, node=None):
        """Changes the roles at one version: of two changes at the same version one is made."""
        return self.call("write", self.node() if node is None else node, "PATCH", f"{MEMBERS}/{self.member}",
                         headers={**self.headers(), "if-match": tag}, data={"roles": roles},
                         about={"key": f"roles:{self.email}", "value": sorted(roles),
                                "thing": f"version:{self.member}:{tag}"})

    def draw_scope(self):
        return ("openid", "invoices:read", "invoices:write")

    def round(self):
        if self.member is None:
            answer = self.need(self.call("find", self.node(), "GET", f"{MEMBERS}?email={self.email}",
                                         headers=self.headers()))
            self.member = answer.json()["items"][0]["id"]
            # What it was made with.
            self.wire.history.ask("write", self.name, 0, key=f"roles:{self.email}", value=["manager"]).done("ok")
        shown = self.need(self.show())
        held, tag = sorted(shown.json()["roles"]), shown.headers["etag"]
        if "manager" in held:
            self.get_token()
        # A change to what is held already would be none: both of two could be made.
        others = [roles for roles in (["clerk"], ["manager"], ["clerk", "manager"]) if roles != held]
        if self.dice.random() < 0.4:
            self.race(lambda: self.give(others[0], tag, 0), lambda: self.give(others[1], tag, 1))
        else:
            self.give(self.dice.choice(others), tag)
        if self.token:
            for node in range(len(self.wire.addresses)):
                self.introspect(self.token, node=node)
        self.show()

    def get_token(self):
        self.token = None
        try:
            scope, verifier = self.draw_scope(), self.draw_verifier()
            code, name, rests = self.get_code(scope, verifier)
            answer = self.at_least_once(lambda: self.redeem(code, name, rests, scope, verifier))
            self.token = answer.json()["access_token"]
            # Each node has seen it good before the roles change.
            for node in range(len(self.wire.addresses)):
                self.introspect(self.token, node=node)
        except GaveUp:
            pass

    def final(self):
        for node in range(len(self.wire.addresses)):
            if self.member is not None:
                self.show(node)
            if self.token is not None:
                self.introspect(self.token, node=node)
