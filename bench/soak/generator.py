"""The process that offers the load: lines of JSON tell it what to play, and it tells every ten seconds how it went."""

import json
import os
import random
import resource
import socket
import sys
import time

from journeys import Journeys
from wire import ANSWER_SECONDS, Loop, Tally


class Registrations:
    """Clients that come and go, so many a second: what is kept of them for days must not become too many."""

    every = 2.0

    def __init__(self, journeys):
        self.journeys = journeys
        self.next = time.monotonic()

    def look(self, now, loop):
        if now >= self.next and loop.free:
            loop.begin("registration", self.journeys.registration(), now)
            self.next = now + self.every


class Idlers:
    """Connections on which nothing is asked, or half a request; some are closed by us, some by the server."""

    every, seconds = 0.5, 60.0

    def __init__(self, address, seed):
        self.address, self.dice = address, random.Random(seed)
        self.next, self.held = time.monotonic(), []

    def look(self, now, _):
        if now < self.next:
            return
        self.next = now + self.every
        try:
            idler = socket.create_connection(self.address, timeout=ANSWER_SECONDS)
            if self.dice.random() < 0.5:
                idler.sendall(b"GET /connect/jwks HTTP/1.1\r\nhost: ")
            self.held.append((now, idler))
        except OSError:
            pass
        while self.held and now - self.held[0][0] > self.seconds:
            self.held.pop(0)[1].close()


def main():
    given = json.loads(sys.argv[1])
    if given["core"] is not None:
        os.sched_setaffinity(0, given["core"])
    address = ("127.0.0.1", given["port"])
    journeys = Journeys(f"localhost:{given['port']}", given["seed"])
    tally = Tally()
    timers = [Registrations(journeys), Idlers(address, given["seed"])]
    loop = Loop(address, given["connections"], journeys.draw, timers, tally, journeys.may_close)

    def tell(backlog, last=False):
        took, said = tally.take()
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps({
            "journeys": took, "said": said, "backlog": backlog, "skipped": loop.skipped, "last": last,
            "cpu": used.ru_utime + used.ru_stime, "registered": journeys.registered,
            "sessions": len(journeys.sessions.held), "grants": len(journeys.grants.held),
        }), flush=True)

    for line in sys.stdin:
        asked = json.loads(line)
        loop.play(asked["seconds"], asked.get("rate"), asked["every"], tell)
        tell(0, last=True)


if __name__ == "__main__":
    main()
