"""Judges whether what was sampled stayed: the second quarter after the warm-up beside the last one."""

import statistics
from dataclasses import dataclass

import scene
from wire import OUTCOMES, seconds_of

MIB = 1 << 20

# Seconds after which nothing is there any more that the calibration left: the longest row, and an actor's idle time.
SETTLED = scene.longest_row() + 180

# Quarters of less would be noise.
LEAST_SECONDS = 20 * 60

# What is held for days by contract (docs/operating.md), told as growth: each client that deleted itself stays two days,
# in a row of its own and in a list.
BY_REGISTRATION = ("entities: client", "listings")

# What grows for ever by design.
GROWING = ("security_log",)


@dataclass
class Verdict:
    name: str
    second: float
    last: float
    wanted: str
    holds: bool
    unit: str = ""

    def told(self):
        if self.second is None:
            return number(self.last, self.unit)
        return f"{number(self.second, self.unit)} → {number(self.last, self.unit)}"


def number(value, unit):
    if unit == "MiB":
        return f"{value / MIB:.1f} MiB"
    return f"{value:,.4g}{unit}" if abs(value) < 1000 else f"{value:,.0f}{unit}"


def warm_up(result):
    return max(SETTLED, result["minutes"] * 60 / 4)


def is_long_enough(result):
    return bool(result["samples"]) and result["samples"][-1]["at"] - warm_up(result) >= LEAST_SECONDS


def quarters(result):
    """The samples after the warm-up, in four parts of the same length."""
    begin = warm_up(result)
    end = result["samples"][-1]["at"]
    parts = [[], [], [], []]
    for sample in result["samples"]:
        if sample["at"] > begin:
            parts[min(3, int(4 * (sample["at"] - begin) / (end - begin)))].append(sample)
    return parts


def median(samples, read):
    return statistics.median(read(sample) for sample in samples)


def bounded_rows(sample):
    """Rows by table and kind that must stay, without those that are kept by contract."""
    rows = {name: count for name, count in sample["rows"].items() if name not in GROWING}
    for name in BY_REGISTRATION:
        rows[name] = rows.get(name, 0) - sample["load"]["registered"]
    return rows


def names_of(result, read):
    return sorted({name for sample in result["samples"] for name in read(sample)})


def outcomes(samples):
    total = dict.fromkeys(OUTCOMES, 0)
    for sample in samples:
        for one in sample["load"]["journeys"].values():
            for outcome, count in one["outcomes"].items():
                total[outcome] += count
    return total


def verdicts(result):
    return list(must_never(result)) + (list(must_stay(result)) if is_long_enough(result) else [])


def must_never(result):
    samples = result["samples"]
    total = outcomes(samples)
    begun = sum(total.values())
    yield Verdict("journeys that failed", None, total["failed"], "0", begun > 0 and total["failed"] == 0)
    turned = total["refused"] + total["busy"]
    yield Verdict("journeys refused or turned away", None, turned, "0.1 % at most", turned <= begun / 1000)
    faults = samples[-1]["faults"] if samples else {"no sample was taken": 1}
    for name, times in faults.items():
        yield Verdict(name.replace("_", " "), None, times, "0", times == 0)
    yield Verdict("panics", None, result["panics"], "0", result["panics"] == 0)
    yield Verdict("exit code after SIGTERM", None, result["exit"], "0", result["exit"] == 0)


def must_stay(result):
    _, second, _, last = quarters(result)
    seconds = sum(sample["seconds"] for sample in second + last)
    done = outcomes(second + last)["done"] / seconds
    offered = result["rate"]
    yield Verdict("journeys done a second, beside those offered", offered, done, "within 2 %",
                  abs(done - offered) <= 0.02 * offered)

    def stays(name, read, share, least, unit=""):
        before, after = median(second, read), median(last, read)
        slack = f"{least // MIB} MiB" if unit == "MiB" else f"{least:,}"
        return Verdict(name, before, after, f"no more than {share * 100:.0f} % or {slack} above",
                       after <= before + max(share * abs(before), least), unit)

    yield stays("resident memory", lambda sample: sample["resident"], 0.05, 4 * MIB, "MiB")
    yield stays("anonymous memory", lambda sample: sample["anonymous"], 0.05, 4 * MIB, "MiB")
    yield stays("handles", lambda sample: sample["handles"], 0.1, 4)
    yield stays("threads", lambda sample: sample["threads"], 0.1, 2)
    yield stays("actors", lambda sample: sum(sample["actors"].values()), 0.1, 20)
    for kind in names_of(result, lambda sample: sample["actors"]):
        if any(sample["actors"][kind] for sample in second + last):
            yield stays(f"actors: {kind}", lambda sample, kind=kind: sample["actors"].get(kind, 0), 0.1, 20)
    for name in names_of(result, bounded_rows):
        yield stays(f"rows: {name}", lambda sample, name=name: bounded_rows(sample).get(name, 0), 0.1, 20)
    yield stays("rows whose time has come and that are still there", lambda sample: sample["overdue"], 0.1, 1000)
    if result["about"]["engine"] == "SQLite":
        yield stays("WAL", lambda sample: sample["wal"], 0.1, 4 * MIB, "MiB")


def growth(result):
    """Of what grows by design: how much for each journey, or for each client that came and went, by quarter."""
    parts = quarters(result)
    found = {"log": [], "registered": [], "database": []}
    for part in parts:
        first, end = part[0], part[-1]
        journeys = max(1, outcomes(part[1:])["done"])
        rows = lambda name: end["rows"].get(name, 0) - first["rows"].get(name, 0)
        registered = max(1, end["load"]["registered"] - first["load"]["registered"])
        found["log"].append(rows("security_log") / journeys)
        found["registered"].append(rows("entities: client") / registered)
        found["database"].append((end["database"] - first["database"]) / max(1, rows("security_log")))
    return found


def latencies(samples, name=None):
    """p50 and p99 of what was done, in milliseconds."""
    buckets = {}
    for sample in samples:
        for journey, one in sample["load"]["journeys"].items():
            if name in (None, journey):
                for bucket, count in one["buckets"].items():
                    buckets[int(bucket)] = buckets.get(int(bucket), 0) + count
    total = sum(buckets.values())
    found = []
    for share in (0.5, 0.99):
        passed = 0
        for bucket in sorted(buckets):
            passed += buckets[bucket]
            if passed >= share * total:
                found.append(1000 * seconds_of(bucket))
                break
    return found if found else None
