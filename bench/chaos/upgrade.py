"""An upgrade: nodes of a former version are replaced one by one while clients run, one is put back, and replaced again.

It does what `docs/operating.md` says under "Upgrades", and fails where a version does not do what the page says.
"""

import os
import random
import re
from dataclasses import dataclass

from index import Index
from machine import say
from nodes import START_SECONDS, wait_for

MIGRATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "migrations")

# So much longer than planned a stage may last until every client has gone round in it.
ROUND_SECONDS = 60.0

# What a node says that is too old for a schema, and how it ends (src/store/migrate.rs).
TOO_OLD, TOO_OLD_CODE = "the database needs a binary that knows migration", 78


@dataclass(frozen=True)
class Step:
    """`serve` for so long, `migrate`, `replace` a node by this version, or `put-back` the former."""

    kind: str
    node: int = 0
    seconds: float = 0.0

    def line(self):
        return {
            "serve": f"clients run for {self.seconds:.1f} s",
            "migrate": "`porteiro migrate` of this version runs while the former serves",
            "replace": f"node {self.node} is replaced by this version",
            "put-back": f"node {self.node} is put back to the former version",
        }[self.kind]


def draw(seed, minutes, nodes):
    """The steps in order; the seed says which node comes when, and which is put back."""
    dice = random.Random(f"upgrade {seed}")
    back = dice.randrange(nodes)
    steps = [Step("migrate")]
    steps += [Step("replace", node) for node in dice.sample(range(nodes), nodes)]
    steps += [Step("put-back", back), Step("replace", back)]
    serve = Step("serve", seconds=minutes * 60.0 / (len(steps) + 1))
    return [serve, *(one for step in steps for one in (step, serve))]


def oldest_compatible(name):
    """From which migration on a binary can work with the result of this one."""
    with open(os.path.join(MIGRATIONS, name), encoding="utf-8") as file:
        found = re.search(r"^-- oldest_compatible: (\d+)$", file.read(), re.MULTILINE)
    return int(found.group(1)) if found else int(name[:4])


