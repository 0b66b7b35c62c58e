"""Everything of one run: the database, the nodes, the links between them, the clients, and what they share."""

import json
import os
import random
import shutil
import tempfile
import threading
import urllib.parse

from clients.ciba import Ciba
from clients.code import Code
from clients.device import Device
from clients.exchange import Exchange
from clients.flows import Flows, addressees
from clients.held import Held
from clients.keys import Keys
from clients.levers import Levers
from clients.machine import Machine
from clients.roles import Roles
from clients.scim import Scim
from clients.sso import Sso
from history import History, read
from index import Index
from machine import Clocks, Disk, Routes, free_port, say
from nodes import Installation, Keeper, Node, wait_for
from parties import SECRET
from postgres import Postgres
from proxy import Proxy
from receiver import Receiver
from rules import never_delivered
from scene import connection, provisioning, upstream_client
from wire import Wire

WORKERS = {
    "code": Code, "code-two": Code, "device": Device, "ciba": Ciba, "exchange": Exchange, "machine": Machine,
    "scim": Scim, "flows": Flows, "levers": Levers, "roles": Roles, "keys": Keys, "sso": Sso,
}

PERMISSIONS = ("accounts:*", "apikeys:*", "audit:*", "memberships:*", "roles:*", "invoices:*")


class World:
    """`former` is the binary of the version that all nodes begin with, where an upgrade is played."""

    def __init__(self, binary, programs, seed, namespaces, nodes, pause, former=None):
        self.binary, self.programs, self.seed = os.path.abspath(binary), programs, seed
        self.former = os.path.abspath(former) if former else None
        self.workers = WORKERS | ({"held": Held} if former else {})
        self.namespaces, self.count, self.pause = namespaces, nodes, pause
        self.is_over, self.is_calm = threading.Event(), threading.Event()
        # Where the server's user may go, be TMPDIR what it is.
        self.folder = tempfile.mkdtemp(prefix="porteiro-chaos.", dir="/tmp" if os.geteuid() == 0 else None)
        os.chmod(self.folder, 0o755)
        self.history = History(os.path.join(self.folder, "history.jsonl"))
        self.closing = []

    def open(self):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clock.c")
        self.disk = Disk(self.folder, "mount" in self.namespaces)
        self.closing.append(self.disk.close)
        self.clocks = Clocks(self.folder, source)
        self.routes = Routes("net" in self.namespaces)
        self.proxy = Proxy()
        self.closing.append(self.proxy.close)
        self.postgres = Postgres(self.programs, self.disk.path)
        self.closing.append(self.postgres.close)
        self.postgres.make()
        self.receiver = Receiver(self.history, random.Random(f"receiver {self.seed}"), self.is_calm)
        self.closing.append(self.receiver.close)
        self._install()
        self._open_upstream()
        self._provision()
        self._start_nodes()

    def _folder(self, name):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        return path

    def _install(self):
        issuer = f"http://localhost:{free_port()}"
        # Commands reach the database themselves: they are no fault's target.
        store = f"postgres://porteiro@127.0.0.1:{self.postgres.port}/porteiro"
        first = self.former or self.binary
        self.installation = Installation(first, self._folder("installation"), issuer, store, self.clocks)
        self.mails = self.installation.mails
        self.installation.succeed("keys", "generate", "--keys", "keys")

    def _open_upstream(self):
        """The other provider: one node on SQLite, which no fault strikes."""
        folder = self._folder("upstream")
        port = free_port()
        issuer = f"http://localhost:{port}"
        self.other = Installation(self.binary, folder, issuer, f"sqlite://{folder}/porteiro.db")
        self.other.succeed("keys", "generate", "--keys", "keys")
        node = Node(self.other, 0, self.other.store)
        node.port = port
        node.start()
        self.closing.append(node.kill)
        if not wait_for("the other provider", 60, node.is_ready):
            raise SystemExit("chaos: the other provider did not start")
        with open(os.path.join(self.installation.folder, "other.secret"), "w", encoding="utf-8") as file:
            file.write(SECRET)
        os.chmod(os.path.join(self.installation.folder, "other.secret"), 0o600)
        self.upstream = Wire([("127.0.0.1", port)], f"localhost:{port}", self.history)

    def _provision(self):
        emails = [f"{name}@acme.test" for name in self.workers]
        logout = f"http://127.0.0.1:{self.receiver.port}/logout"
        self.installation.apply(provisioning(emails, logout, connection(self.other.issuer)))
        key = ("apikey", "create", "--organization", "acme", "--name")
        self.scim_key = self.installation.json(*key, "scim", "--permission", "scim:*")["key"]
        more = [word for permission in PERMISSIONS for word in ("--permission", permission)]
        self.api_key = self.installation.json(*key, "chaos", *more)["key"]

    def _start_nodes(self):
        self.database_links, self.client_links, self.nodes = [], [], []
        for index in range(self.count):
            host = self.routes.address(index)
            link = self.proxy.open(f"database {index}", ("127.0.0.1", self.postgres.port), host)
            store = f"postgres://porteiro@{host}:{link.listen[1]}/porteiro"
            node = Node(self.installation, index, store)
            self.database_links.append(link)
            self.client_links.append(self.proxy.open(f"clients {index}", ("127.0.0.1", node.port)))
            self.nodes.append(node)
            self.closing.append(node.kill)
        for node in self.nodes:
            node.start()
            if not wait_for(f"node {node.index}", 60, node.is_ready):
                raise SystemExit(f"chaos: node {node.index} did not start: {tail(node.log_path)}")
        # A link takes a connection before the node does: that nobody listens must reach the client in an upgrade.
        doors = [link.listen for link in self.client_links]
        if self.former:
            doors = [("127.0.0.1", node.port) for node in self.nodes]
        self.wire = Wire(doors, urllib.parse.urlsplit(self.installation.issuer).netloc, self.history)
        self.keeper = Keeper(self.nodes, self.history)
        self.keeper.start()
        self.closing.append(self.keeper.stop)
        self._connect()

    def ask(self, method, path, data=None, headers=None):
        """A request before the first fault, which must be answered."""
        given = {"content-type": "application/json", "accept": "application/json", **(headers or {})}
        body = None if data is None else json.dumps(data).encode()
        answer = self.wire.send(0, method, path, given, body)
        if isinstance(answer, str) or answer.status >= 400:
            said = answer if isinstance(answer, str) else f"{answer.status} {answer.body[:300]}"
            raise SystemExit(f"chaos: {method} {path}: {said}")
        return answer.json()

    def _connect(self):
        """The endpoint of acme, and the other provider as its client knows it."""
        by = {"authorization": f"Bearer {self.api_key}"}
        hook = {"url": f"http://127.0.0.1:{self.receiver.port}/hook", "events": ["apikey.*"]}
        self.receiver.secret = self.ask("POST", "/api/organizations/acme/webhooks", hook, by)["secret"]
        self.history.fact("endpoint")
        flow = self.ask("POST", "/flows", {"kind": "sign_in"})
        self.connection = flow["connections"][0]["id"]
        callback = f"{self.installation.issuer}/connect/sso/{self.connection}/callback"
        self.other.apply(upstream_client(callback))

    def look_at_the_end(self, seconds):
        """Waits until what was promised has arrived, and notes what there is in the end."""
        wait_for("the arrival of what was promised", seconds, self._is_delivered, pause=3.0)
        code, out, err = self.installation.run("log", "verify", seconds=180)
        self.history.fact("log_verified", code=code, said=(err or out).strip()[-300:])
        records = [json.loads(line) for line in self.installation.succeed("log", "list", "--json").splitlines()]
        keys = [[one["event"], one["id"]] for one in records if one["event"].startswith("apikey.")]
        ids = [f"{one['lane']}.{one['seq']}" for one in records]
        self.history.fact("records", records=keys, ids=ids)
        self.history.fact("mails", to=addressees(self.mails))
        for node in self.nodes:
            for text in node.panics():
                self.history.fact("panic", node=node.index, text=text)

    def _is_delivered(self):
        """Whether all that was promised has arrived, as the checker will see it."""
        end = [{"n": 0, "at": self.history.now(), "what": "fact", "fact": "finished"},
               {"n": 0, "at": self.history.now(), "what": "fact", "fact": "mails", "to": addressees(self.mails)}]
        index = Index(read(self.history.file.name) + end)
        return not any(True for _ in never_delivered(index))

    def close(self, keep):
        for close in reversed(self.closing):
            try:
                close()
            except (OSError, RuntimeError) as error:
                say(f"an end failed: {error}")
        self.history.close()
        if keep:
            say(f"kept in {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def tail(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()[-1500:]
