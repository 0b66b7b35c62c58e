"""Connections that stay open, and an event loop that plays journeys over them: one request after another on each."""

import json
import math
import select
import socket
import time
from collections import Counter

# What takes longer has failed.
ANSWER_SECONDS = 30.0

# A late generator begins no journey that was due longer ago.
LATEST_SECONDS = 30.0

# Sixty buckets of latency for each factor of ten: a percentile is off by four in a hundred at most.
BUCKETS = 60

OUTCOMES = ("done", "refused", "busy", "failed")


class Unexpected(Exception):
    """An answer that the journey did not ask for."""

    def __init__(self, request, answer):
        super().__init__(f"{request}: {answer.status} {answer.body[:200].decode('utf-8', 'replace')}")
        self.outcome = "busy" if answer.status in (429, 503) else "refused" if answer.status < 500 else "failed"


class Answer:
    __slots__ = ("status", "body")

    def __init__(self, status, body):
        self.status = status
        self.body = body

    def json(self):
        return json.loads(self.body)


class Connection:
    """One connection, and the journey that is under way on it."""

    def __init__(self, address):
        self.address = address
        self.socket = None
        self.closes = False
        self.journey = None

    def open(self):
        self.socket = socket.create_connection(self.address, timeout=ANSWER_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.closes = False

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def fileno(self):
        return self.socket.fileno()

    def send(self, request):
        if self.socket is None:
            self.open()
        self.sent = time.monotonic()
        self.socket.sendall(request)

    def receive(self):
        """Reads what has come; returns the answer once it is whole."""
        more = self.socket.recv(262144)
        if not more:
            raise ConnectionError("the server has closed the connection")
        self.received += more
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = self.received[:end].lower()
        status = int(head[9:12])
        start = end + 4
        length = header(head, b"content-length")
        if status in (204, 304):
            body = b""
        elif length is not None:
            if len(self.received) < start + int(length):
                return None
            body = self.received[start:start + int(length)]
        else:
            if not self.received.endswith(b"0\r\n\r\n"):
                return None
            body = unchunked(self.received[start:])
        self.closes = header(head, b"connection") == b"close"
        self.received = b""
        return Answer(status, body)


def header(head, name):
    at = head.find(b"\r\n" + name + b":")
    if at < 0:
        return None
    start = at + len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start:end if end >= 0 else len(head)].strip()


def unchunked(text):
    whole = b""
    while True:
        size, _, text = text.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            return whole
        whole, text = whole + text[:length], text[length + 2:]


class Tally:
    """What became of journeys since it was last told."""

    def __init__(self):
        self.of = {}
        self.said = Counter()

    def note(self, name, outcome, seconds=0.0):
        one = self.of.get(name)
        if one is None:
            one = self.of[name] = (Counter(), Counter())
        one[0][outcome] += 1
        if outcome == "done":
            one[1][bucket(seconds)] += 1

    def complain(self, text):
        if len(self.said) < 20 or text in self.said:
            self.said[text] += 1

    def take(self):
        taken = {name: {"outcomes": dict(outcomes), "buckets": dict(buckets)}
                 for name, (outcomes, buckets) in self.of.items()}
        said = dict(self.said)
        self.of, self.said = {}, Counter()
        return taken, said


def bucket(seconds):
    return round(BUCKETS * math.log10(max(seconds, 1e-5) * 1e5))


def seconds_of(number):
    return 10.0 ** (int(number) / BUCKETS - 5)


class Loop:
    """Plays journeys: as many at once as there are connections, or so many a second, whatever the answers take."""

    def __init__(self, address, connections, draw, timers, tally, may_close):
        self.free = [Connection(address) for _ in range(connections)]
        self.draw = draw
        self.timers = timers
        self.tally = tally
        self.may_close = may_close
        self.busy = {}
        self.skipped = 0
        self.stop = False

    def play(self, seconds, rate, every, tell):
        """Plays for so long; `rate` is journeys a second, or nothing for as many as go."""
        began = time.monotonic()
        end, told, offered = began + seconds, began + every, 0
        while not self.stop:
            now = time.monotonic()
            if now >= told:
                tell(self.backlog(began, rate, offered, now))
                told += every
            if now >= end:
                break
            for timer in self.timers:
                timer.look(now, self)
            due = now if rate is None else began + offered / rate
            if now - due > LATEST_SECONDS:
                behind = int((now - due - LATEST_SECONDS) * rate) + 1
                self.skipped += behind
                offered += behind
                continue
            while self.free and due <= now:
                self.begin(*self.draw(), due)
                offered += 1
                due = now if rate is None else began + offered / rate
            wait = min(told, end, now + 0.2 if rate is None or not self.free else due) - now
            self.wait(max(0.0, min(wait, 0.2)))
        self.drain()

    @staticmethod
    def backlog(began, rate, offered, now):
        return 0 if rate is None else max(0, int((now - began) * rate) - offered)

    def drain(self):
        """Waits for what is under way."""
        until = time.monotonic() + ANSWER_SECONDS
        while self.busy and time.monotonic() < until:
            self.wait(0.2)

    def begin(self, name, journey, due):
        connection = self.free.pop()
        connection.journey, connection.name, connection.due = journey, name, due
        self.go_on(connection, None)

    def wait(self, seconds):
        if not self.busy:
            time.sleep(seconds)
            return
        ready, _, _ = select.select(list(self.busy.values()), (), (), seconds)
        for connection in ready:
            try:
                answer = connection.receive()
            except (OSError, ValueError) as error:
                self.lost(connection, error)
                continue
            if answer is not None:
                self.go_on(connection, answer)
        if not ready and self.busy:
            now = time.monotonic()
            for connection in list(self.busy.values()):
                if now - connection.sent > ANSWER_SECONDS:
                    self.lost(connection, "no answer in time")

    def go_on(self, connection, answer):
        """Hands the answer to the journey, and sends what it asks next."""
        try:
            if answer is not None and connection.closes:
                self.busy.pop(connection.fileno())
                connection.close()
            request = connection.journey.send(answer)
        except StopIteration:
            self.end(connection, "done")
        except Unexpected as unexpected:
            self.tally.complain(f"{connection.name}: {unexpected}")
            self.end(connection, unexpected.outcome)
        except (KeyError, TypeError, ValueError) as error:
            # The answer is not what it should be.
            self.tally.complain(f"{connection.name}: {error!r}")
            self.end(connection, "failed")
        else:
            try:
                connection.send(request)
                self.busy[connection.fileno()] = connection
            except OSError as error:
                self.lost(connection, error)

    def lost(self, connection, error):
        self.tally.complain(f"{connection.name}: {error}")
        if connection.socket is not None:
            self.busy.pop(connection.fileno(), None)
            connection.close()
        connection.journey.close()
        self.end(connection, "failed")

    def end(self, connection, outcome):
        self.tally.note(connection.name, outcome, time.monotonic() - connection.due)
        connection.journey = None
        if connection.socket is not None:
            self.busy.pop(connection.fileno(), None)
            if self.may_close():
                connection.close()
        self.free.append(connection)
