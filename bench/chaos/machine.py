"""What this machine allows: namespaces, file systems, a clock of one's own; and what runs here of ours."""

import os
import pwd
import shutil
import socket
import subprocess
import sys


def say(text):
    print(f"chaos: {text}", file=sys.stderr, flush=True)


def free_port(host="127.0.0.1"):
    with socket.socket() as held:
        held.bind((host, 0))
        return held.getsockname()[1]


def unprivileged_user():
    """PostgreSQL refuses to run as root: the user that it runs as, or nothing where we are not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise SystemExit("chaos: there is no unprivileged user")


def as_user(user):
    """Arguments of Popen by which a process runs as this user, away from the signals of a terminal."""
    given = {"start_new_session": True}
    if user is not None:
        given |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return given


def children_of(pid):
    """The processes that descend from one, itself first."""
    parents = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parents[int(name)] = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def send_signal(pids, number):
    """Sends a signal to processes of ours; one that has ended meanwhile is passed over."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def bring_up_loopback():
    """A new network namespace begins with its loopback interface down."""
    return subprocess.run(["ip", "link", "set", "lo", "up"], check=False, capture_output=True).returncode == 0


class Routes:
    """Partitions: packets to the address of a node's database are lost, in a network namespace of this run.

    Each such address is one of the loopback interface. For a partition it is taken away, and a route leads to it by a pair
    of interfaces at whose other end no address is: what is sent there is dropped, and connections stay open.
    """

    def __init__(self, is_own):
        self.why_not = None
        if not is_own:
            self.why_not = "no network namespace could be made"
        elif shutil.which("ip") is None:
            self.why_not = "there is no ip command"
        elif not (self._make_hole() and self._works()):
            self.why_not = "no route that loses packets can be made"

    @staticmethod
    def _ip(*words):
        return subprocess.run(["ip", *words], check=False, capture_output=True).returncode == 0

    def _make_hole(self):
        made = self._ip("link", "add", "hole", "type", "veth", "peer", "name", "hole-end")
        return made and all(self._ip("link", "set", end, "up", "arp", "off") for end in ("hole", "hole-end"))

    def _works(self):
        address = "10.99.9.9"
        if not self._ip("addr", "add", f"{address}/32", "dev", "lo"):
            return False
        with socket.create_server((address, 0)) as server:
            before = self._reaches(server.getsockname())
            during = self.cut(address) and self._reaches(server.getsockname())
            after = self.mend(address) and self._reaches(server.getsockname())
        return before and not during and after

    @staticmethod
    def _reaches(address):
        try:
            socket.create_connection(address, timeout=0.5).close()
            return True
        except OSError:
            return False

    def address(self, index):
        """The address at which a node finds its database."""
        if self.why_not is not None:
            return f"127.0.1.{index + 1}"
        address = f"10.99.0.{index + 1}"
        if not self._ip("addr", "add", f"{address}/32", "dev", "lo"):
            raise SystemExit(f"chaos: the address {address} could not be added")
        return address

    def cut(self, address):
        taken = self._ip("addr", "del", f"{address}/32", "dev", "lo")
        return taken and self._ip("route", "add", f"{address}/32", "dev", "hole")

    def mend(self, address):
        removed = self._ip("route", "del", f"{address}/32", "dev", "hole")
        return self._ip("addr", "add", f"{address}/32", "dev", "lo") and removed


