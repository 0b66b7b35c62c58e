"""What journeys hold between requests: open sessions, and grants that clients can still use."""

import time
from collections import deque

# Seconds; well before the server's own ends (see scene.LIFETIMES), so that no journey trips over one.
SESSION_SECONDS = 150
GRANT_IDLE_SECONDS = 120
OFFLINE_SECONDS = 180
ACCESS_SECONDS = 40


class Session:
    def __init__(self, token, number):
        self.token = token
        self.number = number
        self.born = time.monotonic()
        self.is_over = False
        # Journeys under way that rest on it.
        self.users = 0

    def is_live(self):
        return not self.is_over and time.monotonic() - self.born < SESSION_SECONDS


class Grant:
    """A token family as its client knows it."""

    def __init__(self, client, session, is_offline):
        self.client = client
        self.session = session
        self.is_offline = is_offline
        self.born = time.monotonic()

    def renew(self, said):
        self.access, self.refresh = said["access_token"], said.get("refresh_token")
        self.used = time.monotonic()
        return self

    def is_live(self):
        now = time.monotonic()
        if now - self.used > GRANT_IDLE_SECONDS:
            return False
        return now - self.born < OFFLINE_SECONDS if self.is_offline else self.session.is_live()

    def has_fresh_access(self):
        return self.is_live() and time.monotonic() - self.used < ACCESS_SECONDS


class Pool:
    """Live things, each with one journey at a time."""

    def __init__(self, most):
        self.held = deque(maxlen=most)

    def put(self, thing):
        self.held.append(thing)

    def take(self, newest, is_fit=lambda thing: thing.is_live(), tries=8):
        """Takes one that is fit, of the newest or of the oldest, or nothing."""
        while self.held and not self.held[0].is_live():
            self.held.popleft()
        passed, found = [], None
        for _ in range(min(tries, len(self.held))):
            thing = self.held.pop() if newest else self.held.popleft()
            if is_fit(thing):
                found = thing
                break
            if thing.is_live():
                passed.append(thing)
        for thing in passed:
            (self.held.append if newest else self.held.appendleft)(thing)
        return found
