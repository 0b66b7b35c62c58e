"""Tokens that are held for long: what one version of the server has issued is spent at another."""

from clients.base import GaveUp
from clients.code import Code

# So many families are held; each is spent again after so many rounds or more.
HELD = 30


class Held(Code):
    """A client that has many people's tokens, here all of one session, and refreshes now this one and now that."""

    def __init__(self, world, name):
        super().__init__(world, name)
        self.held = []

    def round(self):
        if len(self.held) < HELD and (not self.held or self.dice.random() < 0.5):
            scope, verifier = self.draw_scope(), self.draw_verifier()
            code, name, rests = self.get_code(scope, verifier)
            said = self.at_least_once(lambda: self.redeem(code, name, rests, scope, verifier)).json()
            self.held.append((said["refresh_token"], f"family:{name}", rests, scope))
            return
        access = self.spend_again(self.dice.randrange(len(self.held)))
        self.look(access)
        self.look_at_session()

    def spend_again(self, place):
        """Refreshes one of them; what came of no answer is held no more."""
        token, family, rests, scope = self.held.pop(place)
        said = self.at_least_once(lambda: self.refresh("web", token, family, rests, scope)).json()
        self.held.append((said["refresh_token"], family, rests, scope))
        return said["access_token"]

    def final(self):
        """Each of them is good to the end, whoever has issued it."""
        for _ in range(len(self.held)):
            try:
                self.look(self.spend_again(0))
            except GaveUp:
                continue
