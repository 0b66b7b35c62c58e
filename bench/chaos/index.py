"""A history in order: operations with their answers, what was issued, what was ended, what may be true when."""

import math
from dataclasses import dataclass, field

# What was not answered may be carried out later: a commit is waited for 36 s at most, and a node may stand still.
SETTLE_SECONDS = 60.0

# What issues a token rests on what was true less than a second ago.
VIEW_SECONDS = 1.1

# How far a clock is moved at most: a fraction of what a code lives.
CLOCK_SECONDS = 30.0

# What ends for good; an account goes on, and only what was issued before ends with its sessions.
LASTING = ("session:", "family:", "access:", "key:")

REPLAYED = ("code:", "refresh:", "device:")


@dataclass
class Operation:
    number: int
    do: str
    began: float
    said: dict
    ended: float = math.inf
    outcome: str = "unknown"
    answer: int = 0

    def get(self, name, otherwise=None):
        return self.said.get(name, otherwise)

    @property
    def may_have_happened(self):
        return self.outcome in ("ok", "busy", "unknown")

    @property
    def succeeded(self):
        return self.outcome == "ok" and not str(self.get("got", "")).startswith("no ")


@dataclass
class Violation:
    rule: str
    text: str
    lines: list = field(default_factory=list)

    def __str__(self):
        return f"{self.rule}: {self.text} (lines {', '.join(map(str, self.lines))})"


@dataclass
class Issue:
    by: Operation
    said: dict

    @property
    def rests(self):
        return self.said.get("rests", [])

    @property
    def may(self):
        return self.said.get("may") or []


