"""Sees that the judge lets a level run pass, and finds each growth that is planted in one."""

import copy
import random

import judge
import plot
import report
from judge import MIB

MINUTES = 60


def level(seed=1):
    """A run as it should be: noise, and what grows by design."""
    dice = random.Random(seed)
    near = lambda value: int(value * dice.uniform(0.97, 1.03))
    samples = []
    for number in range(1, MINUTES * 6 + 1):
        samples.append({
            "at": number * 10.0, "seconds": 10.0, "resident": near(80 * MIB), "anonymous": near(60 * MIB),
            "threads": 12, "handles": near(150), "connections": near(120), "actors": {"session": near(900)},
            "rows": {"entities: session": near(5000), "entities: client": 13 + 5 * number,
                     "listings": 5000 + 5 * number, "names": near(700), "outbox": near(3),
                     "security_log": 9000 * number},
            "overdue": near(100), "database": number * MIB, "wal": 8 * MIB, "server": 0.7, "generator": 0.2,
            "mails": 0, "faults": {"restarts": 0},
            "load": {
                "registered": 5 * number, "backlog": 0, "said": {},
                "journeys": {"code": {"outcomes": {"done": 3000}, "buckets": {"120": 2900, "200": 100}}}},
        })
    about = {"engine": "SQLite", "date": "", "cores": 2, "processor": "", "load": 0.0, "version": "", "build": "",
             "commit": "", "seed": seed, "server_core": 0, "people": 1, "organizations": 1}
    bears = {"rate": 429.0, "server": 1.0, "generator": 0.5}
    return {"about": about, "bears": bears, "rate": 300.0, "minutes": MINUTES, "samples": samples, "exit": 0,
            "panics": 0}


def grow(path, by):
    """Adds so much by the end, little by little."""

    def plant(result):
        for sample in result["samples"]:
            held = sample
            for name in path[:-1]:
                held = held[name]
            held[path[-1]] += int(by * sample["at"] / (MINUTES * 60))

    return plant


def at_the_end(path, value):
    def plant(result):
        held = result
        for name in path[:-1]:
            held = held[name]
        held[path[-1]] = value

    return plant


def slow(result):
    for sample in result["samples"]:
        sample["load"]["journeys"]["code"]["outcomes"]["done"] = 2900


PLANTED = {
    "resident memory": grow(["resident"], 20 * MIB),
    "anonymous memory": grow(["anonymous"], 16 * MIB),
    "handles": grow(["handles"], 60),
    "threads": grow(["threads"], 12),
    "actors: session": grow(["actors", "session"], 400),
    "actors": grow(["actors", "session"], 400),
    "rows: entities: session": grow(["rows", "entities: session"], 2000),
    "rows: entities: client": grow(["rows", "entities: client"], 100),
    "rows: names": grow(["rows", "names"], 300),
    "rows: outbox": grow(["rows", "outbox"], 100),
    "rows whose time has come and that are still there": grow(["overdue"], 4000),
    "WAL": grow(["wal"], 20 * MIB),
    "journeys done a second, beside those offered": slow,
    "journeys that failed": at_the_end(["samples", 7, "load", "journeys", "code", "outcomes", "failed"], 1),
    "journeys refused or turned away":
        at_the_end(["samples", 7, "load", "journeys", "code", "outcomes", "busy"], 3000),
    "restarts": at_the_end(["samples", -1, "faults", "restarts"], 1),
    "panics": at_the_end(["panics"], 1),
    "exit code after SIGTERM": at_the_end(["exit"], -9),
}


def failed(result):
    return {verdict.name for verdict in judge.verdicts(result) if not verdict.holds}


def main():
    missed = []
    for seed in range(20):
        if found := failed(level(seed)):
            missed.append(f"a level run is said to fail: {', '.join(sorted(found))}")
    for name, plant in PLANTED.items():
        result = copy.deepcopy(level())
        plant(result)
        found = failed(result)
        if name not in found:
            missed.append(f"a planted growth was not found: {name}")
    result = level()
    if "</svg>" not in plot.draw(result) or "| code |" not in report.text(result, judge.verdicts(result)):
        missed.append("the report is not whole")
    for text in missed:
        print(text)
    print(f"{len(PLANTED)} planted, {len(missed)} missed")
    return 1 if missed else 0
