"""Judges a history: python3 bench/chaos/checker.py FILE prints what must not be, and ends with 1 where there is any."""

import sys
from collections import Counter

from history import read
from index import Index
from rules import RULES


def judge(lines):
    """Returns the violations of all rules, in the order of the rules."""
    index = Index(lines)
    return [violation for rule in RULES for violation in rule(index)]


def counted(lines):
    """How many operations of each kind there were, by outcome, and how many faults of each kind."""
    index = Index(lines)
    operations = Counter((one.do, one.outcome) for one in index.operations)
    faults = Counter(kind for _, _, kind in index.faults)
    return operations, faults


def main(arguments):
    if len(arguments) != 1:
        print("usage: checker.py FILE", file=sys.stderr)
        return 2
    violations = judge(read(arguments[0]))
    for violation in violations:
        print(violation)
    print(f"{len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
