"""The plot: a panel for each figure over the minutes of the run, as SVG written by hand."""

import judge
from judge import MIB

COLUMNS = 2
PANEL = (500, 230)
# From the panel's corner to the plotted field, and how large that is.
FIELD = (64, 44)
SIZE = (400, 140)
MARGIN, HEAD = 16, 40

# Told apart also by those who see few colours, and on paper.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
DASHES = ("", "6 3", "2 2", "8 3 2 3", "", "6 3")


def draw(result):
    panels = list(panels_of(result))
    rows = -(-len(panels) // COLUMNS)
    width, height = PANEL[0] * COLUMNS + 2 * MARGIN, PANEL[1] * rows + 2 * MARGIN + HEAD
    title = (f"{result['minutes']:g} minutes at {result['rate']:.0f} journeys a second, a sample every ten seconds; "
             "grey: warm-up")
    about = "Memory, handles, actors, rows, load and latency of the server over time"
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{about}" font-family="system-ui, -apple-system, \'Segoe UI\', Helvetica, Arial, '
        'sans-serif" font-size="12" fill="#1f2328">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{MARGIN}" y="{MARGIN + 16}" font-size="16" font-weight="600">{title}</text>',
    ]
    for index, (name, series) in enumerate(panels):
        x, y = MARGIN + index % COLUMNS * PANEL[0], MARGIN + HEAD + index // COLUMNS * PANEL[1]
        svg += [f'<g transform="translate({x} {y})">', *panel(name, series, judge.warm_up(result) / 60), "</g>"]
    return "\n".join([*svg, "</svg>"]) + "\n"


def panels_of(result):
    samples = result["samples"]
    of = lambda read: [(sample["at"] / 60, read(sample)) for sample in samples]
    latency = [(sample["at"] / 60, judge.latencies([sample]) or (0, 0)) for sample in samples]
    rate = lambda outcomes: lambda sample: (
        sum(judge.outcomes([sample])[name] for name in outcomes) / sample["seconds"])
    yield "memory, MiB", {"resident": of(lambda sample: sample["resident"] / MIB),
                          "anonymous": of(lambda sample: sample["anonymous"] / MIB)}
    yield "handles and threads", {"handles": of(lambda sample: sample["handles"]),
                                  "connections": of(lambda sample: sample["connections"]),
                                  "threads": of(lambda sample: sample["threads"])}
    actors = largest(samples, lambda sample: sample["actors"], 4)
    yield "actors", {"all": of(lambda sample: sum(sample["actors"].values()))} | {
        kind: of(lambda sample, kind=kind: sample["actors"].get(kind, 0)) for kind in actors}
    kinds = largest(samples, entities, 5)
    yield "rows by kind", {
        kind: of(lambda sample, kind=kind: entities(sample).get(kind, 0)) for kind in kinds}
    rest = largest(samples, lambda sample: {name: count for name, count in entities(sample).items()
                                            if name not in kinds}, 6)
    yield "rows of the smaller kinds", {
        kind: of(lambda sample, kind=kind: entities(sample).get(kind, 0)) for kind in rest}
    yield "rows of other tables; rows overdue", {
        "listings": of(lambda sample: judge.bounded_rows(sample)["listings"]),
        "names": of(lambda sample: sample["rows"]["names"]),
        "outbox": of(lambda sample: sample["rows"]["outbox"]),
        "overdue": of(lambda sample: sample["overdue"])}
    yield "lines of the security log, which grows by design", {
        "lines": of(lambda sample: sample["rows"]["security_log"])}
    yield "database and WAL, MiB", {"database": of(lambda sample: sample["database"] / MIB),
                                    "WAL": of(lambda sample: sample["wal"] / MIB)}
    yield "journeys a second", {"done": of(rate(("done",))), "offered": of(lambda _: result["rate"]),
                                "not done": of(rate(("refused", "busy", "failed")))}
    yield "latency of all journeys, ms", {"p99": [(at, both[1]) for at, both in latency],
                                          "p50": [(at, both[0]) for at, both in latency]}


def entities(sample):
    begin = "entities: "
    return {name[len(begin):]: count for name, count in judge.bounded_rows(sample).items() if name.startswith(begin)}


def largest(samples, read, most):
    """The names whose figures were the largest at the end."""
    found = read(samples[-1])
    return sorted((name for name in found if found[name] > 0), key=lambda name: -found[name])[:most]


def panel(name, series, warm):
    left, upper = FIELD
    right, lower = left + SIZE[0], upper + SIZE[1]
    points = [point for line in series.values() for point in line]
    yield f'<text x="0" y="14" font-weight="600">{name}</text>'
    if not points:
        return
    minutes = max(at for at, _ in points)
    size = step(max(value for _, value in points), 5)
    top = max(1, -(-max(value for _, value in points) // size)) * size
    place = lambda at: left + at / minutes * SIZE[0]
    height = lambda value: lower - value / top * SIZE[1]
    yield (f'<rect x="{left}" y="{upper}" width="{place(min(warm, minutes)) - left:.1f}" height="{SIZE[1]}" '
           'fill="#f0f2f4"/>')
    for number in range(round(top / size) + 1):
        y = height(number * size)
        yield (f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#d1d9e0"/><text x="{left - 6}" '
               f'y="{y + 4:.1f}" text-anchor="end" fill="#59636e">{label(number * size)}</text>')
    across = step(minutes, 6)
    for number in range(int(minutes / across) + 1):
        yield (f'<text x="{place(number * across):.1f}" y="{lower + 16}" text-anchor="middle" '
               f'fill="#59636e">{label(number * across)}</text>')
    yield f'<text x="{(left + right) / 2:.0f}" y="{lower + 32}" text-anchor="middle" fill="#59636e">minutes</text>'
    x = left
    for (title, line), colour, dash in zip(series.items(), COLOURS, DASHES):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        path = " ".join(f"{place(at):.1f},{height(value):.1f}" for at, value in line)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dashed}/>'
        yield (f'<line x1="{x}" y1="{upper - 14}" x2="{x + 18}" y2="{upper - 14}" stroke="{colour}" '
               f'stroke-width="2"{dashed}/><text x="{x + 22}" y="{upper - 10}">{title}</text>')
        x += 36 + 6.2 * len(title)


def step(most, number):
    """One, two or five of a power of ten, so that about so many of them reach `most`."""
    rough = max(most, 1e-9) / number
    power = 1e-12
    while power * 10 <= rough:
        power *= 10
    return next((times * power for times in (1, 2, 5, 10) if times * power >= rough * 0.999), 10 * power)


def label(value):
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
