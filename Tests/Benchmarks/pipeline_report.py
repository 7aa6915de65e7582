"""The lines and tables of Tests/Benchmarks/pipeline."""

import os
import statistics

SIDES = ["countersign", "equal peer", "naive peer"]
# What the goals are: times a peer's purchases a second, by connections; microseconds of a purchase; milliseconds of a lone one.
THROUGHPUT_GOALS = {("equal peer", 64): 4, ("naive peer", 64): 2, ("naive peer", 8): 1}
COST_GOALS, P99_CONNECTIONS, LONE_MS = {64: 700, 8: 1400}, 8, 7
# The rows of the table of processor time; several processes of a kind are one.
PARTS = {
    "receipt-intake": ["receipt-intake"], "verification-workers": ["verification-worker-1", "verification-worker-2"],
    "fulfillment": ["fulfillment"], "notification": ["notification"], "simulator": ["simulator"],
    "webhook receiver": ["webhook-receiver"], "broker, ZooKeeper": ["broker", "zookeeper"], "the peer": ["peer"],
    "PostgreSQL": ["postgres"], "load generator": ["load"]}
COUNTERS = {
    "commits": "xact_commit", "statements": "statements", "rows scanned": "tup_returned", "rows inserted": "tup_inserted",
    "rows updated": "tup_updated", "WAL, bytes": "wal_bytes"}


def part(run, names):
    """Microseconds of a purchase; nothing where the side has no such process."""
    there = [run["processor_us"][name] for name in names if name in run["processor_us"]]
    return sum(there) if there else None


def processor(run):
    return "  ".join(f"{name} {value:.0f}" for name, names in PARTS.items() if (value := part(run, names)) is not None)


def said(load):
    return f"{load[1]} connections" if load[0] == "connections" else f"{load[1]} a second"


def line(run):
    """One run, when it has ended."""
    early = f", {run['seconds']:.1f} s: there were no more purchases" if run["ran_out"] else ""
    counters = "  ".join(f"{name} {run['counters'][key]:,.1f}" for name, key in COUNTERS.items() if key in run["counters"])
    return (f"{run['side']}, {said(run['load'])}: {run['rate']:,.1f}/s ({run['whole_rate']:,.0f} with webhooks), p50 {run['p50_ms']:.1f} "
            f"ms, p99 {run['p99_ms']:.1f} ms, p99.9 {run['p999_ms']:.1f} ms, {run['posted']:,} posted, {run['failures']} failures{early}\n"
            f"    us a purchase: {processor(run)}\n    a purchase: {counters}")


class Medians:
    """Of the rounds."""

    def __init__(self, runs):
        self.runs = runs

    def of(self, side, load, value):
        """Nothing where the side has no such run, or no such value."""
        values = [value(run) for run in self.runs if (run["side"], run["load"]) == (side, load)]
        return statistics.median(values) if values and None not in values else None

    def ratio(self, peer, load, value):
        """Of Countersign's to the peer's, the median of the rounds' own ratios: both of a round met the same machine."""
        by_round = {}
        for run in self.runs:
            if run["load"] == load:
                by_round.setdefault(run["round"], {})[run["side"]] = value(run)
        ratios = [found["countersign"] / found[peer] for found in by_round.values() if "countersign" in found and found.get(peer)]
        return (statistics.median(ratios), min(ratios), max(ratios)) if ratios else None


def cell(value, digits=0):
    return "" if value is None else f"{value:,.{digits}f}"


def rates(medians, sides, loads):
    yield "| | load | purchases/s | until the last webhook | p50 | p99 | p99.9 | failures |\n|---|---|---|---|---|---|---|---|"
    for load in loads:
        for side in sides:
            failures = sum(run["failures"] for run in medians.runs if (run["side"], run["load"]) == (side, load))
            rate, whole, *quantiles = (medians.of(side, load, lambda run, key=key: run[key])
                                       for key in ("rate", "whole_rate", "p50_ms", "p99_ms", "p999_ms"))
            times = " | ".join(f"{cell(one, 1)} ms" for one in quantiles)
            yield f"| {side} | {said(load)} | {cell(rate)} | {cell(whole)} | {times} | {failures} |"


