"""A large store is copied while it is used, put back, moved to PostgreSQL and back, and killed on the way. See bench/long/backups."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, os.pardir, "chaos"))

import load
import population
from machine import free_port
from nodes import Installation, Node, wait_for
from postgres import Postgres, find_programs
from report import Report, megabytes
from scene import provisioning
from stores import Commands, Failed, digest, insist, kinds, size, sqlite_url

# With fewer accounts a move may have ended before it can be killed.
SMALL = 20_000


def arguments():
    given = argparse.ArgumentParser(prog="bench/long/backups", description=__doc__)
    given.add_argument("--accounts", type=int, default=100_000)
    given.add_argument("--keep", metavar="FILE", help="where the report is written")
    return given.parse_args()


class Drill:
    def __init__(self, binary, programs, accounts, folder):
        self.accounts, self.folder, self.programs = accounts, folder, programs
        self.report = Report()
        self.closing = []
        home = self.path("installation")
        os.mkdir(home)
        self.first = self.path("first.db")
        issuer = f"http://localhost:{free_port()}"
        self.installation = Installation(os.path.abspath(binary), home, issuer, sqlite_url(self.first))
        self.commands = Commands(self.installation, self.report)
        self.count = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def close(self):
        for close in reversed(self.closing):
            close()

    def serve(self, store):
        """Starts a node, and returns what clients see of it with what stops it."""
        node = Node(self.installation, self.count, store)
        self.count += 1
        node.start()
        self.closing.append(node.kill)
        insist(wait_for("the server", 120, node.is_ready), f"no server started on {store}")
        site = load.Site(node, self.installation, self.path(f"history-{self.count}.jsonl"), load.draw_seed())

        def stop():
            node.process.terminate()
            code = node.process.wait(120)
            insist(code == 0, f"the server ended with {code}")

        return site, stop

    def fill(self):
        emails = [f"{name}@acme.test" for name in (population.FIRST, load.HOLDER, *load.WORKERS)]
        self.installation.succeed("keys", "generate", "--keys", "keys")
        # Nothing listens there: messages to that client wait in the store.
        self.installation.apply(provisioning(emails, f"http://127.0.0.1:{free_port()}/logout"))
        began = time.monotonic()
        population.apply_accounts(self.installation, self.accounts)
        self.report.note("`porteiro apply` of the accounts", time.monotonic() - began, f"{self.accounts:,} accounts")
        site, stop = self.serve(sqlite_url(self.first))
        load.Holder(site, population.FIRST).begin_to_hold()
        stop()
        began = time.monotonic()
        rows = population.copy_sessions(self.first)
        self.report.note("sessions and token families, copied", time.monotonic() - began, f"{rows:,} rows")
        self.commands.verify("before", sqlite_url(self.first))

    def back_up_under_load(self):
        """Copies the store while clients work; returns the copy, and the person who holds something in it."""
        site, stop = self.serve(sqlite_url(self.first))
        holder = load.hold(site)
        clients = load.Load(site)
        clients.goes_on()
        with load.Window(site.history) as before:
            time.sleep(5)
        copy = self.path("copy.backup")
        with load.Window(site.history) as during:
            self.commands.timed("`porteiro backup` under load", "backup", copy, store=sqlite_url(self.first),
                                of=lambda: f"{megabytes(size(copy))} of {megabytes(size(self.first))}")
        clients.goes_on()
        clients.end()
        self.report.note("clients before it", None, before.told())
        self.report.note("clients during it", None, during.told())
        insist(holder.is_good(), "what is held is good where it was not ended")
        stop()
        return copy, holder

    def restore(self, copy, name):
        """Puts a copy back into a new folder, and compares what ended and what stayed with what was in it."""
        os.mkdir(self.path(name))
        file = self.path(f"{name}/porteiro.db")
        had = kinds(copy)
        out = self.commands.timed(f"`porteiro restore`, {name}", "restore", copy, "--json", store=sqlite_url(file),
                                  of=lambda: megabytes(size(file)))
        ended = json.loads(out)["ended"]
        for kind in ("session", "token_family"):
            insist(ended[kind] == had[kind] >= self.accounts, f"{kind}: {ended[kind]} of {had[kind]} ended")
        has = kinds(file)
        stayed = {kind: count for kind, count in had.items() if kind not in ended}
        insist({kind: has.get(kind) for kind in stayed} == stayed, f"{stayed} became {has}")
        insist(not set(has) & {kind for kind, count in ended.items() if count}, f"not ended: {has}")
        self.commands.verify(name, sqlite_url(file))
        return file

    def look(self, store, holder, is_good, what):
        """Serves a store: what is held is good there or not, and people sign in."""
        site, stop = self.serve(store)
        insist(holder.at(site).is_good() is is_good, f"{what}: what is held is {'not ' if is_good else ''}good")
        load.hold(site)
        stop()

    def move(self, holder):
        """Moves the store to PostgreSQL and back, killed on the way, and as far as to a third database as after a dump."""
        cluster = self.path("postgres")
        os.mkdir(cluster)
        self.postgres = Postgres(self.programs, cluster)
        self.closing.append(self.postgres.close)
        self.postgres.make()
        source, server, back = sqlite_url(self.first), self.database("porteiro"), self.path("back.db")
        was = digest(self.first)
        small = self.accounts < SMALL
        told = self.commands.move("SQLite to PostgreSQL", source, server, self.share_of_rows(was), (0.2, 0.6), small)
        self.same_counts(told, was)
        held = self.ask("SELECT pg_database_size('porteiro')")
        self.report.note("the database of PostgreSQL", None, megabytes(int(held)))
        self.commands.verify("on PostgreSQL", server)
        whole = size(self.first)
        again = self.commands.move("PostgreSQL to SQLite", server, sqlite_url(back), lambda: size(back) / whole, (0.4,), small)
        insist(again == told, f"the program hashed {told}, and then {again}")
        began = time.monotonic()
        insist(digest(back) == was, "the store that came back is another")
        rows = sum(count for count, _ in was.values())
        self.report.note("the first and the last file, compared by this script", time.monotonic() - began, f"{rows:,} rows")
        self.commands.verify("the file that came back", sqlite_url(back))

        # As after a dump (docs/operating.md): what was alive ends in a file, and that is moved to an empty database.
        ended = self.restore(back, "ended")
        self.ask("CREATE DATABASE ended")
        last = self.database("ended")
        self.commands.move("the ended file to PostgreSQL", sqlite_url(ended), last, lambda: 0, (), small)
        self.commands.verify("on PostgreSQL, ended", last)
        self.look(last, holder, False, "after the way by a file")
        self.look(sqlite_url(back), holder, True, "where it was moved back")

    def same_counts(self, told, was):
        for table, (count, _) in was.items():
            if table in told and not table.endswith("_counts"):
                insist(told[table]["rows"] == count, f"{table}: {told[table]['rows']} rows of {count}")

    def database(self, name):
        return f"postgres://porteiro@127.0.0.1:{self.postgres.port}/{name}"

    def ask(self, sql):
        """Asks the server for one value; nothing where it refuses."""
        command = [os.path.join(self.programs, "psql"), self.database("porteiro"), "--no-psqlrc", "-Atqc", sql]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, env=Installation.variables({}))
        return ran.stdout.strip() if ran.returncode == 0 else None

    def share_of_rows(self, was):
        """Which share of the large tables is in the database of PostgreSQL."""
        tables = ("entities", "names", "listings", "security_log")
        whole = sum(was[table][0] for table in tables)
        counts = " + ".join(f"(SELECT count(*) FROM {table})" for table in tables)
        return lambda: int(self.ask(f"SELECT {counts}") or 0) / whole

    def run(self):
        self.fill()
        copy, holder = self.back_up_under_load()
        self.commands.verify("after the load", sqlite_url(self.first))
        restored = self.restore(copy, "restored")
        self.look(sqlite_url(restored), holder, False, "after the restore")
        if self.programs is None:
            self.report.note("skipped: PostgreSQL", None, "it is not installed, and no store was moved")
        else:
            self.move(holder)


def main():
    given = arguments()
    # What runs is ended all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    programs = find_programs()
    if programs is not None and not os.access(os.path.join(programs, "psql"), os.X_OK):
        programs = None
    # Where the server's user may go, be TMPDIR what it is.
    folder = tempfile.mkdtemp(prefix="porteiro-backups.", dir="/tmp" if os.geteuid() == 0 else None)
    os.chmod(folder, 0o755)
    drill = Drill(os.environ["PORTEIRO_BINARY"], programs, given.accounts, folder)
    try:
        drill.run()
    except Failed as error:
        print(f"backups: {error}", file=sys.stderr)
        return 1
    finally:
        drill.close()
        shutil.rmtree(folder, ignore_errors=True)
    text = drill.report.markdown(given.accounts)
    print(text)
    if given.keep:
        with open(given.keep, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
