"""Planted bugs: bench/chaos/bugs/*.bug, each a known mistake that chaos must find.

    python3 bench/chaos/bugs.py list                 their names
    python3 bench/chaos/bugs.py plant NAME TREE      plants one in a copy of the tree
    python3 bench/chaos/bugs.py show NAME FIELD      a line of its head
    python3 bench/chaos/bugs.py found NAME SEED RESULT   what a run has found of it, as JSON

A bug is a text file:

    why: a spent refresh token is accepted again
    finds: accepted_twice revoked_alive
    only: kill-node stop-node
    file: src/domain/token_family/mod.rs
    <<<<
    the old text, which occurs exactly once in the file
    ====
    the new text
    >>>>

`finds` names rules of the checker, of which one must show it; `only`, where it is given, the kinds of faults to run
with; there may be several files with a block each.
"""

import glob
import json
import os
import re
import sys

BLOCK = re.compile(r"^file: (\S+)\n<<<<\n(.*?)\n====\n(.*?)\n?>>>>$", re.M | re.S)


class Bug:
    def __init__(self, path):
        self.name = os.path.basename(path).removesuffix(".bug")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.head = dict(re.findall(r"^(\w+): (.*)$", text.split("<<<<", 1)[0], re.M))
        self.blocks = BLOCK.findall(text)
        self.finds = self.head.get("finds", "").split()

    def faults(self, root):
        """Why it cannot be planted."""
        if not self.head.get("why") or not self.finds or not self.blocks:
            yield f"{self.name} lacks why, finds or a block"
        for file, old, new in self.blocks:
            path = os.path.join(root, file)
            times = read(path).count(old) if os.path.exists(path) else 0
            if times != 1:
                yield f"the old text of {self.name} occurs {times} times in {file}"
            if old == new:
                yield f"{self.name} changes nothing in {file}"

    def found(self, seed, path):
        """What the result of a run says of it: the rules that name it, of those that were violated."""
        violations = []
        if os.path.exists(path):
            violations = json.loads(read(path))["violations"]
        rules = sorted({one["rule"] for one in violations} & set(self.finds))
        return {"name": self.name, "why": self.head["why"], "found": rules, "seed": seed, "tries": seed}

    def plant(self, root):
        said = list(self.faults(root))
        if said:
            raise SystemExit("\n".join(said))
        for file, old, new in self.blocks:
            path = os.path.join(root, file)
            text = read(path).replace(old, new)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def all_of(root):
    return [Bug(path) for path in sorted(glob.glob(os.path.join(root, "bench", "chaos", "bugs", "*.bug")))]


def main(arguments):
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    known = {bug.name: bug for bug in all_of(root)}
    match arguments:
        case ["list"]:
            print("\n".join(known))
        case ["plant", name, tree] if name in known:
            known[name].plant(tree)
        case ["show", name, field] if name in known:
            print(known[name].head.get(field, ""))
        case ["found", name, seed, path] if name in known:
            print(json.dumps(known[name].found(int(seed), path)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
