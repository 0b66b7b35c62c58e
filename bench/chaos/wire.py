"""Requests of clients: each on a connection of its own, to one of the nodes, noted in the history."""

import base64
import http.client
import json
import socket
import urllib.parse

# No answer of the server takes longer; what has not come by then is unknown.
ANSWER_SECONDS = 12.0

# What a 500 may say: the outcome is not known, in the form of OAuth and of RFC 9457 (docs/runtime-semantics.md).
UNKNOWN_WORDS = ("it is not known whether this was carried out", "outcome_unknown")


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    @property
    def error(self):
        said = self.json()
        if not isinstance(said, dict):
            return None
        return said.get("error") or said.get("code")


def outcome_of(answer):
    if 200 <= answer.status < 400:
        return "ok"
    if answer.status in (429, 503):
        return "busy"
    return "refused" if answer.status < 500 else "unknown"


def basic(client, secret):
    pair = f"{urllib.parse.quote(client)}:{urllib.parse.quote(secret)}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


class Wire:
    """Where the nodes are, seen from clients."""

    def __init__(self, addresses, host, history):
        self.addresses = addresses
        self.host = host
        self.history = history

    def send(self, node, method, path, headers=None, body=None):
        """Returns the answer, or the outcome where there is none."""
        address, port = self.addresses[node]
        connection = http.client.HTTPConnection(address, port, timeout=ANSWER_SECONDS)
        try:
            connection.connect()
        except OSError:
            return "unsent"
        try:
            given = {"Host": self.host, "Connection": "close", **(headers or {})}
            connection.request(method, path, body=body, headers=given)
            held = connection.getresponse()
            return Answer(held.status, {name.lower(): value for name, value in held.getheaders()}, held.read())
        except (OSError, http.client.HTTPException, socket.timeout):
            return "unknown"
        finally:
            connection.close()


class Caller:
    """One worker's requests."""

    def __init__(self, wire, name):
        self.wire = wire
        self.name = name

    def call(self, do, node, method, path, *, headers=None, form=None, data=None, about=None, read=None):
        """Asks, notes question and answer, and returns the outcome and the answer.

        `about` is noted before; `read` makes of an answer what is noted after.
        """
        given = dict(headers or {})
        body = None
        if form is not None:
            given.setdefault("content-type", "application/x-www-form-urlencoded")
            body = urllib.parse.urlencode(form).encode()
        elif data is not None:
            given.setdefault("content-type", "application/json")
            body = json.dumps(data).encode()
        operation = self.wire.history.ask(do, self.name, node, **(about or {}))
        answer = self.wire.send(node, method, path, given, body)
        if isinstance(answer, str):
            operation.done(answer)
            return answer, None
        outcome = outcome_of(answer)
        said = {"status": answer.status}
        if outcome != "ok" and answer.error:
            said["error"] = answer.error
        if answer.status >= 500 and answer.status != 503:
            text = answer.body.decode("utf-8", "replace")
            said["says_unknown"] = any(words in text for words in UNKNOWN_WORDS)
            said["text"] = text[:300]
        if read is not None:
            said |= read(outcome, answer) or {}
        operation.done(outcome, **said)
        return outcome, answer


def claims(token):
    """What a signed token says; the signature is not looked at."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
