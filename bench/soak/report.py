"""The report, as Markdown."""

import judge
import scene
from judge import MIB


def line(sample):
    """One sample, for whoever waits."""
    p50, p99 = judge.latencies([sample]) or (0, 0)
    done = judge.outcomes([sample])["done"] / sample["seconds"]
    bad = {name: count for name, count in judge.outcomes([sample]).items() if name != "done" and count}
    return (f"{sample['at'] / 60:5.1f} min: {done:.0f} journeys/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
            f"{sample['resident'] / MIB:.1f} MiB, {sample['handles']} handles, "
            f"{sum(sample['actors'].values())} actors, {sum(judge.bounded_rows(sample).values())} rows, "
            f"{sample['overdue']} overdue, backlog {sample['load']['backlog']}, server "
            f"{sample['server']:.2f} cores {bad or ''} {said(sample)}").rstrip()


def said(sample):
    return "; ".join(list(sample["load"]["said"])[:2])


def text(result, verdicts):
    return "\n".join(lines(result, verdicts)) + "\n"


def lines(result, verdicts):
    about, bears = result["about"], result["bears"]
    failed = [verdict for verdict in verdicts if not verdict.holds]
    total = judge.outcomes(result["samples"])
    yield "# Soak\n"
    yield (f"By `bench/long/soak`, {about['date']}, on {about['cores']} cores ({about['processor']}), load "
           f"{about['load']:.2f} before the run.")
    yield f"{about['version']} at {about['commit']} ({about['build']}), on {about['engine']}; seed {about['seed']}.\n"
    where = ("Server and load ran on whichever core was free." if about["server_core"] is None else
             f"The server ran on core {about['server_core']} alone, the load on the others.")
    yield (f"**{result['minutes']:g} minutes at {result['rate']:.0f} journeys a second, {total['done']:,} journeys "
           f"done, {total['failed']:,} failed, {total['refused'] + total['busy']:,} refused or turned away. "
           f"{len(verdicts)} figures were judged, {len(failed)} did not hold.**\n")
    yield (f"{where} With as many journeys as go at once it did {bears['rate']:.0f} a second, the server with "
           f"{bears['server']:.2f} cores and the load with {bears['generator']:.2f}; the load is "
           f"{100 * result['rate'] / bears['rate']:.0f} % of that, begun at fixed intervals whatever the answers take, "
           "over at most 64 connections. Every twentieth journey closes its connection; others are opened every half "
           "second, on which nothing or half a request ever comes. Every answer was the one that was asked for, or the "
           f"journey counts as refused or failed. There are {about['people']} people in {about['organizations']} "
           "organizations. Limits are on; those of approvals are raised. The machine is shared with other work.\n")
    lifetimes = ", ".join(f"{name} {seconds}" for name, seconds in scene.LIFETIMES.items())
    yield (f"Lifetimes are short, in seconds: {lifetimes}. A row stays for {scene.KEPT_SECONDS} s after its end, so "
           f"none that is bounded is older than {scene.longest_row() / 60:.0f} minutes.\n")
    if judge.is_long_enough(result):
        yield "![Memory, handles, actors, rows, load and latency over time](soak.svg)\n"
    yield from judged(result, verdicts)
    if judge.is_long_enough(result):
        yield from grown(result)
    yield from journeys(result)


def judged(result, verdicts):
    yield "## Judged\n"
    if judge.is_long_enough(result):
        yield (f"A sample was taken every ten seconds. The first {judge.warm_up(result) / 60:.0f} minutes are warm-up; "
               "the rest is four quarters, and the median of the last one is held against that of the second. Rows are "
               "counted without the security log, and without those of clients that deleted themselves (see below).\n")
    yield "| what | measured | wanted | |\n|---|---|---|---|"
    for verdict in verdicts:
        yield f"| {verdict.name} | {verdict.told()} | {verdict.wanted} | {'holds' if verdict.holds else '**FAILED**'} |"


def grown(result):
    found = judge.growth(result)
    row = lambda name, digits: " | ".join(f"{value:.{digits}f}" for value in found[name])
    first, last = result["samples"][0], result["samples"][-1]
    yield "\n## What grows by design\n"
    yield "| what | first quarter | second | third | last |\n|---|---|---|---|---|"
    yield f"| lines of the security log for each journey (kept 400 days) | {row('log', 3)} |"
    yield f"| rows of clients for each that registered and deleted itself (kept two days) | {row('registered', 3)} |"
    yield f"| bytes of the database for each line of the log | {row('database', 0)} |"
    yield (f"\nThe log had {first['rows']['security_log']:,} lines after the first sample and "
           f"{last['rows']['security_log']:,} after the last; the database {first['database'] / MIB:,.0f} MiB and "
           f"{last['database'] / MIB:,.0f} MiB. {last['load']['registered']:,} clients registered and deleted "
           "themselves.")


def journeys(result):
    yield "\n## Journeys\n"
    yield ("Latencies count from the moment at which a journey was due to its last answer, of two quarters where there "
           "are quarters; a journey without a live session signs in first.\n")
    samples = result["samples"]
    long = judge.is_long_enough(result)
    parts = judge.quarters(result) if long else [samples, samples, samples, samples]
    yield "| journey | done | refused | turned away | failed | p50, ms | p99, ms | p50 of the last quarter | p99 |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in judge.names_of(result, lambda sample: sample["load"]["journeys"]):
        only = [{"load": {"journeys": {name: sample["load"]["journeys"].get(name, {"outcomes": {}, "buckets": {}})}}}
                for sample in samples]
        total = judge.outcomes(only)
        cells = [f"{total[outcome]:,}" for outcome in ("done", "refused", "busy", "failed")]
        for part in (parts[1], parts[3]):
            found = judge.latencies(part, name)
            cells += [f"{value:.1f}" for value in found] if found else ["–", "–"]
        yield f"| {name} | {' | '.join(cells)} |"
    complaints = {}
    for sample in samples:
        for text, times in sample["load"]["said"].items():
            complaints[text] = complaints.get(text, 0) + times
    for text, times in sorted(complaints.items(), key=lambda pair: -pair[1])[:20]:
        yield f"\n`{text.replace('`', '')}`: {times} times"
