"""A PostgreSQL of this run alone, with fsync on: it is killed, stopped and started again."""

import glob
import os
import shutil
import signal
import subprocess
import threading
import time

from machine import as_user, children_of, free_port, say, send_signal, unprivileged_user

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = on
synchronous_commit = on
full_page_writes = on
max_connections = 200
max_wal_size = 96MB
min_wal_size = 32MB
checkpoint_timeout = 2min
restart_after_crash = on
"""


def find_programs():
    """Returns the folder of the server's programs: what PATH leads to, else Debian's newest; or nothing."""
    folders = []
    if found := shutil.which("initdb"):
        folders.append(os.path.dirname(os.path.realpath(found)))
    folders += sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    for folder in folders:
        if all(os.access(os.path.join(folder, name), os.X_OK) for name in ("initdb", "postgres", "pg_isready")):
            return folder
    return None


class Postgres:
    def __init__(self, programs, folder):
        self.programs = programs
        self.user = unprivileged_user()
        self.data = os.path.join(folder, "data")
        self.log_path = os.path.join(folder, "postgres.log")
        self.port = free_port()
        self.process = None
        self.lock = threading.RLock()
        if self.user is not None:
            os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        self.log = open(self.log_path, "ab")

    def _program(self, name):
        return os.path.join(self.programs, name)

    def make(self):
        self._run("initdb", "-D", self.data, "-U", "porteiro", "-A", "trust", "--locale=C", "--encoding=UTF8")
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as file:
            file.write(SETTINGS + f"port = {self.port}\n")
        self._run("postgres", "--single", "-D", self.data, "postgres", given="CREATE DATABASE porteiro\n")
        self.start()
        if not self.wait(60):
            raise SystemExit("chaos: PostgreSQL did not start")

    def _run(self, name, *arguments, given=None):
        ran = subprocess.run(
            [self._program(name), *arguments], input=given, check=False, text=True, cwd="/",
            stdout=self.log, stderr=self.log, env=self._variables(), **as_user(self.user),
        )
        if ran.returncode != 0:
            raise SystemExit(f"chaos: {name} failed; its log ends: {self.tail()}")

    @staticmethod
    def _variables():
        return {name: value for name, value in os.environ.items() if not name.startswith("PG")}

    def tail(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()[-1500:]

    def start(self):
        with self.lock:
            if self.is_running():
                return
            self.process = subprocess.Popen(
                [self._program("postgres"), "-D", self.data], cwd="/", stdin=subprocess.DEVNULL,
                stdout=self.log, stderr=self.log, env=self._variables(), **as_user(self.user),
            )

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def is_ready(self):
        asked = subprocess.run(
            [self._program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", "2"],
            check=False, env=self._variables(),
        )
        return asked.returncode == 0

    def wait(self, seconds):
        """Waits until it takes connections, and starts it again where it has ended meanwhile."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.start()
            if self.is_ready():
                return True
            time.sleep(0.2)
        say(f"PostgreSQL is not ready: {self.tail()}")
        return False

    def kill(self):
        """kill -9 of the server with all that it has started."""
        with self.lock:
            if not self.is_running():
                return
            send_signal(children_of(self.process.pid), signal.SIGKILL)
            self.process.wait()

    def kill_backend(self, measure):
        """kill -9 of one process that serves a connection; the server then ends all others and recovers."""
        with self.lock:
            if not self.is_running():
                return None
            serving = [pid for pid in children_of(self.process.pid)[1:] if _serves(pid)]
            if not serving:
                return None
            pid = serving[int(measure * len(serving))]
            send_signal([pid], signal.SIGKILL)
            return pid

    def stop(self):
        with self.lock:
            if self.is_running():
                send_signal(children_of(self.process.pid), signal.SIGSTOP)

    def go_on(self):
        with self.lock:
            if self.is_running():
                send_signal(reversed(children_of(self.process.pid)), signal.SIGCONT)

    def close(self):
        self.go_on()
        self.kill()
        self.log.close()


def _serves(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return "porteiro porteiro 127.0.0.1" in file.read()
    except OSError:
        return False
