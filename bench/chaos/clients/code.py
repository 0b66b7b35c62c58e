"""Authorization codes by PAR and PKCE, refreshes with rotation, revocation, introspection and userinfo."""

import urllib.parse

from clients.base import CODE_SECONDS, GaveUp, Worker, authorization, code_of
from history import mark
from parties import CALLBACK, SECRET
from wire import basic, claims

SCOPE = ("openid", "invoices:read", "invoices:write")


def pushed_request(outcome, answer):
    if outcome != "ok":
        return {}
    name = f"pushed:{mark(answer.json()['request_uri'])}"
    return {"issued": [{"thing": name, "type": "pushed", "rests": [], "seconds": CODE_SECONDS}]}


class Code(Worker):
    """A person signs in to `web`, which refreshes, looks, and gives back."""

    may = ()

    def draw_verifier(self):
        return "".join(self.dice.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=64))

    def draw_scope(self):
        return SCOPE

    def get_code(self, scope, verifier):
        """Gets a code in the session; returns it with its name and what it rests on."""
        session = self.in_session()
        rests = [self.session_name(), f"account:{self.email}"]
        asked = authorization(" ".join(scope), verifier)
        query, about = asked, {}
        if self.dice.random() < 0.5:
            pushed = self.need(self.call("push", self.node(), "POST", "/connect/par",
                                         headers={"authorization": basic("web", SECRET)}, form=asked,
                                         read=pushed_request))
            uri = pushed.json()["request_uri"]
            query = {"client_id": "web", "request_uri": uri}
            about = {"thing": f"pushed:{mark(uri)}"}

        def read(outcome, answer):
            code = code_of(answer) if outcome == "ok" else None
            if code is None:
                return {"got": "no code"}
            name = f"code:{mark(code)}"
            return {"got": "a code", "issued": [
                {"thing": name, "type": "code", "rests": rests, "may": list(self.may), "seconds": CODE_SECONDS}]}

        def present():
            return self.call("authorize", self.node(), "GET", "/connect/authorize?" + urllib.parse.urlencode(query),
                             headers={"accept": "application/json", "x-session-token": session},
                             about=about, read=read)

        answers = []
        if about and self.dice.random() < 0.2:
            self.race(lambda: answers.append(present()), lambda: answers.append(present()))
        else:
            answers.append(present())
        for outcome, answer in answers:
            code = code_of(answer) if outcome == "ok" else None
            if code is not None:
                return code, f"code:{mark(code)}", rests
        if any(outcome in ("ok", "refused") for outcome, _ in answers):
            # The session may have ended: the next round begins with another.
            self.session = None
        raise GaveUp

    def redeem(self, code, name, rests, scope, verifier, node=None):
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": verifier}
        return self.token_request("spend", "web", form, {"thing": name}, node=node, rests=rests, may=self.may,
                                  asked=scope)

    def refresh(self, client, token, family, rests, scope, node=None, secret=SECRET, fewer=None):
        form = {"grant_type": "refresh_token", "refresh_token": token}
        if fewer:
            form["scope"] = " ".join(fewer)
        about = {"thing": f"refresh:{mark(token)}", "family": family}
        return self.token_request("spend", client, form, about, node=node, rests=rests, may=self.may,
                                  asked=fewer or scope, secret=secret)

    def at_least_once(self, ask, tries=4):
        """Asks until there is an answer that tells; of two at once, the one that was good."""
        for _ in range(tries):
            outcome, answer = ask()
            if outcome == "ok":
                return answer
            if outcome == "refused":
                raise GaveUp
        raise GaveUp

    def spend(self, ask):
        """Spends a code or a token: once, at two nodes at once, or again when it was unknown."""
        if self.dice.random() < 0.25:
            answers = []
            self.race(lambda: answers.append(ask(0)), lambda: answers.append(ask(1)))
            good = [answer for outcome, answer in answers if outcome == "ok"]
            return good[0] if good else None, True
        return self.at_least_once(lambda: ask(None)), False

    def round(self):
        scope, verifier = self.draw_scope(), self.draw_verifier()
        code, name, rests = self.get_code(scope, verifier)
        redeem = lambda node: self.redeem(code, name, rests, scope, verifier, node)
        answer, raced = self.spend(redeem)
        if answer is None:
            return
        said = answer.json()
        family = f"family:{name}"
        self.look(said["access_token"])
        if raced:
            # Both were answered: the second of them has ended the family.
            self.look(said["access_token"])
            return
        for _ in range(self.dice.randrange(4)):
            former = said
            refresh = lambda node, token=former["refresh_token"]: self.refresh("web", token, family, rests, scope, node)
            answer, raced = self.spend(refresh)
            if answer is None:
                return
            said = answer.json()
            self.look(said["access_token"])
            if raced:
                self.look(said["access_token"])
                return
            if self.dice.random() < 0.15:
                refresh(None)
                self.look(said["access_token"])
                self.remember_ended(said["access_token"])
                return
        self.end(said, family, redeem, rests)

    def sign_out(self, said):
        """Ends the session and what rests on it; `web` is told of that."""
        name, session = self.session_name(), self.session
        flow = self.begin({"kind": "sign_out"}, session=session)["id"]
        self.session = None
        promises = [["logout", claims(said["id_token"])["sid"]]]
        outcome, _ = self.step(flow, "confirm", {"decision": "allow"}, session=session, do="end",
                               about={"ends": [name], "promises": promises})
        if outcome == "ok":
            self.look_at_session(session)
        return outcome

    def end(self, said, family, redeem, rests):
        """Ends what was issued in one of the ways, and looks whether it is over everywhere."""
        access, refresh = said["access_token"], said.get("refresh_token")
        way = self.dice.randrange(5)
        if way == 0 and refresh:
            outcome, _ = self.revoke("web", refresh, [family])
        elif way == 1:
            name = f"access:{mark(access)}"
            outcome, _ = self.revoke("web", access, [name])
        elif way == 2:
            # The code comes again.
            redeem(None)
            outcome = "ok"
        elif way == 3:
            outcome = self.sign_out(said)
        else:
            return
        for node in range(len(self.wire.addresses)):
            self.introspect(access, node=node)
        if way != 1 and refresh:
            self.refresh("web", refresh, family, rests, SCOPE)
        if outcome == "ok":
            self.remember_ended(access)
