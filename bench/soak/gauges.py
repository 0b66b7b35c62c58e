"""What is read of the server every ten seconds, from outside of it."""

import os
import sqlite3
import subprocess
import time

TABLES = ("names", "listings", "outbox", "list_counts", "outbox_counts", "log_lanes", "log_retention")

# The security log is not counted, which would read all of it: its lanes are numbered without gaps.
QUERY = " UNION ALL ".join([
    "SELECT 'entities', kind, COUNT(*) FROM entities GROUP BY kind",
    *(f"SELECT '{table}', '', COUNT(*) FROM {table}" for table in TABLES),
    "SELECT 'security_log', '', CAST(COALESCE(SUM(seq), 0) AS BIGINT) FROM log_lanes",
    "SELECT 'trimmed', '', CAST(COALESCE(SUM(seq), 0) AS BIGINT) FROM log_retention",
    "SELECT 'overdue', '', COUNT(*) FROM entities WHERE forget_at <= {now}",
])

TICKS = os.sysconf("SC_CLK_TCK")


class Gauges:
    def __init__(self, server, postgres):
        self.server, self.postgres = server, postgres
        self.mails = 0

    def read(self):
        """Looks; a look that fails is tried again, so that no single one costs the hour."""
        for _ in range(4):
            try:
                return self.look()
            except (OSError, KeyError, sqlite3.Error, subprocess.CalledProcessError) as error:
                if self.server.process.poll() is not None:
                    break
                reason = error
                time.sleep(1)
        else:
            raise SystemExit(f"soak: the server could not be looked at: {reason}")
        raise SystemExit(f"soak: the server ended with {self.server.process.returncode}: {self.server.last_words()}")

    def look(self):
        return {"at": time.monotonic()} | self.process() | self.actors() | self.store() | self.letters()

    def process(self):
        folder = f"/proc/{self.server.process.pid}"
        with open(f"{folder}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.split(":", 1) for line in file if ":" in line)
        with open(f"{folder}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        kilobytes = lambda name: int(status[name].split()[0]) * 1024
        return {
            "resident": kilobytes("VmRSS"), "anonymous": kilobytes("RssAnon"), "threads": int(status["Threads"]),
            "handles": len(os.listdir(f"{folder}/fd")), "cpu": (int(fields[11]) + int(fields[12])) / TICKS,
        }

    def actors(self):
        found = self.server.metrics()
        total = lambda name: sum(value for _, value in found.get(name, []))
        return {
            "actors": {labels["kind"]: int(value) for labels, value in found["porteiro_entities_awake"]},
            "connections": total("porteiro_connections_open"),
            "waiting": total("porteiro_outbox_waiting"),
            "faults": {name: total(f"porteiro_{name}_total")
                       for name in ("restarts", "entity_failures", "unknown_outcomes", "committer_panics", "asks_shed")}
            | {"quarantined": total("porteiro_entities_quarantined")},
        }

    def store(self):
        began = time.monotonic()
        rows = {}
        for table, kind, count in self.ask(QUERY.format(now=int(time.time() * 1000))):
            rows[f"{table}: {kind}" if kind else table] = int(count)
        # No kind has a row in the beginning.
        rows["security_log"] -= rows.pop("trimmed")
        overdue = rows.pop("overdue")
        return {"rows": rows, "overdue": overdue, **self.sizes(), "reading": time.monotonic() - began}

    def ask(self, query):
        if self.postgres:
            ran = subprocess.run(["psql", "-X", "-A", "-t", "-F", "|", "-c", query, self.postgres], check=True,
                                 capture_output=True, text=True)
            return [line.split("|") for line in ran.stdout.splitlines()]
        # A connection for each look, one statement long: a reader that stays would hold the WAL.
        database = sqlite3.connect(f"file:{self.server.database}?mode=ro", uri=True, timeout=5, isolation_level=None)
        try:
            return database.execute(query).fetchall()
        finally:
            database.close()

    def sizes(self):
        if self.postgres:
            [[size]] = self.ask("SELECT pg_database_size(current_database())")
            return {"database": int(size), "wal": 0}
        wal = f"{self.server.database}-wal"
        return {"database": os.path.getsize(self.server.database),
                "wal": os.path.getsize(wal) if os.path.exists(wal) else 0}

    def letters(self):
        """Mails are written to a folder, which is emptied here."""
        for name in os.listdir(self.server.installation.mails):
            if name.endswith(".eml"):
                os.unlink(os.path.join(self.server.installation.mails, name))
                self.mails += 1
        return {"mails": self.mails}
