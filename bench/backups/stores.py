"""Stores of one installation and the commands that copy them: timed, killed, and read by other eyes than the program's."""

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import time

from nodes import Installation, wait_for

# The longest that one command may take.
LONGEST = 3_600

TABLES = ("entities", "names", "listings", "security_log", "log_lanes", "log_retention", "outbox")
# Counters that triggers keep: what they say of each list, and of each topic.
COUNTED = {
    "list_counts": "SELECT list, owner, sum(entries) FROM list_counts GROUP BY 1, 2 HAVING sum(entries) != 0",
    "outbox_counts": "SELECT topic, sum(messages) FROM outbox_counts GROUP BY 1 HAVING sum(messages) != 0",
}


class Failed(Exception):
    """Something that must hold does not."""


def insist(holds, what):
    if not holds:
        raise Failed(what)


def sqlite_url(path):
    return f"sqlite://{path}"


def size(path):
    """The bytes of a file with what SQLite keeps beside it."""
    return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))


def digest(file):
    """The rows of each table of a file: how many, and a sum of their hashes that does not know their order."""
    database = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    database.text_factory = bytes
    try:
        queries = {table: f"SELECT * FROM {table}" for table in TABLES} | COUNTED
        return {table: summed(database.execute(query)) for table, query in queries.items()}
    finally:
        database.close()


def summed(rows):
    count = total = 0
    for row in rows:
        count += 1
        total += int.from_bytes(hashlib.sha256(repr(row).encode()).digest()[:16], "big")
    return count, total % (1 << 128)


def kinds(file):
    """How many entities of each kind a file has."""
    database = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return dict(database.execute("SELECT kind, count(*) FROM entities GROUP BY kind"))
    finally:
        database.close()


class Commands:
    """The command line of an installation, with a store that is told each time."""

    def __init__(self, installation, report):
        self.installation = installation
        self.report = report

    def start(self, *arguments, store):
        return subprocess.Popen(
            [self.installation.binary, *arguments, "--config", "porteiro.toml"], cwd=self.installation.folder,
            env=Installation.variables({"PORTEIRO_STORE__URL": store}), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )

    def run(self, *arguments, store, seconds=LONGEST):
        """Runs a command to its end; returns its exit code and what it printed."""
        child = self.start(*arguments, store=store)
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"porteiro {arguments[0]} did not end in {seconds} s") from None
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        return child.returncode, out, err

    def succeed(self, *arguments, store):
        code, out, err = self.run(*arguments, store=store)
        insist(code == 0, f"porteiro {' '.join(arguments)} ended with {code}: {out[-800:]} {err[-800:]}")
        return out

    def timed(self, what, *arguments, store, of=lambda: ""):
        """Runs a command that must succeed, and notes how long it took."""
        began = time.monotonic()
        out = self.succeed(*arguments, store=store)
        self.report.note(what, time.monotonic() - began, of())
        return out

    def verify(self, what, store):
        """Has the chain of the log proved."""
        out = self.timed(f"`porteiro log verify`, {what}", "log", "verify", store=store)
        insist(" 0 findings" in out, out[-500:])
        return int(out.strip().splitlines()[-1].split()[0])

    def move(self, what, source, target, came, kills, may_be_small):
        """Moves a store, and kills that again and again on the way; returns what the program says of each table.

        `came` tells which share of the store has come to the target.
        """
        out = None
        for share in kills:
            began = time.monotonic()
            at, out = self._kill_on_the_way(source, target, came, share)
            if out is not None:
                insist(may_be_small, f"{what}: it had ended before {share:.0%} could be seen")
                self.report.note(f"{what}: too small to be killed on the way", time.monotonic() - began, "")
                break
            self.report.note(f"{what}: killed", time.monotonic() - began, f"when {at:.0%} had come")
        if out is None:
            out = self._finish(what, source, target, "the rest" if kills else "all")
        told = json.loads(out)
        insist(told["same"] is True, f"{what}: the two differ: {told}")
        return {one["table"]: one["to"] for one in told["tables"]}

    def _kill_on_the_way(self, source, target, came, share):
        """Returns which share had come, and what the move said if it had ended before."""
        child = self.start("move", "--from", source, "--to", target, "--json", store=source)
        try:
            wait_for("a part of the store", LONGEST, lambda: child.poll() is not None or came() >= share, pause=0.02)
        finally:
            if child.poll() is None:
                os.kill(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        if child.returncode != -signal.SIGKILL:
            insist(child.returncode == 0, f"a move ended by itself with {child.returncode}: {err[-800:]}")
            return 1.0, out
        code, out, err = self.run("serve", store=target, seconds=60)
        insist(code == 78, f"a server started on half a store: {code} {out[-300:]} {err[-300:]}")
        return came(), None

    def _finish(self, what, source, target, how_much):
        """Lets a move come to its end; a database may yet hold what a killed process has locked."""
        began = time.monotonic()
        while True:
            code, out, err = self.run("move", "--from", source, "--to", target, "--json", store=source)
            if code == 0:
                break
            insist("another process uses" in err and time.monotonic() - began < 30, f"{what}: {code} {out} {err}")
            time.sleep(0.5)
        self.report.note(f"{what}: {how_much}, and both compared", time.monotonic() - began, "")
        return out
