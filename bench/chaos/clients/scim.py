"""SCIM: a directory makes Users and Groups, changes them and reads them at other nodes."""

from clients.base import GaveUp, Worker

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
KIND = "application/scim+json"


class Scim(Worker):
    def headers(self):
        return {"authorization": f"Bearer {self.world.scim_key}", "content-type": KIND}

    def ask(self, do, method, path, data=None, about=None, read=None, node=None):
        return self.call(do, self.node() if node is None else node, method, f"/scim/v2/acme{path}",
                         headers=self.headers(), data=data, about=about, read=read)

    def round(self):
        address = f"{self.name}-{self.rounds}-{self.dice.randrange(1 << 30)}@else.test"
        user = self.make(address)
        key = f"user:{user}"
        self.read(user, key)
        for turn in range(self.dice.randrange(1, 4)):
            title = f"title {turn} {self.dice.randrange(1000)}"
            change = {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "title", "value": title}]}
            self.ask("write", "PATCH", f"/Users/{user}", change, about={"key": key, "value": title})
            self.read(user, key)
        if self.dice.random() < 0.3:
            self.fill(user)
        if self.dice.random() < 0.5:
            self.ask("write", "DELETE", f"/Users/{user}", about={"key": key, "value": "gone"})
            for node in range(len(self.wire.addresses)):
                self.read(user, key, node)

    def make(self, address):
        """Makes a User, now and then at two nodes at once: one of them makes it."""
        data = {"schemas": [USER], "userName": address, "title": "new"}
        about = {"thing": f"name:{address}"}

        def read(outcome, answer):
            return {"key": f"user:{answer.json()['id']}", "value": "new"} if outcome == "ok" else {}

        answers = []

        def ask():
            answers.append(self.ask("make", "POST", "/Users", data, about=about, read=read))

        if self.dice.random() < 0.3:
            self.race(ask, ask)
        else:
            ask()
        for outcome, answer in answers:
            if outcome == "ok":
                return answer.json()["id"]
        raise GaveUp

    def read(self, user, key, node=None):
        def read(outcome, answer):
            if outcome == "ok":
                return {"value": answer.json().get("title")}
            return {"value": "gone"} if answer.status == 404 else {}

        return self.ask("read", "GET", f"/Users/{user}", about={"key": key}, read=read, node=node)

    def fill(self, user):
        """Puts the User into a Group and takes it out again."""
        name = f"group-{self.dice.randrange(1 << 30)}"
        data = {"schemas": [GROUP], "displayName": name, "members": [{"value": user}]}

        def made(outcome, answer):
            return {"key": f"group:{answer.json()['id']}", "value": [user]} if outcome == "ok" else {}

        group = self.need(self.ask("make", "POST", "/Groups", data, about={"thing": f"name:{name}"}, read=made))
        group = group.json()["id"]
        key = f"group:{group}"
        self.members(group, key)
        change = {"schemas": [PATCH], "Operations": [{"op": "remove", "path": f'members[value eq "{user}"]'}]}
        self.ask("write", "PATCH", f"/Groups/{group}", change, about={"key": key, "value": []})
        self.members(group, key)
        self.ask("write", "DELETE", f"/Groups/{group}", about={"key": key, "value": "gone"})
        self.members(group, key)

    def members(self, group, key):
        def read(outcome, answer):
            if outcome == "ok":
                return {"value": sorted(one["value"] for one in answer.json().get("members") or [])}
            return {"value": "gone"} if answer.status == 404 else {}

        return self.ask("read", "GET", f"/Groups/{group}", about={"key": key}, read=read)
