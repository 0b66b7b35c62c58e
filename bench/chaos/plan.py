"""The plan of faults: drawn from one seed before anything starts, so that the same seed makes the same plan."""

import random
from dataclasses import dataclass

# kind: what it strikes, its share, the shortest and the longest length in seconds.
KINDS = {
    "kill-node": ("node", 5, 0.2, 3.0),
    "stop-node": ("node", 4, 0.5, 8.0),
    "kill-postgres": ("postgres", 3, 0.2, 3.0),
    "stop-postgres": ("postgres", 3, 0.5, 8.0),
    "kill-backend": ("postgres", 4, 0.0, 0.1),
    "full-disk": ("postgres", 2, 1.0, 4.0),
    "frozen-disk": ("postgres", 2, 0.5, 6.0),
    "partition": ("database-link", 3, 0.5, 8.0),
    "database-reset": ("database-link", 4, 0.1, 3.0),
    "database-delay": ("database-link", 3, 0.5, 5.0),
    "database-half-open": ("database-link", 3, 0.5, 8.0),
    "database-mute": ("database-link", 4, 0.5, 6.0),
    "client-reset": ("client-link", 2, 0.1, 3.0),
    "client-delay": ("client-link", 2, 0.5, 4.0),
    "client-half-open": ("client-link", 2, 0.5, 5.0),
    "client-mute": ("client-link", 4, 0.5, 5.0),
    "clock-back": ("clock", 2, 2.0, 10.0),
    "clock-ahead": ("clock", 1, 2.0, 10.0),
}


@dataclass(frozen=True)
class Fault:
    number: int
    at: float
    kind: str
    target: int
    length: float
    measure: float

    def line(self):
        return (f"{self.number:4d}  at {self.at:7.2f} s  {self.kind:<18}  target {self.target}  "
                f"for {self.length:5.2f} s  measure {self.measure:.3f}")


def draw(seed, number, minutes, nodes, left_out=()):
    """Draws so many faults over so many minutes.

    Each kind that is not left out comes at least once, where there are as many faults as kinds. Two faults may
    overlap unless they strike the same thing.
    """
    dice = random.Random(f"plan {seed}")
    kinds = [kind for kind in KINDS if kind not in left_out]
    shares = [KINDS[kind][1] for kind in kinds]
    drawn = dice.sample(kinds, len(kinds))[:number]
    drawn += dice.choices(kinds, shares, k=max(0, number - len(drawn)))
    dice.shuffle(drawn)
    times = sorted(dice.uniform(0.0, minutes * 60.0) for _ in drawn)
    free = {}
    faults = []
    for index, (at, kind) in enumerate(zip(times, drawn)):
        strikes, _, shortest, longest = KINDS[kind]
        target = 0 if strikes == "postgres" else dice.randrange(nodes)
        length = dice.uniform(shortest, longest)
        thing = (strikes, target)
        at = max(at, free.get(thing, 0.0))
        free[thing] = at + length + 0.5
        faults.append(Fault(index, at, kind, target, length, dice.random()))
    return sorted(faults, key=lambda fault: (fault.at, fault.number))