def costs(medians, sides, loads):
    columns = [(side, load) for side in sides for load in loads]
    yield "| a purchase | " + " | ".join(f"{side}, {said(load)}" for side, load in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"

    def row(name, value, digits):
        found = [medians.of(side, load, value) for side, load in columns]
        return [f"| {name} | " + " | ".join(cell(one, digits) for one in found) + " |"] if any(
            one is not None for one in found) else []

    for name, names in PARTS.items():
        yield from row(f"{name}, us", lambda run, names=names: part(run, names), 0)
    yield from row("all, us", lambda run: sum(run["processor_us"].values()), 0)
    for name, key in COUNTERS.items():
        yield from row(name, lambda run, key=key: run["counters"].get(key), 1)


def threads(medians, loads):
    """Where Countersign's processor time goes, by what the threads are for; what is below a microsecond is left out."""
    yield "| countersign, us a purchase | threads | " + " | ".join(map(said, loads)) + " |"
    yield "|---" * (len(loads) + 2) + "|"
    runs = [run for run in medians.runs if run["side"] == "countersign"]
    kinds = sorted({kind for run in runs for _, kind in run["thread_us"]})
    for part_name, names in PARTS.items():
        for kind in kinds:
            values = [medians.of("countersign", load, lambda run: sum(
                run["thread_us"].get((name, kind), 0.0) for name in names)) for load in loads]
            if any(value and value >= 1 for value in values):
                yield f"| {part_name} | {kind} | " + " | ".join(cell(value) for value in values) + " |"


def accident_table(accidents):
    yield "| | accident | posted | lost | doubled | unanswered | longest time without an answer | last webhook after the load |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in accidents:
        webhook = "" if row["last_webhook"] is None else f"{row['last_webhook']:.1f} s"
        yield f"| {row['side']} | {row['accident']} | {row['posted']:,} | {row['lost']} | {row['doubled']:g} | {row['unanswered']} | " \
              f"{row['gap']:.1f} s | {webhook} |"


def goals(medians):
    """What was aimed at, and whether it is reached."""
    for (peer, count), goal in THROUGHPUT_GOALS.items():
        ratio = medians.ratio(peer, ("connections", count), lambda run: run["rate"])
        if ratio:
            yield f"{count} connections: {ratio[0]:.2f} times the {peer}'s ({ratio[1]:.2f} to {ratio[2]:.2f}); " \
                  f"the goal is {goal}: {verdict(ratio[0] >= goal)}"
    ratio = medians.ratio("naive peer", ("connections", P99_CONNECTIONS), lambda run: run["p99_ms"])
    if ratio:
        yield f"{P99_CONNECTIONS} connections, p99: {ratio[0]:.2f} of the naive peer's ({ratio[1]:.2f} to {ratio[2]:.2f}); " \
              f"the goal is below 1: {verdict(ratio[0] < 1)}"
    for count, goal in COST_GOALS.items():
        cost = medians.of("countersign", ("connections", count), lambda run: sum(run["processor_us"].values()))
        if cost is not None:
            yield f"{count} connections: {cost:,.0f} us a purchase; the goal is {goal}: {verdict(cost <= goal)}"
    lone = medians.of("countersign", ("connections", 1), lambda run: run["p50_ms"])
    if lone is not None:
        yield f"a lone purchase: {lone:.1f} ms; the goal is {LONE_MS} ms: {verdict(lone <= LONE_MS)}"


def verdict(is_reached):
    return "reached" if is_reached else "not reached"


def tables(runs, accidents, arguments):
    """Everything at the end."""
    medians, sides = Medians(runs), [side for side in SIDES if any(run["side"] == side for run in runs)]
    loads = sorted({run["load"] for run in runs})
    lines = ["", *rates(medians, sides, loads), "", *costs(medians, sides, loads), "", *threads(medians, loads), "",
             *(accident_table(accidents) if accidents else []), "", *goals(medians), "",
             f"medians of {arguments.rounds} rounds, {arguments.seconds} s each; {os.cpu_count()} cores for everything; "
             "what is used without purchases is taken off; Kafka's requests are not measured"]
    return "\n".join(lines)
