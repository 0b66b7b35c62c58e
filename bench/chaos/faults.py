"""Faults: each kind is begun and ended; what this machine does not allow is left out by name."""

import os
import threading
import time

import checker
import plan
from index import CLOCK_SECONDS
from machine import say
from plan import KINDS


class Faults:
    def __init__(self, world):
        self.world = world
        self.done = {kind: 0 for kind in KINDS}
        self.failed = []
        self.threads = []

    def left_out(self):
        """Kinds that cannot be done here, and why."""
        world = self.world
        found = {}
        if world.routes.why_not:
            found["partition"] = world.routes.why_not
        if world.disk.why_not_full:
            found["full-disk"] = world.disk.why_not_full
        if world.disk.why_not_frozen:
            found["frozen-disk"] = world.disk.why_not_frozen
        if world.clocks.why_not:
            found["clock-back"] = found["clock-ahead"] = world.clocks.why_not
        return found

    def follow(self, drawn, begins):
        """Does what the plan says, each fault at its time on a thread of its own."""
        for fault in drawn:
            wait = begins + fault.at - time.monotonic()
            if wait > 0 and self.world.is_over.wait(wait):
                return
            say(f"fault {fault.line()}")
            thread = threading.Thread(target=self._do, args=(fault,), daemon=True)
            thread.start()
            self.threads.append(thread)

    def join(self):
        for thread in self.threads:
            thread.join(120)
            if thread.is_alive():
                self.failed.append("a fault did not end")

    def _do(self, fault):
        history = self.world.history
        name = fault.kind.replace("-", "_")
        history.fault(fault.kind, fault.target, "begins", number=fault.number)
        try:
            getattr(self, name)(fault)
            self.done[fault.kind] += 1
        except Exception as error:  # A fault that could not be done must show, and not end the run.
            self.failed.append(f"{fault.kind}: {error!r}")
        history.fault(fault.kind, fault.target, "ends", number=fault.number)

    def _last(self, fault):
        time.sleep(fault.length)

    # Processes.

    def kill_node(self, fault):
        node = self.world.nodes[fault.target]
        node.kill()
        self._last(fault)
        node.start()

    def stop_node(self, fault):
        node = self.world.nodes[fault.target]
        node.stop()
        try:
            self._last(fault)
        finally:
            node.go_on()

    def kill_postgres(self, fault):
        self.world.postgres.kill()
        self._last(fault)
        self._database_back()

    def stop_postgres(self, fault):
        self.world.postgres.stop()
        try:
            self._last(fault)
        finally:
            self.world.postgres.go_on()

    def kill_backend(self, fault):
        # After another fault it takes a while until nodes have connections again.
        until = time.monotonic() + 15
        while self.world.postgres.kill_backend(fault.measure) is None:
            if time.monotonic() > until:
                raise RuntimeError("no process served a connection")
            time.sleep(0.1)
        self._database_back()

    def _database_back(self):
        if not self.world.postgres.wait(90):
            raise RuntimeError("PostgreSQL did not come back")

    # The disk.

    def full_disk(self, fault):
        disk = self.world.disk
        size = disk.fill()
        try:
            until = time.monotonic() + fault.length
            while time.monotonic() < until:
                time.sleep(0.1)
                # What PostgreSQL gives up meanwhile is taken as well.
                if os.statvfs(disk.path).f_bavail > 0:
                    size += disk.fill_more()
        finally:
            disk.empty()
        self.world.history.fact("filled", bytes=size)
        self._database_back()

    def frozen_disk(self, fault):
        if not self.world.disk.freeze():
            raise RuntimeError("the file system was not frozen")
        try:
            self._last(fault)
        finally:
            self.world.disk.thaw()
        self._database_back()

    # Links.

    def partition(self, fault):
        address = self.world.database_links[fault.target].listen[0]
        if not self.world.routes.cut(address):
            raise RuntimeError("the route was not cut")
        try:
            self._last(fault)
        finally:
            if not self.world.routes.mend(address):
                raise RuntimeError("the route was not mended")

    def _turned(self, link, mode, fault, delay=0.0):
        self.world.proxy.turn(link, mode, delay)
        try:
            self._last(fault)
        finally:
            self.world.proxy.turn(link, "pass")

    def database_reset(self, fault):
        self._turned(self.world.database_links[fault.target], "reset", fault)

    def database_delay(self, fault):
        self._turned(self.world.database_links[fault.target], "delay", fault, 0.01 + fault.measure * 0.5)

    def database_half_open(self, fault):
        self._turned(self.world.database_links[fault.target], "half-open", fault)

    def database_mute(self, fault):
        self._turned(self.world.database_links[fault.target], "mute", fault)

    def client_reset(self, fault):
        self._turned(self.world.client_links[fault.target], "reset", fault)

    def client_delay(self, fault):
        self._turned(self.world.client_links[fault.target], "delay", fault, 0.01 + fault.measure)

    def client_half_open(self, fault):
        self._turned(self.world.client_links[fault.target], "half-open", fault)

    def client_mute(self, fault):
        self._turned(self.world.client_links[fault.target], "mute", fault)

    # Clocks.

    def _moved(self, fault, seconds):
        clocks = self.world.clocks
        clocks.set(fault.target, seconds)
        try:
            self._last(fault)
        finally:
            clocks.set(fault.target, 0.0)

    def clock_back(self, fault):
        self._moved(fault, -1.0 - fault.measure * (CLOCK_SECONDS - 1.0))

    def clock_ahead(self, fault):
        self._moved(fault, 1.0 + fault.measure * (CLOCK_SECONDS - 1.0))


class Strikes:
    """The course of a run with faults."""

    def __init__(self, world, given, seed):
        self.faults = Faults(world)
        self.failed = self.faults.failed
        self.left_out = self.faults.left_out()
        for kind, why in self.left_out.items():
            say(f"left out: {kind}, because {why}")
        left_out = set(self.left_out)
        if given.only:
            left_out |= {kind for kind in KINDS if kind not in given.only}
        self.drawn = plan.draw(seed, given.faults, given.minutes, given.nodes, left_out)
        self.name = f"{len(self.drawn)} faults over {given.minutes} minutes by seed {seed}"

    def run(self):
        self.faults.follow(self.drawn, time.monotonic())
        self.faults.join()

    def result(self, lines):
        _, struck = checker.counted(lines)
        return {"faults": len(self.drawn), "struck": dict(struck), "left_out": self.left_out}
