"""The history: an append-only file of JSON lines that says what was asked, when, and what came of it.

A line has `n` (its number), `at` (seconds since the beginning, of a clock that never jumps) and `what`:

asked     an operation begins: `do`, `worker`, `node` and what the operation is about
answered  an operation has ended: `of` (the number of its line), `outcome` and what the answer says
fault     a fault begins or ends: `kind`, `target`, `phase`
fact      what was looked at in the end: the log, deliveries, the ends of processes

An outcome is `ok`, `refused` (the server says no), `busy` (503 or 429), `unsent` (the request never left),
or `unknown`: an answer that never came, or another 5xx. What is unknown may have happened.
"""

import hashlib
import json
import threading
import time

OUTCOMES = ("ok", "refused", "busy", "unsent", "unknown")


def mark(secret):
    """A name for a secret in the history, from which it does not follow."""
    return hashlib.sha256(secret.encode()).hexdigest()[:16]


class Operation:
    """An operation under way."""

    def __init__(self, history, number):
        self.history = history
        self.number = number

    def done(self, outcome, **said):
        assert outcome in OUTCOMES, outcome
        self.history.write("answered", of=self.number, outcome=outcome, **said)
        return outcome


class History:
    def __init__(self, path, clock=time.monotonic):
        self.file = open(path, "w", encoding="utf-8")
        self.clock = clock
        self.began = clock()
        self.count = 0
        self.lock = threading.Lock()

    def now(self):
        return self.clock() - self.began

    def write(self, what, **said):
        with self.lock:
            self.count += 1
            line = {"n": self.count, "at": round(self.now(), 4), "what": what, **said}
            if not self.file.closed:
                self.file.write(json.dumps(line) + "\n")
                self.file.flush()
            return self.count

    def ask(self, do, worker, node, **about):
        number = self.write("asked", do=do, worker=worker, node=node, **about)
        return Operation(self, number)

    def fault(self, kind, target, phase, **more):
        return self.write("fault", kind=kind, target=target, phase=phase, **more)

    def fact(self, name, **said):
        return self.write("fact", fact=name, **said)

    def close(self):
        with self.lock:
            self.file.close()


def read(path):
    """Returns the lines of a history file; a last line that was cut off is left out."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for text in file:
            try:
                lines.append(json.loads(text))
            except ValueError:
                break
    return lines
