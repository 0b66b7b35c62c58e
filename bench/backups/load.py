"""Clients that sign in, get tokens, refresh and revoke by HTTP while a store is copied: those of bench/chaos."""

import random
import threading
import time
import urllib.parse

from clients.base import GaveUp
from clients.code import SCOPE, Code
from clients.device import Device
from clients.machine import Machine
from history import History, read
from nodes import wait_for
from stores import insist
from wire import Wire

WORKERS = {"code": Code, "code-two": Code, "device": Device, "machine": Machine}
HOLDER = "holder"


class Site:
    """What clients see of one node."""

    def __init__(self, node, installation, path, seed):
        self.seed = seed
        self.pause = 0.2
        self.is_over, self.is_calm = threading.Event(), threading.Event()
        self.history = History(path)
        # The same node twice: clients present one thing at two places at once.
        host = urllib.parse.urlsplit(installation.issuer).netloc
        self.wire = Wire([("127.0.0.1", node.port)] * 2, host, self.history)


class Holder(Code):
    """A person with a session and a refresh token, before the store is copied and after."""

    def begin_to_hold(self):
        verifier = self.draw_verifier()
        code, name, rests = self.get_code(SCOPE, verifier)
        self.refresh_token = self.need(self.redeem(code, name, rests, SCOPE, verifier)).json()["refresh_token"]
        return self

    def is_good(self):
        """Whether the session is, and the token; the token that comes of it is held from then on."""
        looked, _ = self.look_at_session()
        refreshed, answer = self.refresh("web", self.refresh_token, "family:held", [], SCOPE)
        insist(looked in ("ok", "refused") and refreshed in ("ok", "refused"), f"{looked}, {refreshed}")
        insist(looked == refreshed, f"the session is {looked}, the token is {refreshed}")
        if refreshed == "ok":
            self.refresh_token = answer.json()["refresh_token"]
        return looked == "ok"

    def at(self, site):
        """The same person at another node."""
        self.world, self.wire = site, site.wire
        return self


class Load:
    """The clients, each in a thread."""

    def __init__(self, site):
        self.site = site
        self.workers = [kind(site, name) for name, kind in WORKERS.items()]
        self.failed = []
        self.threads = [threading.Thread(target=self._run, args=(one,), daemon=True) for one in self.workers]
        for thread in self.threads:
            thread.start()

    def _run(self, worker):
        try:
            worker.run()
        except Exception as error:  # A client that fails in a way of its own must show.
            self.failed.append(f"{worker.name}: {error!r}")

    def goes_on(self):
        """Waits for two more rounds of each client."""
        wanted = [one.rounds + 2 for one in self.workers]
        came = wait_for("more rounds", 60, lambda: all(
            one.rounds >= number for one, number in zip(self.workers, wanted)))
        insist(came, f"clients got nowhere: {[one.rounds for one in self.workers]} {self.failed}")

    def end(self):
        self.site.is_over.set()
        for thread in self.threads:
            thread.join(60)
        insist(not self.failed, f"clients failed: {self.failed}")


class Window:
    """A part of the history: how many answers came, and how long they took."""

    def __init__(self, history):
        self.history = history
        self.began = self.ended = history.now()

    def __enter__(self):
        self.began = self.history.now()
        return self

    def __exit__(self, *_):
        self.ended = self.history.now()

    def told(self):
        """Insists that each request was answered; says how they fared."""
        lines = [line for line in read(self.history.file.name) if line["what"] in ("asked", "answered")]
        asked = {line["n"]: line["at"] for line in lines if line["what"] == "asked"}
        within = [line for line in lines if line["what"] == "answered" and self.began <= line["at"] <= self.ended]
        lost = [line for line in within if line["outcome"] in ("unsent", "unknown")]
        insist(not lost, f"requests without an answer: {lost[:3]}")
        took = sorted(line["at"] - asked[line["of"]] for line in within)
        insist(took, "no client was answered")
        busy = sum(line["outcome"] == "busy" for line in within)
        at = lambda share: took[min(len(took) - 1, int(share * len(took)))] * 1000
        return f"{len(took)} answers, {busy} of them busy; half in {at(0.5):.0f} ms, 99 % in {at(0.99):.0f} ms"


def hold(site):
    for _ in range(3):
        try:
            return Holder(site, HOLDER).begin_to_hold()
        except GaveUp:
            time.sleep(0.2)
    insist(False, "the holder got no tokens")


def draw_seed():
    return random.SystemRandom().randrange(1 << 31)