class Index:
    def __init__(self, lines):
        self.operations = []
        self.faults = []
        self.facts = {}
        self._read(lines)
        self.issues, self.attempts, self.ends = {}, {}, {}
        self.writes, self.families = {}, {}
        for operation in self.operations:
            self._sort_in(operation)
        self._replays()
        self._over = {}

    def _read(self, lines):
        by_number, open_faults = {}, {}
        for line in lines:
            if line["what"] == "asked":
                said = {name: value for name, value in line.items() if name not in ("n", "at", "what")}
                operation = Operation(line["n"], line["do"], line["at"], said)
                by_number[line["n"]] = operation
                self.operations.append(operation)
            elif line["what"] == "answered":
                operation = by_number[line["of"]]
                operation.ended, operation.outcome, operation.answer = line["at"], line["outcome"], line["n"]
                operation.said |= {
                    name: value for name, value in line.items() if name not in ("n", "at", "what", "of", "outcome")}
            elif line["what"] == "fault":
                if line["phase"] == "begins":
                    open_faults[line.get("number")] = line
                elif (began := open_faults.pop(line.get("number"), None)) is not None:
                    self.faults.append((began["at"], line["at"], line["kind"]))
            elif line["what"] == "fact":
                self.facts.setdefault(line["fact"], []).append(line)
        for began in open_faults.values():
            self.faults.append((began["at"], math.inf, began["kind"]))

    def _sort_in(self, operation):
        if operation.outcome == "ok":
            for said in operation.get("issued", []):
                self.issues.setdefault(said["thing"], Issue(operation, said))
        if operation.do != "use" and (thing := operation.get("thing")):
            self.attempts.setdefault(thing, []).append(operation)
        if operation.do == "end":
            for name in operation.get("ends", []):
                self.ends.setdefault(name, []).append(operation)
        if operation.do in ("write", "make") and operation.get("key"):
            self.writes.setdefault(operation.get("key"), []).append(operation)
        if operation.do == "spend" and (family := operation.get("family")):
            self.families.setdefault(family, {}).setdefault(operation.get("thing"), []).append(operation)

    def _replays(self):
        """A code or a refresh token that came twice, and was refused once, has ended its family."""
        for family, things in self.families.items():
            for thing, attempts in things.items():
                if not thing.startswith(REPLAYED):
                    continue
                good = [one for one in attempts if one.succeeded]
                bad = [one for one in attempts if one.outcome == "refused" and one.get("error") == "invalid_grant"]
                if good and bad:
                    ended = max(good[0].ended, min(one.ended for one in bad))
                    operation = Operation(bad[0].number, "end", bad[0].began, {}, ended, "ok", bad[0].answer)
                    self.ends.setdefault(family, []).append(operation)

    def over_since(self, name):
        """From when on a thing must be over: the time and the operation that ended it; endless where it need not be."""
        if name not in self._over:
            self._over[name] = (math.inf, None)
            self._over[name] = min(self._endings(name), key=lambda found: found[0], default=(math.inf, None))
        return self._over[name]

    def _endings(self, name):
        if name.startswith(LASTING):
            for end in self.ends.get(name, []):
                if end.outcome == "ok":
                    yield end.ended, end
        issue = self.issues.get(name)
        if issue is None:
            return
        for rest in issue.rests:
            if rest == name:
                continue
            if rest.startswith(LASTING):
                yield self.over_since(rest)
                continue
            for end in self.ends.get(rest, []):
                if end.outcome == "ok" and issue.by.ended <= end.began:
                    yield end.ended, end

    def rests_of(self, name, seen=None):
        """All that a thing rests on, or may end with."""
        seen = set() if seen is None else seen
        if name in seen:
            return seen
        seen.add(name)
        if (issue := self.issues.get(name)) is not None:
            for rest in [*issue.rests, *issue.may]:
                self.rests_of(rest, seen)
        return seen

    def excuse(self, name, at):
        """Why a thing may be over by then; nothing where it must be good."""
        issue = self.issues[name]
        seconds = issue.said.get("seconds")
        if seconds is not None and at - issue.by.began > seconds - 2.0:
            return "it has expired"
        for began, ended, kind in self.faults:
            if kind.startswith("clock-") and began <= at and ended >= issue.by.began - 1.0:
                return "a clock was moved"
        for rest in self.rests_of(name):
            for end in self.ends.get(rest, []):
                if end.may_have_happened and end.began < at and (
                        rest.startswith(LASTING) or end.ended >= issue.by.began or self._older(name, rest, end)):
                    return f"{rest} may have been ended"
            for write in self.writes.get(rest, []):
                if write.may_have_happened and write.began < at and write.ended >= issue.by.began - VIEW_SECONDS:
                    return f"{rest} may have been changed"
            for attempts in self.families.get(rest, {}).values():
                # What was answered busy has spent nothing.
                came = [one for one in attempts if one.outcome not in ("unsent", "busy") and one.began < at]
                if len(came) > 1:
                    return f"something of {rest} came twice"
        return None

    def _older(self, name, rest, end):
        """Whether something that a thing rests on was there when the account was ended."""
        return any(
            rest in self.rests_of(other) and self.issues[other].by.began <= end.ended
            for other in self.rests_of(name) if other != name and other in self.issues)

    def possible(self, key, began, ended):
        """The values that a read in this time may show; nothing where no write was acknowledged."""
        writes = self.writes.get(key, [])
        if not any(write.outcome == "ok" and write.ended < began for write in writes):
            return None
        found = []
        for write in writes:
            if not write.may_have_happened or write.began >= ended:
                continue
            settled = write.ended + (0.0 if write.outcome == "ok" else SETTLE_SECONDS)
            over = any(
                other is not write and other.outcome == "ok" and other.began >= settled and other.ended < began
                for other in writes)
            if not over:
                found.append(write.get("value"))
        return found

    def had_old_clock(self, operation):
        """Whether a clock was behind while it was under way."""
        return any(kind == "clock-back" and began <= operation.ended and operation.began <= ended
                   for began, ended, kind in self.faults)

    def replacements(self):
        """Which node was being replaced in an upgrade, from its SIGTERM until the next process on it was ready."""
        found, open_ones = [], {}
        for fact in self.facts.get("replacement", []):
            if fact["phase"] == "begins":
                open_ones[fact["node"]] = fact["at"]
            elif fact["node"] in open_ones:
                found.append((fact["node"], open_ones.pop(fact["node"]), fact["at"]))
        return found + [(node, began, math.inf) for node, began in open_ones.items()]

    def near_fault(self, operation, after=40.0):
        return any(began <= operation.ended and operation.began <= ended + after for began, ended, _ in self.faults)
