"""Soak: 70 % of what the server bears, for an hour, while everything that can end does. See bench/long/soak."""

import argparse
import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import judge
import plot
import report
import scene
import self_test
from gauges import Gauges
from server import Server

EVERY = 10.0
SHARE = 0.7
CALIBRATION = (20, 40)

# A server that uses less of a core while it is asked for as much as it can waits for something else.
BUSY = 0.85

# Journeys at once while it is seen what the server bears, and the most at once later.
CONNECTIONS = 64


def say(text):
    print(f"soak: {text}", file=sys.stderr, flush=True)


def arguments():
    given = argparse.ArgumentParser(prog="bench/long/soak", description=__doc__)
    given.add_argument("--minutes", type=float, default=60.0)
    given.add_argument("--rate", type=float, help="journeys a second; else 70 %% of what the server bears")
    given.add_argument("--postgres", metavar="URL", help="an empty database for the rows, instead of SQLite")
    given.add_argument("--server-core", default="0", metavar="N", help="the server runs on this core and the load on "
                       "the others; `none` for wherever they like. Default: 0, where there are two")
    given.add_argument("--folder", metavar="DIR", help="where the server's folder is made; must be on a disk")
    given.add_argument("--seed", type=int, help="of what people and clients do")
    given.add_argument("--into", metavar="DIR", default="docs/reports")
    given.add_argument("--result", metavar="FILE", help="where all samples are written as JSON; else they "
                       "are kept only where something fails")
    given.add_argument("--from", dest="former", metavar="FILE", help="judge and write the report of such a file again")
    given.add_argument("--keep", action="store_true", help="keep the server's folder")
    given.add_argument("--self-test", action="store_true", help="see that the judge finds each planted growth")
    return given.parse_args()


def cores(word):
    """The server's core, and those of the load."""
    all_of_them = sorted(os.sched_getaffinity(0))
    if word == "none" or len(all_of_them) < 2:
        return None, None
    if not word.isdigit() or int(word) not in all_of_them:
        raise SystemExit(f"soak: there is no core {word}")
    return int(word), [core for core in all_of_them if core != int(word)]


