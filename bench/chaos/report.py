"""Writes reports to standard output: report.py runs RESULT… of the long run, report.py bugs RESULT… of planted bugs."""

import json
import subprocess
import sys

from plan import KINDS


def commit():
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True)
    return asked.stdout.strip() or "unknown"


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def runs(results):
    """The long run: what was done to how many, what came of it, and what the machine did not allow."""
    struck = {kind: sum(one["struck"].get(kind, 0) for one in results) for kind in KINDS}
    operations = {}
    for one in results:
        for name, number in one["operations"].items():
            do, outcome = name.rsplit(" ", 1)
            operations.setdefault(do, {}).setdefault(outcome, 0)
            operations[do][outcome] += number
    violations = [violation for one in results for violation in one["violations"]]
    failed = [text for one in results for text in one["failed"]]
    seeds = ", ".join(f"`{one['seed']}`" for one in results)
    yield "# Chaos\n"
    yield (f"What `bench/long/chaos` did at commit `{commit()}`: {results[0]['nodes']} nodes on one PostgreSQL with "
           f"`fsync` on ({results[0]['disk']}), and clients that ran through all of it.\n")
    yield (f"**{sum(struck.values())} faults, {sum(sum(row.values()) for row in operations.values())} operations, "
           f"{len(violations)} violations.**\n")
    yield f"Seeds: {seeds}. The same plan again, for one of them:\n"
    one = results[0]
    yield f"    bin/chaos --seed {one['seed']} --faults {one['faults']} --minutes {one['minutes']}\n"
    yield "| fault | times |\n|---|---|"
    left_out = results[0]["left_out"]
    for kind, times in struck.items():
        yield f"| {kind} | {f'left out: {left_out[kind]}' if kind in left_out else times} |"
    yield "\n| operation | ok | refused | busy | unknown | not sent |\n|---|---|---|---|---|---|"
    for do, row in sorted(operations.items()):
        cells = " | ".join(str(row.get(name, 0)) for name in ("ok", "refused", "busy", "unknown", "unsent"))
        yield f"| {do} | {cells} |"
    for violation in violations:
        yield f"\nVIOLATION {violation['rule']}: {violation['text']}"
    for text in failed:
        yield f"\nFAILED: {text}"
    yield ("\nA process that is killed loses nothing that the kernel has taken; the loss of power is not tried here. What "
           "is judged is in `bench/chaos/rules.py`, and `bin/chaos --self-test` shows that each rule finds what it is "
           "for.")


def bugs(results):
    """Planted bugs: by which seed each was found, as what."""
    found = sum(1 for one in results if one["found"])
    yield "# Bugs that chaos found\n"
    yield (f"What `bench/long/chaos-bugs` did at commit `{commit()}`: each bug of `bench/chaos/bugs` was planted in a copy "
           "of the tree, and `bin/chaos` ran seed after seed until it found it. "
           f"**{found} of {len(results)} were found.**\n")
    yield "| bug | why it is one | found by seed | as |\n|---|---|---|---|"
    for one in results:
        seed = f"`{one['seed']}`" if one["found"] else f"not found in {one['tries']} seeds"
        yield f"| {one['name']} | {one['why']} | {seed} | {', '.join(one['found'])} |"


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("runs", "bugs"):
        print(__doc__, file=sys.stderr)
        return 2
    results = [load(path) for path in arguments[1:]]
    for text in (runs if arguments[0] == "runs" else bugs)(results):
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
