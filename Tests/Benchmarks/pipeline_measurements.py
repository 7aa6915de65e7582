"""The measurements of Tests/Benchmarks/pipeline: sells, posts to each side by turns, looks at what it cost, prints tables.

It ends the peer that it starts; the stack in the folder is removed by the caller.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
DEPLOY = HERE.parent.parent / "deploy"
sys.path[:0] = [str(HERE), str(DEPLOY), str(DEPLOY / "kafka")]
import pipeline_accidents  # noqa: E402 (found only from here on)
import pipeline_report  # noqa: E402
from pipeline_sides import CountersignSide, PeerSide  # noqa: E402
from stack_meter import MeasureError, StackMeter  # noqa: E402

APP, PRODUCT, GEMS = "com.example.game", "gems.100", 100
ACCOUNTS = 1000
SOLD_AT_ONCE = 500  # The simulator takes 1000.
FIRST_RATES = {1: 400, 8: 1500}  # Purchases a second that the first round is prepared for.
FIRST_RATE = 2500  # The same, for other numbers of connections.
OPEN_CONNECTIONS = 256  # Of an open loop: more than are in use at a time, unless a side is behind.
SPARE = 1.4  # Times what the fastest round before took; one that runs out of purchases ends earlier.
PREPARED = 60_000  # Purchases of one run, at most.
WARM_CONNECTIONS = 64  # Connections are opened, the broker's code is compiled, caches are filled, headers are kept.
IDLE_SECONDS = 10  # Of looking at what the processes use without purchases, which is taken off.
STATISTICS_SECONDS = 11  # PostgreSQL's processes report what they have counted after 10 s without work, at the latest.
TAIL_SECONDS = 1  # That commits of offsets and the end of transactions may take after the last webhook.
LOAD_ALLOWANCE = 90  # Seconds that the load may take beyond its time.
ROUNDS_MAXIMUM, NUMBER_MAXIMUM = 25, 5000
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
COUNTERS = ["xact_commit", "tup_returned", "tup_inserted", "tup_updated"]  # Of pg_stat_database.


class Pipeline:
    """The stack, the purchases that are prepared, and what every run came to."""

    def __init__(self, arguments):
        self.arguments, self.folder = arguments, pathlib.Path(arguments.folder)
        self.meter = StackMeter(self.folder)
        self.fastest, self.sold, self.runs = {}, 0, []

    def begin(self):
        """The sides, with what they share running."""
        for name in ("postgres", "broker"):
            self.meter.stack("start", name)
        self.meter.stack("tool", "migrate")
        self.meter.stack("start", "simulator")
        if self.arguments.statements:
            self.count_statements()
        sides = [CountersignSide(self.meter)]
        if self.arguments.peer:
            sides += [PeerSide(self.meter, self.arguments.peer, kind) for kind in ("equal", "naive")]
        return sides

    def count_statements(self):
        """Only a superuser makes the extension; the cluster is this benchmark's own."""
        cluster = (self.folder / "postgres").resolve()
        rules = cluster / "pg_hba.conf"
        rules.write_text("host all postgres samehost trust\n" + rules.read_text())
        os.kill(int((cluster / "postmaster.pid").read_text().split()[0]), signal.SIGHUP)
        for _ in range(50):
            try:
                return self.meter.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements; "
                                        "GRANT EXECUTE ON FUNCTION pg_stat_statements_reset TO public",
                                        PGDATABASE="postgres", PGUSER="postgres", PGPASSWORD="")
            except MeasureError:
                time.sleep(0.1)
        raise MeasureError("the extension pg_stat_statements cannot be made")

    def prepare(self, name, count):
        """Sells so many, and writes what apps would post: a body a line. The transactions' ids, in that order."""
        ids = []
        with open(self.folder / name, "w") as file:
            while len(ids) < count:
                order = {"bundleId": APP, "productId": PRODUCT, "type": "Consumable", "environment": "Sandbox",
                         "count": SOLD_AT_ONCE}
                request = urllib.request.Request(
                    self.meter.settings["COUNTERSIGN_SIMULATOR_URL"] + "/simulator/v1/sales",
                    data=json.dumps(order).encode(), headers={"content-type": "application/json"})
                with OPENER.open(request, timeout=60) as answer:
                    sales = json.loads(answer.read())["transactions"]
                for sale in sales:
                    self.sold += 1
                    file.write(json.dumps({"app": APP, "account": f"player-{self.sold % ACCOUNTS}",
                                           "signed_transaction": sale["signedTransaction"]}) + "\n")
                    ids.append(sale["transactionId"])
        return ids

    def wanted(self, load):
        """Purchases for one run."""
        kind, number = load
        rate = number if kind == "rate" else self.fastest.get(load, 0) * SPARE or FIRST_RATES.get(number, FIRST_RATE)
        return min(PREPARED, int(rate * self.arguments.seconds) + number)

    def post(self, side, load, seconds, name):
        """Runs the load; what it prints."""
        kind, number = load
        connections, rate = (number, 0) if kind == "connections" else (OPEN_CONNECTIONS, number)
        done = subprocess.run(
            [sys.executable, "-B", str(HERE / "pipeline_load.py"), side.url, str(connections), str(rate), str(seconds),
             str(self.folder / name), side.mark], env={**os.environ, "PIPELINE_AUTHORIZATION": side.authorization},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=seconds + LOAD_ALLOWANCE)
        if done.returncode:
            raise MeasureError(f"{side.name}: the load ended with {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout)

    def counters(self, side):
        """What PostgreSQL has counted for the side's database; asked in another one, where it counts nothing."""
        sql = f"SELECT pg_current_wal_insert_lsn() - '0/0', {', '.join(COUNTERS)} FROM pg_stat_database " \
              f"WHERE datname = '{side.database}'"
        names = ["wal_bytes", *COUNTERS]
        if self.arguments.statements:
            sql = sql.replace(" FROM", f", (SELECT sum(calls) FROM {self.statements(side)}) FROM")
            names.append("statements")
        row = self.meter.query(sql, PGDATABASE="postgres")[0]
        return {name: int(float(value or 0)) for name, value in zip(names, row)}

    def statements(self, side):
        return "pg_stat_statements WHERE toplevel AND dbid = (SELECT oid FROM pg_database " \
               f"WHERE datname = '{side.database}')"

    def look(self, side):
        """Everything that grows, and when it was looked at; settled, so that PostgreSQL's numbers are whole."""
        return {"counters": self.counters(side), "used": side.processor_seconds(), "threads": side.thread_seconds(),
                "at": time.monotonic()}

    def idle(self, side):
        """What a second without purchases costs."""
        time.sleep(STATISTICS_SECONDS)
        before = self.look(side)
        time.sleep(IDLE_SECONDS)
        after = self.look(side)
        lasted = after["at"] - before["at"]
        # Next to no WAL is written by who waits: what there is comes from a checkpoint or a vacuum, and not every second.
        del before["counters"]["wal_bytes"]
        return {part: {name: (after[part][name] - before[part][name]) / lasted for name in before[part]}
                for part in ("counters", "used", "threads")}

    def measure(self, side, number, load, name, ids, idle):
        """One run; its row. Costs are of one purchase."""
        before = self.look(side)
        result = self.post(side, load, self.arguments.seconds, name)
        if not result["granted"]:
            raise MeasureError(f"{side.name}: nothing was granted: {result['failures']}")
        whole = side.finish(ids[:result["posted"]], result)
        time.sleep(TAIL_SECONDS)
        used, threads, used_at = side.processor_seconds(), side.thread_seconds(), time.monotonic()
        time.sleep(STATISTICS_SECONDS)
        counters, counted_at = self.counters(side), time.monotonic()

        def cost(part, values, at):
            lasted, since = at - before["at"], before[part]
            return {key: max(0.0, values[key] - since.get(key, 0) - idle[part].get(key, 0) * lasted) / result["granted"]
                    for key in values}

        rate = result["granted"] / result["seconds"]
        self.fastest[load] = max(self.fastest.get(load, 0), rate)
        run = {"side": side.name, "round": number, "load": load, "rate": rate, "whole_rate": result["granted"] / whole,
               "failures": sum(result["failures"].values()), "counters": cost("counters", counters, counted_at),
               "processor_us": {key: value * 1e6 for key, value in cost("used", used, used_at).items()},
               "thread_us": {key: value * 1e6 for key, value in cost("threads", threads, used_at).items()},
               **{key: result[key] for key in ("posted", "seconds", "p50_ms", "p99_ms", "p999_ms", "ran_out")}}
        run["processor_us"]["load"] = result["processor_seconds"] / result["granted"] * 1e6
        print(pipeline_report.line(run), flush=True)
        for failure, count in result["failures"].items():
            print(f"    {count} times: {failure}", flush=True)
        return run

    def books(self, side):
        """Purchases that were granted, and how often in all, by the balances."""
        granted, gems = map(int, self.meter.query(side.BOOKS, PGDATABASE=side.database)[0])
        return granted, gems / GEMS

    def check(self, side):
        """Each purchase was granted once, or the figures are worth nothing."""
        granted, grants = self.books(side)
        if grants != granted:
            raise MeasureError(f"{side.name} granted {granted} purchases {grants} times")
        side.check()

    def round(self, sides, number):
        """Every side, by turns the first, with the same purchases."""
        loads = [("connections", one) for one in self.arguments.connections] + [("rate", one) for one in self.arguments.rates]
        prepared = {load: self.prepare("bodies-{}-{}".format(*load), self.wanted(load)) for load in loads}
        warm = self.prepare("bodies-warm", min(PREPARED, self.arguments.warm * FIRST_RATE))
        for side in sides if number % 2 else sides[::-1]:
            side.start()
            try:
                result = self.post(side, ("connections", WARM_CONNECTIONS), self.arguments.warm, "bodies-warm")
                side.finish(warm[:result["posted"]], result)
                # What autovacuum does within minutes: without statistics the planner reads whole tables that it takes for tiny.
                self.meter.query("ANALYZE", PGDATABASE=side.database)
                idle = self.idle(side)
                if self.arguments.statements:
                    self.forget_statements()
                print(f"{side.name}, idle: {100 * sum(idle['used'].values()):.1f} % of a core", flush=True)
                for load, ids in prepared.items():
                    self.runs.append(self.measure(side, number, load, "bodies-{}-{}".format(*load), ids, idle))
                if self.arguments.statements:
                    self.print_statements(side)
                self.check(side)
            finally:
                side.stop()
        for file in self.folder.glob("bodies-*"):
            file.unlink()

    def print_statements(self, side):
        """Those that have taken most of the server's time in these runs."""
        rows = self.meter.query(
            "SELECT round(total_exec_time), calls, rows, left(regexp_replace(query, '\\s+', ' ', 'g'), 100) "
            f"FROM {self.statements(side)} ORDER BY total_exec_time DESC LIMIT 20", PGDATABASE="postgres")
        print(f"{side.name}: milliseconds, calls, rows, statement")
        for row in rows:
            print("    " + "  ".join(row), flush=True)

    def forget_statements(self):
        self.meter.query("SELECT pg_stat_statements_reset()", PGDATABASE="postgres")


def numbers(text):
    found = [int(word) for word in text.split()]
    if not all(1 <= one <= NUMBER_MAXIMUM for one in found) or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"different numbers from 1 to {NUMBER_MAXIMUM}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--rounds", type=int, choices=range(1, ROUNDS_MAXIMUM + 1), required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--warm", type=int, required=True, help="seconds of warming up in each round")
    parser.add_argument("--connections", type=numbers, required=True, help="of closed loops")
    parser.add_argument("--rates", type=numbers, required=True, help="purchases a second of open loops")
    parser.add_argument("--away", type=int, required=True, help="seconds that the backend is away for; 0: no accidents")
    parser.add_argument("--statements", action="store_true")
    parser.add_argument("--peer", metavar="PYTHON", help="the Python that has the peer's packages")
    arguments = parser.parse_args()
    # As Ctrl-C: the peer is ended, and what runs in it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        pipeline = Pipeline(arguments)
        sides = pipeline.begin()
        for number in range(1, arguments.rounds + 1):
            print(f"round {number}", flush=True)
            pipeline.round(sides, number)
        accidents = pipeline_accidents.all_of(pipeline, sides, arguments.away) if arguments.away else []
    except (MeasureError, OSError, subprocess.TimeoutExpired) as error:
        print(f"pipeline benchmark: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(pipeline_report.tables(pipeline.runs, accidents, arguments))
    return 1 if any(run["failures"] for run in pipeline.runs) else 0


if __name__ == "__main__":
    sys.exit(main())
