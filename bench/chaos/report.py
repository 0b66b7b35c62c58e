"""Writes reports to standard output.

report.py runs RESULT…           of the long run
report.py bugs RESULT…           of planted bugs
report.py upgrade FORMER RESULT  of an upgrade from the commit FORMER
"""

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


OUTCOMES = ("ok", "refused", "busy", "unknown", "unsent")


def upgrade(former, result):
    """An upgrade: what clients were answered while which versions served, and what came of a rollback."""
    stages = result["stages"]
    both = [stage for stage in stages if len(set(stage["versions"])) > 1]
    lost = {name: sum(stage[name] for stage in stages) for name in ("busy", "unknown", "unsent")}
    yield "# Upgrades\n"
    yield (f"What `bench/long/rolling-upgrade` did: {result['nodes']} nodes of commit `{former}` (the former version) on one "
           f"new PostgreSQL database, replaced one by one by commit `{commit()}` (this version), while clients of every grant, of "
           f"flows, SCIM, `/api` and single sign-on ran. Seed `{result['seed']}`, {result['minutes']} minutes.\n")
    yield (f"**{sum(result['operations'].values())} operations, {len(result['violations'])} violations.** Migrations that ran: "
           f"{result['migrated']}. {sum(total(stage) for stage in both)} requests began while both versions served. From the first "
           f"stage to the last {lost['unsent']} were not sent, because nobody listened on the port of a node that was being "
           f"replaced; {lost['busy']} were answered 503 or 429 (a limit), and of {lost['unknown']} the outcome was unknown.\n")
    yield rolled_back(result["rollback"]) + "\n"
    yield "| stage | nodes | seconds | ok | refused | busy | unknown | not sent |\n|---|---|---|---|---|---|---|---|"
    for stage in stages:
        cells = " | ".join(str(stage[name]) for name in OUTCOMES)
        yield f"| {stage['name']} | {', '.join(stage['versions'])} | {stage['seconds']} | {cells} |"
    yield ("\nThe nodes are those that a stage begins with. `refused` is what clients ask for that they must not have, such as a code a "
           "second time. The clients ask nodes themselves: a balancer that looks at `/readyz` sends nothing to a node that drains.\n")
    yield "| client | rounds |\n|---|---|"
    for name, rounds in sorted(result["rounds"].items()):
        yield f"| {name} | {rounds} |"
    for violation in result["violations"]:
        yield f"\nVIOLATION {violation['rule']}: {violation['text']}"
    for text in result["failed"]:
        yield f"\nFAILED: {text}"
    yield ("\nWhat is judged is in `bench/chaos/rules.py`; what was done to the nodes, in `bench/chaos/upgrade.py`.")


def total(stage):
    return sum(stage[name] for name in OUTCOMES)


def rolled_back(rollback):
    if not rollback:
        return "No node was put back to the former version."
    if rollback["serves"]:
        return ("Rollback: a node that was put back to the former version served beside two of this one, and its `porteiro log verify` "
                "proved the log that both had written.")
    return f"Rollback: the former version refused to serve with exit code {rollback['code']}: `{rollback['said']}`."


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "upgrade":
        for text in upgrade(arguments[1], load(arguments[2])):
            print(text)
        return 0
    if len(arguments) < 2 or arguments[0] not in ("runs", "bugs"):
        print(__doc__, file=sys.stderr)
        return 2
    results = [load(path) for path in arguments[1:]]
    for text in (runs if arguments[0] == "runs" else bugs)(results):
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
