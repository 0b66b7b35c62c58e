"""What an operator ends by a command: the sessions of an account, and the account itself for a while."""

from clients.base import GaveUp
from clients.code import Code


class Levers(Code):
    def command(self, do, about, *arguments):
        """Runs a command beside the servers; one that fails may have been carried out."""
        operation = self.wire.history.ask(do, self.name, "command", **about)
        code, _, said = self.world.installation.run(*arguments)
        more = {} if code == 0 else {"text": said.strip()[-200:]}
        return operation.done("ok" if code == 0 else "unknown", code=code, **more)

    def round(self):
        scope, verifier = self.draw_scope(), self.draw_verifier()
        code, name, rests = self.get_code(scope, verifier)
        said = self.at_least_once(lambda: self.redeem(code, name, rests, scope, verifier)).json()
        session = self.session
        outcome, _ = self.look_at_session()
        if outcome != "ok":
            raise GaveUp
        about = {"ends": [f"account:{self.email}"]}
        suspends = self.dice.random() < 0.4
        if suspends:
            outcome = self.command("end", about, "account", "suspend", self.email, "--reason", "chaos")
        else:
            outcome = self.command("end", about, "session", "end", "--account", self.email, "--reason", "chaos")
        self.session = None
        for node in range(len(self.wire.addresses)):
            self.introspect(said["access_token"], node=node)
            self.look_at_session(session, node)
        self.refresh("web", said["refresh_token"], f"family:{name}", rests, scope)
        while suspends and not self.world.is_over.is_set():
            if self.command("enable", {}, "account", "enable", self.email) == "ok":
                break
            self.world.is_over.wait(0.5)
        if outcome == "ok":
            self.remember_ended(said["access_token"])
            self.introspect(said["access_token"])
