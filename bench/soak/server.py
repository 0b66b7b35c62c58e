"""The server under load: a release binary under `serve`, in a folder of its own."""

import os
import re
import signal
import subprocess
import time
import urllib.request

import scene
from machine import free_port
from nodes import Installation

SETTINGS = """[lifetimes]
{lifetimes}
[limits]
approval_burst = 1000
approval_per_minute = 1000
"""

SAMPLE = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="([^"]*)"')


class Server:
    def __init__(self, binary, folder, postgres, core):
        self.binary, self.folder, self.core = os.path.abspath(binary), folder, core
        self.database = None if postgres else os.path.join(folder, "porteiro.db")
        self.store = postgres or f"sqlite://{self.database}"
        self.port, self.operator = free_port(), free_port()
        lifetimes = "\n".join(f"{name} = {seconds}" for name, seconds in scene.LIFETIMES.items())
        settings = SETTINGS.format(lifetimes=lifetimes)
        self.installation = Installation(
            self.binary, folder, f"http://localhost:{self.port}", self.store, settings=settings,
        )
        self.process = None

    def prepare(self):
        self.installation.succeed("keys", "generate", "--keys", "keys")
        self.installation.apply(scene.provisioning())

    def start(self):
        self.log = open(os.path.join(self.folder, "server.log"), "ab")
        # As `taskset` would: before the program counts its cores.
        pin = None if self.core is None else lambda: os.sched_setaffinity(0, {self.core})
        variables = {"PORTEIRO_LOG": "warn", "PORTEIRO_OPERATOR__LISTEN": f"127.0.0.1:{self.operator}"}
        self.process = subprocess.Popen(
            [self.binary, "serve", "--config", "porteiro.toml"], cwd=self.folder,
            env=Installation.variables(variables),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=pin,
        )
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise SystemExit(f"soak: the server ended with {self.process.returncode}: {self.last_words()}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.operator}/readyz", timeout=2) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("soak: the server did not start")

    def stop(self):
        """Ends it as an operator does; returns its exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        return self.process.returncode

    def last_words(self):
        with open(os.path.join(self.folder, "server.log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-1500:]

    def panics(self):
        with open(os.path.join(self.folder, "server.log"), encoding="utf-8", errors="replace") as file:
            return sum("panicked at" in line for line in file)

    def metrics(self):
        """What the operator's listener tells: by name, the labels and the value of each sample."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.operator}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        found = {}
        for line in text.splitlines():
            if not line.startswith("#") and (sample := SAMPLE.match(line)):
                labels = dict(LABEL.findall(sample[2] or ""))
                found.setdefault(sample[1], []).append((labels, float(sample[3])))
        return found
