"""Nodes of one installation: `porteiro serve` on one database and one keys folder, started again when they end."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.request

from machine import free_port, say, send_signal

CONFIGURATION = """issuer = "{issuer}"
listen = "127.0.0.1:{port}"
[store]
url = "{store}"
[keys]
dir = "keys"
[operator]
listen = "127.0.0.1:{operator}"
[mail]
transport = "file://{mails}"
from = "Porteiro <id@example.com>"
{settings}"""

# For clients on this machine, as many as there may be.
OPEN = """[outbound]
allow_private_networks = true
[limits]
enabled = false
"""

# So long a node may take from its start to its first answer while nothing is wrong.
START_SECONDS = 60.0

# A drain takes 28 seconds at most (docs/operating.md, "Starting and stopping"); the rest is for a busy machine.
DRAIN_SECONDS = 45.0


class Node:
    """One process, or the place of one that was killed."""

    def __init__(self, installation, index, store):
        self.installation = installation
        self.binary = installation.binary
        self.index = index
        self.store = store
        self.port, self.operator = free_port(), free_port()
        self.process = None
        self.is_wanted = False
        self.was_killed = False
        self.is_stopped = False
        self.has_served = False
        self.last_code = None
        self.lock = threading.RLock()
        self.log_path = os.path.join(installation.folder, f"node-{index}.log")
        self.log = open(self.log_path, "ab")

    def start(self):
        with self.lock:
            self.is_wanted = True
            if self.is_running():
                return
            self.was_killed = self.has_served = False
            self.last_code = None
            variables = {
                "PORTEIRO_LISTEN": f"127.0.0.1:{self.port}",
                "PORTEIRO_OPERATOR__LISTEN": f"127.0.0.1:{self.operator}",
                "PORTEIRO_STORE__URL": self.store,
                **self.installation.clock_of(self.index),
            }
            self.process = subprocess.Popen(
                [self.binary, "serve", "--config", "porteiro.toml"],
                cwd=self.installation.folder, env=self.installation.variables(variables),
                stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True,
            )

    def start_again(self):
        """Starts it unless it was ended meanwhile by somebody who starts it when they want it."""
        with self.lock:
            if self.is_wanted:
                self.start()

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        with self.lock:
            self.is_wanted = False
            self.was_killed = True
            if self.is_running():
                send_signal([self.process.pid], signal.SIGKILL)
                self.process.wait()

    def drain(self):
        """Ends it as an operator does, and returns its exit code; nothing where it did not end in time."""
        with self.lock:
            self.is_wanted = False
            process = self.process
            if not self.is_running():
                return self.last_code if process is None else process.returncode
            send_signal([process.pid], signal.SIGTERM)
        try:
            return process.wait(DRAIN_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def stop(self):
        with self.lock:
            if self.is_running():
                send_signal([self.process.pid], signal.SIGSTOP)
                self.is_stopped = True

    def go_on(self):
        with self.lock:
            if self.is_stopped and self.is_running():
                send_signal([self.process.pid], signal.SIGCONT)
            self.is_stopped = False

    def look(self):
        """Notes whether the process has begun to listen."""
        if not self.has_served and self.is_running():
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=0.1).close()
                self.has_served = True
            except OSError:
                pass

    def is_ready(self):
        """Whether it says of itself that it can serve."""
        try:
            url = f"http://127.0.0.1:{self.operator}/readyz"
            with urllib.request.urlopen(url, timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def ended_by_itself(self):
        """Returns the exit code of a process that no fault has ended, once; it may be started again then."""
        with self.lock:
            if self.process is None or not self.is_wanted or self.was_killed or self.process.poll() is None:
                return None
            code, self.process = self.process.returncode, None
            self.last_code = code
            return code

    def said_since(self, offset):
        """What its log says from a place in it on."""
        with open(self.log_path, "rb") as file:
            file.seek(offset)
            return file.read().decode("utf-8", "replace")

    def panics(self):
        """The lines of its log that tell of a panic."""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return [line.strip()[:400] for line in file if "panicked at" in line or '"panic' in line]


class Installation:
    """A folder with keys and a configuration, and what the command line does with them."""

    def __init__(self, binary, folder, issuer, store, clocks=None, settings=OPEN):
        self.binary = binary
        self.folder = folder
        self.issuer = issuer
        self.store = store
        self.clocks = clocks
        self.mails = os.path.join(folder, "mails")
        os.makedirs(self.mails, exist_ok=True)
        port = issuer.rsplit(":", 1)[1]
        text = CONFIGURATION.format(
            issuer=issuer, port=port, store=store, operator=free_port(), mails=self.mails, settings=settings,
        )
        with open(os.path.join(folder, "porteiro.toml"), "w", encoding="utf-8") as file:
            file.write(text)

    def clock_of(self, index):
        return {} if self.clocks is None else self.clocks.variables(index)

    @staticmethod
    def variables(more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PORTEIRO_", "PG"))}
        return kept | {"PORTEIRO_LOG": "info"} | more

    def run(self, *arguments, seconds=60, binary=None):
        """Runs a command and returns its exit code, or nothing where it did not end in time, and what it printed."""
        command = [binary or self.binary, *arguments, "--config", "porteiro.toml"]
        if arguments[:2] == ("keys", "generate"):
            command = [self.binary, *arguments]
        try:
            ran = subprocess.run(
                command, cwd=self.folder, env=self.variables({}), stdin=subprocess.DEVNULL,
                check=False, capture_output=True, text=True, timeout=seconds, start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            return None, "", "it did not end in time"
        return ran.returncode, ran.stdout, ran.stderr

    def succeed(self, *arguments):
        code, out, err = self.run(*arguments, seconds=180)
        if code != 0:
            raise SystemExit(f"porteiro {' '.join(arguments)} ended with {code}: {err[-1500:]}")
        return out

    def json(self, *arguments):
        return json.loads(self.succeed(*arguments, "--json"))

    def apply(self, text):
        with open(os.path.join(self.folder, "file.toml"), "w", encoding="utf-8") as file:
            file.write(text)
        return self.succeed("apply", "file.toml")


class Keeper:
    """Starts nodes again that have ended, and notes those that no fault has ended."""

    def __init__(self, nodes, history):
        self.nodes = nodes
        self.history = history
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def start(self):
        self.thread.start()

    def _keep(self):
        while not self.is_over.wait(0.2):
            for node in self.nodes:
                node.look()
                code = node.ended_by_itself()
                if code is None:
                    continue
                self.history.fact("node_ended", node=node.index, code=code, served=node.has_served)
                # A node that cannot reach its database says so and does not start.
                if not self.is_over.wait(0.5):
                    node.start_again()

    def stop(self):
        self.is_over.set()
        self.thread.join(5)


def wait_for(what, seconds, is_so, pause=0.1):
    """Waits until something is so; returns whether it was in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if is_so():
            return True
        time.sleep(pause)
    say(f"{what} did not come about in {seconds:.0f} s")
    return False