class Upgrade:
    """The course of a run in which versions change and nothing is struck."""

    def __init__(self, world, given, seed):
        self.world = world
        self.steps = draw(seed, given.minutes, given.nodes)
        self.name = f"an upgrade over {given.minutes} minutes by seed {seed}"
        self.failed = []
        self.pending = []
        self.rolls = True
        self.rollback = {}
        self.ended_with = None
        self.migrated = "nothing"
        self.versions = ["former"] * given.nodes
        self.workers = []

    def run(self):
        for step in self.steps:
            if self.world.is_over.is_set():
                return
            say(step.line())
            getattr(self, step.kind.replace("-", "_"))(step)

    def stage(self, name):
        """Notes what is done from now on, and which versions serve."""
        self.world.history.fact("stage", done=name, versions=list(self.versions))

    def fail(self, text):
        say(text)
        self.failed.append(text)

    def serve(self, step):
        """Clients run; each must have gone round at least once, also where the time was too short for that."""
        self.stage("clients run")
        before = {one.name: one.rounds for one in self.workers}
        if self.world.is_over.wait(step.seconds):
            return
        wait_for("a round of every client", ROUND_SECONDS,
                 lambda: self.world.is_over.is_set() or all(one.rounds > before[one.name] for one in self.workers))
        idle = [one.name for one in self.workers if one.rounds == before[one.name]]
        if idle and not self.world.is_over.is_set():
            self.fail(f"{', '.join(idle)} got nowhere while {' and '.join(sorted(set(self.versions)))} served")

    def command(self, binary, *arguments):
        """Runs a command of one of the two versions; returns its code, what it printed and what it said."""
        return self.world.installation.run(*arguments, seconds=180, binary=binary)

    def migrate(self, _):
        """Says what will run, as an operator asks it, and runs it where former nodes can work with the result."""
        new = self.world.binary
        code, out, err = self.command(new, "migrate", "--dry-run")
        if code != 0:
            self.fail(f"porteiro migrate --dry-run ended with {code}: {err.strip()[-300:]}")
            return
        self.pending = [line.removeprefix("would run ") for line in out.splitlines() if line.startswith("would run ")]
        if self.pending:
            known = int(self.pending[0][:4]) - 1
            self.rolls = all(oldest_compatible(name) <= known for name in self.pending)
        self.stage("this version migrates")
        away = [] if self.rolls else list(range(len(self.world.nodes)))
        # The page: where a migration says that former nodes are too old for it, they are ended first.
        for index in away:
            self.leave(index)
        code, out, err = self.command(new, "migrate")
        ran = [line.removeprefix("+ ") for line in out.splitlines() if line.startswith("+ ")]
        if code != 0 or ran != self.pending:
            self.fail(f"porteiro migrate ended with {code} and ran {ran}, not {self.pending}: {err.strip()[-300:]}")
        self.migrated = ", ".join(ran) or "nothing: the schema is the same"
        self.world.installation.binary = new
        for index in away:
            self.come(index, new, "this")

    def leave(self, index):
        """Ends a node as an operator does."""
        self.world.history.fact("replacement", node=index, phase="begins", version=self.versions[index])
        code = self.world.nodes[index].drain()
        if code != 0:
            self.fail(f"node {index} of {self.versions[index]} did not drain: it ended with {code}")
            self.world.nodes[index].kill()
        self.versions[index] = "none"

    def come(self, index, binary, version):
        """Starts a version on a node; returns whether it serves."""
        node = self.world.nodes[index]
        node.binary = binary
        node.start()
        codes = []

        def is_decided():
            # Whoever keeps nodes running starts it again, and its code is forgotten then.
            if node.last_code is not None:
                codes.append(node.last_code)
            return bool(codes) or node.is_ready()

        wait_for(f"node {index} of {version} version", START_SECONDS, is_decided)
        self.ended_with = codes[0] if codes else None
        if codes or not node.is_ready():
            return False
        self.versions[index] = version
        self.world.history.fact("replacement", node=index, phase="ends", version=version)
        return True

    def replace(self, step):
        if self.versions[step.node] == "this":
            return
        self.stage(f"node {step.node} is replaced")
        if self.versions[step.node] != "none":
            self.leave(step.node)
        if not self.come(step.node, self.world.binary, "this"):
            self.fail(f"node {step.node} of this version is not ready")
        # An operator's commands are those of the version that is meant to serve.
        self.world.installation.binary = self.world.binary

    def put_back(self, step):
        """A rollback: the former version serves where its schema lets it, else it refuses by a sentence."""
        former, node = self.world.former, self.world.nodes[step.node]
        self.stage(f"node {step.node} is put back")
        self.leave(step.node)
        offset = os.path.getsize(node.log_path)
        serves = self.come(step.node, former, "former")
        code, _, said = self.command(former, "migrate")
        self.rollback = {"serves": serves, "may": self.rolls, "migrate": code}
        if serves != self.rolls or code != (0 if self.rolls else TOO_OLD_CODE):
            word = "may" if self.rolls else "must not"
            self.fail(f"the former version {word} serve, and serves: {serves}; its migrate ended with {code}: "
                      f"{said.strip()[-300:]}")
        if not serves:
            node.kill()
            text = node.said_since(offset)
            self.rollback |= {"code": self.ended_with, "said": sentence(text)}
            if self.ended_with != TOO_OLD_CODE or TOO_OLD not in text:
                self.fail("the former version did not refuse by a sentence: "
                          f"it ended with {self.ended_with}: {text[-300:]}")
            return
        self.world.installation.binary = former
        code, out, err = self.command(former, "log", "verify")
        self.world.history.fact("log_verified", code=code, said=(err or out).strip()[-300:])

    def result(self, lines):
        return {"stages": stages(lines), "migrated": self.migrated, "rollback": self.rollback}


def sentence(text):
    """The line by which a node refused."""
    return next((line.strip()[:300] for line in text.splitlines() if TOO_OLD in line), "")


def stages(lines):
    """What clients were answered in each stage."""
    index = Index(lines)
    begun = index.facts.get("stage", [])
    end = max((line["at"] for line in lines if line["what"] == "answered"), default=0.0)
    found = []
    for place, stage in enumerate(begun):
        until = begun[place + 1]["at"] if place + 1 < len(begun) else end
        row = {"name": stage["done"], "versions": stage["versions"], "seconds": round(until - stage["at"], 1),
               "ok": 0, "refused": 0, "busy": 0, "unknown": 0, "unsent": 0}
        for operation in index.operations:
            if stage["at"] <= operation.began < until:
                row[operation.outcome] += 1
        found.append(row)
    return found
