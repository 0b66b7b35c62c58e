"""A large store: accounts, memberships and lines of the log by the program itself, sessions and token families as copies.

The chain of the security log holds, since no line of it is written by hand. Each account has the rows of a session and of
a token family of one person who signed in by HTTP, under ids of its own. No request can use them: nobody knows their
secrets.
"""

import json
import secrets
import sqlite3
import string

from scene import person

FIRST = "first"
# Accounts in one file of `apply`, which is one commit.
BATCH = 5_000
ALPHABET = string.ascii_letters + string.digits


def address(number):
    return f"member-{number:07}@acme.test"


def apply_accounts(installation, accounts):
    """Has the program make accounts with memberships."""
    for first in range(0, accounts, BATCH):
        numbers = range(first, min(accounts, first + BATCH))
        # Without a password: to hash it for each would take most of the time.
        installation.apply("".join(without_password(person(address(number))) for number in numbers))


def without_password(text):
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("password"))


def copy_sessions(file):
    """Gives each account the session and the token family of the first; returns how many rows that are."""
    database = sqlite3.connect(file, isolation_level=None)
    try:
        database.execute("PRAGMA synchronous = off")
        template = Template(database)
        database.execute("BEGIN")
        rows = sum(template.write(database, account, membership) for account, membership in others(database, template))
        database.execute("COMMIT")
        return rows
    finally:
        database.close()


def others(database, template):
    """The accounts that were made by `apply_accounts`, each with its membership."""
    found = [
        (state["account"], state["id"])
        for (text,) in database.execute("SELECT state FROM entities WHERE kind = 'membership'")
        if (state := json.loads(text)["Known"])["account"] != template.account
    ]
    mine = {account for (account,) in database.execute("SELECT id FROM names WHERE name LIKE 'member-%@acme.test'")}
    return [(account, membership) for account, membership in found if account in mine]


class Template:
    """The rows of the first person's session and token family."""

    def __init__(self, database):
        by_address = "SELECT id FROM names WHERE space = 'email_addresses' AND name = ?"
        (self.account,) = database.execute(by_address, (f"{FIRST}@acme.test",)).fetchone()
        memberships = "SELECT id FROM entities WHERE kind = 'membership' AND instr(state, ?)"
        (self.membership,) = database.execute(memberships, (self.account,)).fetchone()
        mine = "SELECT kind, id FROM entities WHERE kind IN ('session', 'token_family') AND instr(state, ?) ORDER BY kind"
        self.copied = database.execute(mine, (self.account,)).fetchall()
        if [kind for kind, _ in self.copied] != ["session", "token_family"]:
            raise SystemExit(f"backups: the first person has {self.copied}")
        self.tables = [
            (table, database.execute(f"SELECT * FROM {table} WHERE kind = ? AND id = ?", one).fetchall())
            for table in ("entities", "names", "listings") for one in self.copied
        ]

    def write(self, database, account, membership):
        """Writes the rows anew for another account."""
        places = {self.account: account, self.membership: membership}
        places |= {id: "".join(secrets.choice(ALPHABET) for _ in id) for _, id in self.copied}
        count = 0
        for table, rows in self.tables:
            for row in rows:
                values = [replaced(value, places) for value in row]
                database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
                count += 1
        return count


def replaced(value, places):
    if isinstance(value, str):
        for old, new in places.items():
            value = value.replace(old, new)
    return value