class Load:
    """The generator, a process of its own."""

    def __init__(self, server, core, seed):
        given = {"core": core, "port": server.port, "seed": seed, "connections": CONNECTIONS}
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "generator.py")
        self.process = subprocess.Popen([sys.executable, path, json.dumps(given)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def play(self, seconds, rate=None):
        """Yields what the generator tells, every ten seconds."""
        asked = {"seconds": seconds, "rate": rate, "every": EVERY}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            told = json.loads(line)
            if not told["last"] or told["journeys"]:
                yield told
            if told["last"]:
                return
        raise SystemExit(f"soak: the generator ended with {self.process.wait()}")

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()


def count(told, outcome="done"):
    return sum(one["outcomes"].get(outcome, 0) for one in told["journeys"].values())


def calibrate(load, gauges):
    """What the server bears: as many journeys as go, all the time on all connections."""
    for _ in load.play(CALIBRATION[0]):
        pass
    began = gauges.read()
    used, done = None, 0
    for told in load.play(CALIBRATION[1]):
        if used is None:
            first, used = time.monotonic(), told["cpu"]
            continue
        done, last, cpu = done + count(told), time.monotonic(), told["cpu"]
    ended = gauges.read()
    found = {
        "rate": done / (last - first), "generator": (cpu - used) / (last - first),
        "server": (ended["cpu"] - began["cpu"]) / (ended["at"] - began["at"]),
    }
    say(f"it bears {found['rate']:.0f} journeys a second; the server used {found['server']:.2f} cores for them, "
        f"the load {found['generator']:.2f}")
    if found["server"] < BUSY:
        say("it had less than its core, or waited for the disk: on a quiet machine it may bear more")
    return found


def run(given):
    server_core, load_cores = cores(given.server_core)
    folder = tempfile.mkdtemp(prefix="porteiro-soak.", dir=given.folder)
    seed = random.randrange(1 << 30) if given.seed is None else given.seed
    server = Server(os.environ["PORTEIRO_BINARY"], folder, given.postgres, server_core)
    load, keep = None, True
    try:
        load_before = os.getloadavg()[0]
        say(f"{scene.PEOPLE} people of {scene.ORGANIZATIONS} organizations in {folder}")
        server.prepare()
        server.start()
        gauges = Gauges(server, given.postgres)
        load = Load(server, load_cores, seed)
        bears = calibrate(load, gauges)
        rate = given.rate or SHARE * bears["rate"]
        result = {
            "about": about(server, server_core, given, seed, load_before), "bears": bears, "rate": rate,
            "minutes": given.minutes, "samples": [],
        }
        offer(result, load, gauges, given)
        result["exit"], result["panics"] = server.stop(), server.panics()
        keep = given.keep or result["exit"] != 0 or result["panics"] > 0
        return result
    finally:
        if load is not None:
            load.close()
        server.stop()
        if keep:
            say(f"the server's folder is kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def offer(result, load, gauges, given):
    say(f"{result['rate']:.0f} journeys a second for {given.minutes:g} minutes")
    before, used = gauges.read(), None
    began = before["at"]
    for told in load.play(given.minutes * 60, result["rate"]):
        if told["last"]:
            # What was under way at the end.
            break
        seen = gauges.read()
        sample = {**seen, "at": seen["at"] - began, "seconds": seen["at"] - before["at"], "load": told}
        sample["server"] = (seen["cpu"] - before["cpu"]) / sample["seconds"]
        sample["generator"] = (told["cpu"] - used) / sample["seconds"] if used is not None else None
        before, used = seen, told["cpu"]
        result["samples"].append(sample)
        if len(result["samples"]) % 6 == 0:
            say(report.line(sample))
        write(given.result, json.dumps(result))


def about(server, core, given, seed, load):
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True)
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    # Only a debug build looks for overflows.
    with open(server.binary, "rb") as file:
        build = "a debug build" if b"attempt to add with overflow" in file.read() else "a release build"
    version = subprocess.run([server.binary, "--version"], check=False, capture_output=True, text=True)
    return {
        "commit": asked.stdout.strip() or "unknown", "version": version.stdout.strip(), "build": build, "seed": seed,
        "date": datetime.date.today().isoformat(), "cores": os.cpu_count(), "processor": model,
        "load": load, "engine": "PostgreSQL" if given.postgres else "SQLite",
        "server_core": core, "people": scene.PEOPLE, "organizations": scene.ORGANIZATIONS,
    }


def write(path, text):
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


def main():
    given = arguments()
    if given.self_test:
        return self_test.main()
    # By SIGTERM it ends as by Ctrl-C, and takes the server with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if given.former:
        with open(given.former, encoding="utf-8") as file:
            result = json.load(file)
    else:
        is_asked = given.result is not None
        given.result = given.result or os.path.join(tempfile.gettempdir(), f"porteiro-soak.{os.getpid()}.json")
        result = run(given)
        write(given.result, json.dumps(result))
    verdicts = judge.verdicts(result)
    for verdict in verdicts:
        if not verdict.holds:
            say(f"FAILED: {verdict.name}: {verdict.told()}, wanted {verdict.wanted}")
    failed = sum(not verdict.holds for verdict in verdicts)
    if judge.is_long_enough(result):
        write(os.path.join(given.into, "soak.md"), report.text(result, verdicts))
        write(os.path.join(given.into, "soak.svg"), plot.draw(result))
        say(f"{len(verdicts)} judged, {failed} failed; the report is in {given.into}/soak.md")
    else:
        print(report.text(result, verdicts))
        say(f"too short to see whether rows and memory stay: only what must never fail was judged, {failed} failed")
    if not given.former and not is_asked:
        if failed:
            say(f"the samples are in {given.result}")
        else:
            os.unlink(given.result)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
