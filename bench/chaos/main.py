"""Chaos: faults at random, or an upgrade, while clients run, and a checker that reads their history. See bin/chaos."""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import threading
import time

import checker
import plan
import upgrade
from faults import Strikes
from history import read
from machine import bring_up_loopback, say
from nodes import wait_for
from postgres import find_programs

CALM_SECONDS = 25.0
OUTBOX_SECONDS = 150.0


def arguments():
    given = argparse.ArgumentParser(prog="bin/chaos", description=__doc__)
    given.add_argument("--seed", type=int, help="of the plan and of the clients; drawn where it is not given")
    given.add_argument("--faults", type=int, default=40)
    given.add_argument("--minutes", type=float, default=2.0, help="over which the faults are spread")
    given.add_argument("--nodes", type=int, default=3, choices=range(2, 8))
    given.add_argument("--pause", type=float, default=1.0, help="how long clients pause between rounds, as a factor")
    given.add_argument("--only", action="append", default=[], metavar="KIND", help="faults of this kind alone")
    given.add_argument("--former", metavar="FILE",
                       help="play no faults but an upgrade of all nodes from the version of this binary")
    given.add_argument("--plan", action="store_true", help="print the plan and do nothing")
    given.add_argument("--check", metavar="FILE", help="judge a history file and do nothing else")
    given.add_argument("--self-test", action="store_true", help="see that each violation is found, in seconds")
    given.add_argument("--history", metavar="FILE", help="where a copy of the history is kept")
    given.add_argument("--result", metavar="FILE", help="where the result is written as JSON")
    given.add_argument("--keep", action="store_true", help="keep the folder of the run")
    given.add_argument("--find-postgres", action="store_true", help=argparse.SUPPRESS)
    given.add_argument("--namespaces", default="", help=argparse.SUPPRESS)
    found = given.parse_args()
    if found.former and found.only:
        given.error("--former plays an upgrade and no faults: --only says nothing there")
    if found.former and not found.plan and not os.access(found.former, os.X_OK):
        given.error(f"{found.former} is no program")
    return found


def run(given, seed):
    from world import World

    namespaces = set(filter(None, given.namespaces.split(",")))
    if "net" in namespaces and not bring_up_loopback():
        raise SystemExit("chaos: the loopback interface of the network namespace could not be brought up")
    world = World(os.environ["PORTEIRO_BINARY"], find_programs(), seed, namespaces, given.nodes, given.pause,
                  given.former)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: (stop.set(), world.is_over.set()))
    keep = True
    try:
        world.open()
        result = play(world, given, seed, stop)
        keep = given.keep or bool(result["violations"] or result["failed"])
        return result
    finally:
        world.is_over.set()
        if given.history and os.path.exists(world.history.file.name):
            shutil.copyfile(world.history.file.name, given.history)
        world.close(keep)


def play(world, given, seed, stop):
    course = (upgrade.Upgrade if given.former else Strikes)(world, given, seed)
    failed = []
    workers = course.workers = [kind(world, name) for name, kind in world.workers.items()]
    threads = [threading.Thread(target=guarded, args=(one, failed), name=one.name, daemon=True) for one in workers]
    for thread in threads:
        thread.start()
    # Without faults first: a client that gets nowhere then has found no fault's doing.
    if wait_for("a first round of every client", 60, lambda: all(one.rounds for one in workers)):
        say(course.name)
        course.run()
        if stop.is_set():
            raise SystemExit("chaos: stopped")
        say("nothing more is done to the nodes")
        come_back(world, workers)
    else:
        idle = [one.name for one in workers if not one.rounds]
        failed.append(f"{', '.join(idle)} got nowhere before anything was done to the nodes")
    world.is_over.set()
    for thread in threads:
        thread.join(60)
    for one in workers:
        one.final()
    world.look_at_the_end(OUTBOX_SECONDS)
    world.history.fact("finished")
    lines = read(world.history.file.name)
    operations, _ = checker.counted(lines)
    return {
        "seed": seed, "minutes": given.minutes, "nodes": given.nodes, "disk": world.disk.kind,
        "operations": {f"{do} {outcome}": number for (do, outcome), number in sorted(operations.items())},
        "rounds": {one.name: one.rounds for one in workers}, **course.result(lines),
        "violations": [vars(one) for one in checker.judge(lines)], "failed": course.failed + failed,
    }


def guarded(worker, failed):
    try:
        worker.run()
    except Exception as error:  # A client that fails in a way of its own must show.
        import traceback

        traceback.print_exc()
        failed.append(f"client {worker.name}: {error!r}")


def come_back(world, workers):
    """Each node is ready and each client goes round again; what does not is noted."""
    for node in world.nodes:
        node.start()
        if not wait_for(f"node {node.index}", 60, node.is_ready):
            world.history.fact("not_back", who=f"node {node.index}")
    world.is_calm.set()
    wait_for("a round of every client", CALM_SECONDS * 2, lambda: all(one.calm_rounds for one in workers))
    for one in workers:
        if not one.calm_rounds:
            world.history.fact("not_back", who=f"client {one.name}")


def tell(result):
    for name in ("struck", "left_out", "rollback", "rounds", "operations"):
        if name in result:
            print(f"{name}:")
            for key, value in sorted(result[name].items()):
                print(f"  {key}: {value}")
    for one in result.get("stages", []):
        print("  ".join(f"{key}: {value}" for key, value in one.items()))
    for one in result["violations"][:200]:
        print(f"VIOLATION {one['rule']}: {one['text']} (lines {', '.join(map(str, one['lines']))})")
    for one in result["failed"]:
        print(f"FAILED {one}")
    done = f"{sum(result['struck'].values())} faults" if "struck" in result else f"migrated {result['migrated']}"
    print(f"seed {result['seed']}: {done}, "
          f"{sum(result['operations'].values())} operations, {len(result['violations'])} violations")


def main():
    given = arguments()
    if given.find_postgres:
        return 0 if find_programs() else 1
    if given.self_test:
        import self_test

        return self_test.main()
    if given.check:
        return checker.main([given.check])
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 31)
    asked = f"--former {given.former}" if given.former else f"--faults {given.faults}"
    print(f"seed {seed}: bin/chaos --seed {seed} {asked} --minutes {given.minutes}", flush=True)
    if given.plan:
        drawn = (upgrade.draw(seed, given.minutes, given.nodes) if given.former
                 else plan.draw(seed, given.faults, given.minutes, given.nodes))
        for step in drawn:
            print(step.line())
        return 0
    result = run(given, seed)
    tell(result)
    if given.result:
        with open(given.result, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 1 if result["violations"] or result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
