"""API keys: made, used and revoked; each of both is told to the endpoint of the organization."""

from clients.base import GaveUp, Worker

KEYS = "/api/organizations/acme/apikeys"


class Keys(Worker):
    def headers(self):
        return {"authorization": f"Bearer {self.world.api_key}"}

    def round(self):
        key, text = self.make()
        self.use(key, text)
        self.use(key, text)
        if self.dice.random() < 0.7:
            outcome, _ = self.call("end", self.node(), "DELETE", f"{KEYS}/{key}",
                                   headers={**self.headers(), "if-match": "*"},
                                   about={"ends": [f"key:{key}"], "records": [["apikey.revoked", key]]})
            for node in range(len(self.wire.addresses)):
                self.use(key, text, node)
            if outcome == "ok":
                self.ended.append((text, key))

    def final(self):
        for text, key in self.ended[-4:]:
            for node in range(len(self.wire.addresses)):
                self.use(key, text, node)

    def make(self):
        def read(outcome, answer):
            if outcome != "ok":
                return {}
            key = answer.json()["id"]
            return {"issued": [{"thing": f"key:{key}", "type": "key", "rests": [f"key:{key}"]}],
                    "records": [["apikey.created", key]]}

        data = {"name": f"key {self.rounds}", "permissions": ["audit:read"]}
        outcome, answer = self.call("make_key", self.node(), "POST", KEYS, headers=self.headers(), data=data, read=read)
        if outcome != "ok":
            raise GaveUp
        said = answer.json()
        return said["id"], said["key"]

    def use(self, key, text, node=None):
        def read(outcome, answer):
            if outcome == "ok":
                return {"active": True}
            return {"active": False} if answer.status == 401 else {}

        return self.call("use", self.node() if node is None else node, "GET",
                         "/api/organizations/acme/audit?limit=1", headers={"authorization": f"Bearer {text}"},
                         about={"thing": f"key:{key}", "how": "api"}, read=read)
