"""Sees that the checker finds each violation in a small history and nothing in good ones; that plans repeat
themselves; that a link of the proxy does to bytes what it says; and that each planted bug can be planted."""

import contextlib
import os
import socket
import threading

import bugs
import checker
import plan
import upgrade
from proxy import Proxy
from samples import BAD, GOOD


def histories():
    """Each rule has a history that it alone finds fault with, and good histories are judged good."""
    for name, lines in GOOD.items():
        found = checker.judge(lines())
        if found:
            yield f"the good history `{name}` is judged: {'; '.join(map(str, found))}"
    for name, (expected, lines) in BAD.items():
        found = {one.rule for one in checker.judge(lines())}
        if found != {expected}:
            yield f"the history `{name}` must show {expected} alone, and shows {sorted(found) or 'nothing'}"
    missing = {rule.__name__ for rule in checker.RULES} - {expected for expected, _ in BAD.values()}
    for name in sorted(missing):
        yield f"no history shows {name}"


def plans():
    one, again, other = (plan.draw(seed, 60, 1.0, 3) for seed in (7, 7, 8))
    if one != again:
        yield "the same seed makes another plan"
    if one == other:
        yield "another seed makes the same plan"
    if {fault.kind for fault in one} != set(plan.KINDS):
        yield "not every kind is in a plan of sixty faults"
    if any(fault.kind == "partition" for fault in plan.draw(7, 60, 1.0, 3, {"partition": "not here"})):
        yield "a kind that is left out is planned"
    last = {}
    for fault in one:
        thing = (plan.KINDS[fault.kind][0], fault.target)
        if fault.at < last.get(thing, 0.0):
            yield f"two faults strike {thing} at once"
        last[thing] = fault.at + fault.length


def upgrades():
    steps = upgrade.draw(7, 1.0, 3)
    if steps != upgrade.draw(7, 1.0, 3):
        yield "the same seed makes another upgrade"
    if all(upgrade.draw(seed, 1.0, 3) == steps for seed in range(8, 18)):
        yield "every seed makes the same upgrade"
    done = [step for step in steps if step.kind != "serve"]
    if [step.kind for step in done] != ["migrate", *["replace"] * 3, "put-back", "replace"]:
        yield f"the steps of an upgrade are {[step.kind for step in done]}"
    elif {step.node for step in done[1:4]} != {0, 1, 2} or done[4].node != done[5].node:
        yield "not every node is replaced once, or another is put back than is replaced again"
    if any(one.kind == other.kind for one, other in zip(steps, steps[1:])) or steps[-1].kind != "serve":
        yield "clients do not run between any two steps"
    if abs(sum(step.seconds for step in steps) - 60.0) > 0.01:
        yield "an upgrade of one minute does not take one"
    names = sorted(os.listdir(upgrade.MIGRATIONS))
    for name in names:
        if not 1 <= upgrade.oldest_compatible(name) <= int(name[:4]):
            yield f"{name} is compatible with {upgrade.oldest_compatible(name)}"
    lines = BAD["a_request_that_a_drain_cut_off"][1]()
    lines.insert(0, {"n": 0, "at": 0.0, "what": "fact", "fact": "stage", "done": "one", "versions": []})
    rows = upgrade.stages(lines)
    if [(row["unknown"], row["ok"]) for row in rows] != [(1, 0)]:
        yield f"the stages of a small history are {rows}"


def echo():
    """A server that answers what it is told; returns its address."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve(held):
        with held, contextlib.suppress(OSError):
            while data := held.recv(1024):
                held.sendall(data)

    def accept():
        while True:
            try:
                held, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(held,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return server


def through(link, text=b"here", timeout=0.5):
    """What comes back of a text: itself, nothing in time, or a reset."""
    try:
        with socket.create_connection(link.listen, timeout=timeout) as held:
            held.settimeout(timeout)
            held.sendall(text)
            return held.recv(1024).decode() or "closed"
    except TimeoutError:
        return "nothing"
    except OSError:
        return "reset"


def links():
    server, proxy = echo(), Proxy()
    link = proxy.open("test", server.getsockname())
    try:
        for mode, expected in (("pass", {"here"}), ("reset", {"reset", "closed"}), ("half-open", {"nothing"}),
                               ("mute", {"nothing"}), ("delay", {"here"}), ("pass", {"here"})):
            proxy.turn(link, mode, 0.1)
            found = through(link)
            if found not in expected:
                yield f"a link that is turned to {mode} gives {found}"
        proxy.turn(link, "delay", 5.0)
        if (found := through(link)) != "nothing":
            yield f"a link that delays for five seconds gives {found} at once"
        proxy.turn(link, "pass")
        held = socket.create_connection(link.listen, timeout=1)
        held.sendall(b"one")
        if held.recv(1024) != b"one":
            yield "a connection does not carry"
        proxy.turn(link, "reset")
        try:
            if held.recv(1024) != b"":
                yield "a connection that was reset carries on"
        except OSError:
            pass
        held.close()
    finally:
        proxy.close()
        server.close()


def planted():
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    known = bugs.all_of(root)
    if len(known) < 10:
        yield f"there are {len(known)} planted bugs, and not ten"
    rules = {rule.__name__ for rule in checker.RULES}
    for bug in known:
        yield from bug.faults(root)
        for name in bug.finds:
            if name not in rules:
                yield f"{bug.name} names the rule {name}, which there is not"


def main():
    failed = 0
    for part in (histories, plans, upgrades, links, planted):
        said = list(part())
        failed += len(said)
        print(f"{part.__name__}: {'good' if not said else 'NOT GOOD'}")
        for text in said:
            print(f"  {text}")
    print(f"{len(GOOD)} good histories, {len(BAD)} with a violation, {len(checker.RULES)} rules")
    return 1 if failed else 0
