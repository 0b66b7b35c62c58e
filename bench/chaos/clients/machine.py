"""Client credentials: a token in the client's own name."""

from clients.base import Worker
from history import mark


class Machine(Worker):
    def round(self):
        form = {"grant_type": "client_credentials", "scope": "invoices:read"}
        outcome, answer = self.token_request("grant", "billing", form, {}, asked=["invoices:read"])
        if outcome != "ok":
            return
        token = answer.json()["access_token"]
        self.introspect(token)
        if self.dice.random() < 0.3:
            outcome, _ = self.revoke("billing", token, [f"access:{mark(token)}"])
            for node in range(len(self.wire.addresses)):
                self.introspect(token, node=node)
            if outcome == "ok":
                self.remember_ended(token)
