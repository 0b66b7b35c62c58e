"""What was measured, line by line."""

import platform
import sys


class Report:
    def __init__(self):
        self.lines = []

    def note(self, what, seconds, told):
        took = "" if seconds is None else f"{seconds:.1f} s"
        self.lines.append((what, took, told))
        print(f"{what}: {', '.join(filter(None, (took, told)))}", file=sys.stderr, flush=True)

    def markdown(self, accounts):
        head = (
            f"# Backups and moves of a store with {accounts:,} accounts\n\nWritten by `bench/long/backups`; "
            f"{platform.system()} {platform.machine()}, shared with whatever else runs there.\n\n"
            "| what | took | and |\n|---|---|---|\n"
        )
        return head + "".join(f"| {what} | {took} | {told} |\n" for what, took, told in self.lines)


def megabytes(count):
    return f"{count / 1e6:.1f} MB"
