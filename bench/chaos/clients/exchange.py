"""Token exchange (RFC 8693): `actor` acts for a person, with less and never with more."""

from clients.code import Code
from history import mark
from parties import EXCHANGE_GRANT

ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"


class Exchange(Code):
    def draw_scope(self):
        scope = ["openid", "invoices:read"]
        return tuple(scope + self.dice.sample(["invoices:write", "invoices:approve"], self.dice.randrange(3)))

    def round(self):
        scope, verifier = self.draw_scope(), self.draw_verifier()
        code, name, rests = self.get_code(scope, verifier)
        said = self.at_least_once(lambda: self.redeem(code, name, rests, scope, verifier)).json()
        subject, family = said["access_token"], f"family:{name}"
        # Now and then it asks for more than there is.
        asked = ("invoices:read",) if self.dice.random() < 0.7 else ("invoices:read", "invoices:approve")
        form = {"grant_type": EXCHANGE_GRANT, "subject_token": subject, "subject_token_type": ACCESS_TOKEN,
                "scope": " ".join(asked)}
        about = {"family": f"{family}:{self.rounds}", "ceiling": sorted(scope)}

        def exchange(node=None):
            return self.token_request("exchange", "actor", form, about, node=node, rests=[*rests, family],
                                      may=[f"access:{mark(subject)}"], asked=asked)

        acted = self.at_least_once(exchange).json()["access_token"]
        self.introspect(acted)
        if self.dice.random() < 0.6:
            outcome, _ = self.revoke("web", said["refresh_token"], [family])
            exchange()
            for node in range(len(self.wire.addresses)):
                self.introspect(acted, node=node)
            if outcome == "ok":
                self.remember_ended(acted)
