"""The lines and tables of Tests/Benchmarks/pipeline."""

import os
import statistics

SIDES = ["countersign", "peer"]
# What the goals are: times the peer's purchases a second, by connections; and the milliseconds of a lone purchase.
THROUGHPUT_GOALS, P99_CONNECTIONS, LONE_MS = {64: 8, 8: 4}, 8, 10
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


def line(run):
    """One run, when it has ended."""
    whole = f" ({run['whole_rate']:,.0f} with webhooks)" if run["side"] == "countersign" else ""
    early = f", {run['seconds']:.1f} s: there were no more purchases" if run["ran_out"] else ""
    counters = "  ".join(f"{name} {run['counters'][key]:,.1f}" for name, key in COUNTERS.items() if key in run["counters"])
    return (f"{run['side']}, {run['connections']} connections: {run['rate']:,.1f}/s{whole}, p50 {run['p50_ms']:.1f} ms, "
            f"p99 {run['p99_ms']:.1f} ms, {run['posted']:,} posted, {run['failures']} failures{early}\n"
            f"    us a purchase: {processor(run)}\n    a purchase: {counters}")


class Medians:
    """Of the rounds."""

    def __init__(self, runs):
        self.runs = runs

    def of(self, side, connections, value):
        """Nothing where the side has no such run, or no such value."""
        values = [value(run) for run in self.runs if (run["side"], run["connections"]) == (side, connections)]
        return statistics.median(values) if values and None not in values else None

    def ratio(self, connections, value):
        """Of Countersign's to the peer's, the median of the rounds' own ratios: both of a round met the same machine."""
        by_round = {}
        for run in self.runs:
            if run["connections"] == connections:
                by_round.setdefault(run["round"], {})[run["side"]] = value(run)
        ratios = [found["countersign"] / found["peer"] for found in by_round.values()
                  if len(found) == len(SIDES) and found["peer"]]
        return (statistics.median(ratios), min(ratios), max(ratios)) if ratios else None


def cell(value, digits=0):
    return "" if value is None else f"{value:,.{digits}f}"


def rates(medians, sides, connections):
    yield "| | connections | purchases/s | until the last webhook | p50 | p99 | failures |\n|---|---|---|---|---|---|---|"
    for count in connections:
        for side in sides:
            failures = sum(run["failures"] for run in medians.runs if (run["side"], run["connections"]) == (side, count))
            rate, whole, p50, p99 = (medians.of(side, count, lambda run, key=key: run[key])
                                     for key in ("rate", "whole_rate", "p50_ms", "p99_ms"))
            yield f"| {side} | {count} | {cell(rate)} | {cell(whole) if side == 'countersign' else ''} | {cell(p50, 1)} ms | " \
                  f"{cell(p99, 1)} ms | {failures} |"


def costs(medians, sides, connections):
    columns = [(side, count) for side in sides for count in connections]
    yield "| a purchase | " + " | ".join(f"{side}, {count}" for side, count in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"

    def row(name, value, digits):
        found = [medians.of(side, count, value) for side, count in columns]
        return [f"| {name} | " + " | ".join(cell(one, digits) for one in found) + " |"] if any(
            one is not None for one in found) else []

    for name, names in PARTS.items():
        yield from row(f"{name}, us", lambda run, names=names: part(run, names), 0)
    yield from row("all, us", lambda run: sum(run["processor_us"].values()), 0)
    for name, key in COUNTERS.items():
        yield from row(name, lambda run, key=key: run["counters"].get(key), 1)


def threads(medians, connections):
    """Where Countersign's processor time goes, by what the threads are for; what is below a microsecond is left out."""
    yield "| countersign, us a purchase | threads | " + " | ".join(map(str, connections)) + " |"
    yield "|---" * (len(connections) + 2) + "|"
    runs = [run for run in medians.runs if run["side"] == "countersign"]
    kinds = sorted({kind for run in runs for _, kind in run["thread_us"]})
    for part_name, names in PARTS.items():
        for kind in kinds:
            values = [medians.of("countersign", count, lambda run: sum(
                run["thread_us"].get((name, kind), 0.0) for name in names)) for count in connections]
            if any(value and value >= 1 for value in values):
                yield f"| {part_name} | {kind} | " + " | ".join(cell(value) for value in values) + " |"


def goals(medians):
    """What was aimed at, and whether it is reached."""
    for count, goal in THROUGHPUT_GOALS.items():
        for name, key in (("answered", "rate"), ("until the last webhook", "whole_rate")):
            ratio = medians.ratio(count, lambda run, key=key: run[key])
            if ratio:
                yield f"{count} connections, {name}: {ratio[0]:.2f} times the peer's ({ratio[1]:.2f} to {ratio[2]:.2f}); " \
                      f"the goal is {goal}: {verdict(ratio[0] >= goal)}"
    ratio = medians.ratio(P99_CONNECTIONS, lambda run: run["p99_ms"])
    if ratio:
        yield f"{P99_CONNECTIONS} connections, p99: {ratio[0]:.2f} of the peer's ({ratio[1]:.2f} to {ratio[2]:.2f}); " \
              f"the goal is below 1: {verdict(ratio[0] < 1)}"
    lone = medians.of("countersign", 1, lambda run: run["p50_ms"])
    if lone is not None:
        yield f"a lone purchase: {lone:.1f} ms; the goal is {LONE_MS} ms: {verdict(lone <= LONE_MS)}"


def verdict(is_reached):
    return "reached" if is_reached else "not reached"


def tables(runs, arguments):
    """Everything at the end."""
    medians, sides = Medians(runs), [side for side in SIDES if any(run["side"] == side for run in runs)]
    lines = ["", *rates(medians, sides, arguments.connections), "", *costs(medians, sides, arguments.connections), "",
             *threads(medians, arguments.connections), "",
             *goals(medians), "",
             f"medians of {arguments.rounds} rounds, {arguments.seconds} s each; {os.cpu_count()} cores for everything; "
             "what is used without purchases is taken off; Kafka's requests are not measured"]
    return "\n".join(lines)