class Disk:
    """A small file system for the database, which can be filled and frozen."""

    MEGABYTES = 400

    def __init__(self, folder, may_mount):
        self.path = os.path.join(folder, "disk")
        self.image = os.path.join(folder, "disk.image")
        self.why_not_full = self.why_not_frozen = None
        self.kind = "a folder"
        os.mkdir(self.path)
        if not may_mount:
            self.why_not_full = self.why_not_frozen = "no mount namespace could be made"
        elif self._mount_image():
            self.kind = "ext4 on a loop device"
            if shutil.which("fsfreeze") is None:
                self.why_not_frozen = "there is no fsfreeze"
        elif self._run(["mount", "-t", "tmpfs", "-o", f"size={self.MEGABYTES}m", "none", self.path]):
            self.kind = "tmpfs"
            self.why_not_frozen = "no loop device with ext4 could be mounted, and tmpfs cannot be frozen"
        else:
            self.why_not_full = self.why_not_frozen = "no file system could be mounted"
        self.is_frozen = False

    @staticmethod
    def _run(command):
        try:
            return subprocess.run(command, check=False, capture_output=True).returncode == 0
        except FileNotFoundError:
            return False

    def _mount_image(self):
        with open(self.image, "wb") as file:
            file.truncate(self.MEGABYTES * 1024 * 1024)
        # The space of root is 0: what root fills must be all that there is.
        return self._run(["mkfs.ext4", "-q", "-m", "0", self.image]) and self._run(
            ["mount", "-o", "loop", self.image, self.path]
        )

    @property
    def filler(self):
        return os.path.join(self.path, "filler")

    def fill(self):
        """Leaves no room; returns how many bytes that took."""
        return self._fill("wb")

    def fill_more(self):
        """Takes the room that there is again."""
        return self._fill("ab")

    def _fill(self, how):
        size = 0
        with open(self.filler, how, buffering=0) as file:
            for piece in (1 << 20, 1 << 12):
                try:
                    while True:
                        size += file.write(b"\0" * piece)
                except OSError:
                    continue
        return size

    def empty(self):
        if os.path.exists(self.filler):
            os.remove(self.filler)

    def freeze(self):
        self.is_frozen = self._run(["fsfreeze", "-f", self.path])
        return self.is_frozen

    def thaw(self):
        if self.is_frozen:
            self._run(["fsfreeze", "-u", self.path])
            self.is_frozen = False

    def close(self):
        self.thaw()
        if self.kind != "a folder":
            self._run(["umount", "-l", self.path])


class Clocks:
    """A clock for each node that can be set: a library that a node loads first, built where there is a C compiler."""

    def __init__(self, folder, source):
        self.folder = folder
        self.library = os.path.join(folder, "clock.so")
        self.why_not = None
        compiler = shutil.which("cc")
        if compiler is None:
            self.why_not = "there is no C compiler for the library that moves a clock"
            return
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", self.library, source, "-ldl"]
        built = subprocess.run(command, check=False, capture_output=True, text=True)
        if built.returncode != 0:
            self.why_not = "the library that moves a clock could not be built"
        elif not self._works():
            self.why_not = "the library that moves a clock moves none"

    def _file(self, node):
        return os.path.join(self.folder, f"clock-{node}")

    def _works(self):
        """Whether a program that is linked as ours sees another time."""
        self.set("try", -86400.0)
        variables = os.environ | self.variables("try")
        seen = subprocess.run(
            [sys.executable, "-c", "import time; print(time.time())"],
            check=False, capture_output=True, text=True, env=variables,
        )
        real = subprocess.run(
            [sys.executable, "-c", "import time; print(time.time())"], check=False, capture_output=True, text=True,
        )
        try:
            return float(real.stdout) - float(seen.stdout) > 80000
        except ValueError:
            return False

    def variables(self, node):
        if self.why_not is not None:
            return {}
        if not os.path.exists(self._file(node)):
            self.set(node, 0.0)
        return {"LD_PRELOAD": self.library, "CHAOS_CLOCK": self._file(node)}

    def set(self, node, seconds):
        """Moves the clock of a node by so many seconds from the real one."""
        millis = int(seconds * 1000)
        path = self._file(node)
        # In place: the node has the file mapped.
        flags = os.O_RDWR | os.O_CREAT
        held = os.open(path, flags, 0o644)
        try:
            os.pwrite(held, millis.to_bytes(8, sys.byteorder, signed=True), 0)
        finally:
            os.close(held)
