"""What comes first at ten times the load. Called by Tests/Benchmarks/ten-times.

usage: ten_times_measurements.py FOLDER ORDERS PURCHASES PROCESSES      somebody else removes the stack in FOLDER
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
DEPLOY = HERE.parent.parent / "deploy"
sys.path[:0] = [str(HERE), str(DEPLOY), str(DEPLOY / "kafka"), str(DEPLOY / "postgres")]
import ten_times_report as report  # noqa: E402 (found only from here on)
from fulfillment_measurements import FRONT, HANDLED, Measurement, counted, wait  # noqa: E402
from stack_meter import MeasureError, family  # noqa: E402
from stack_settings import choose_port  # noqa: E402
from ten_times_samples import DatabaseLook, Threads, WaitSampler  # noqa: E402

ORDERS_MAXIMUM, PURCHASES_MAXIMUM, PROCESSES_MAXIMUM = 20_000_000, 200_000, 8
ACCOUNTS_MAXIMUM = 100_000
CONCURRENCY = 64
STOP_SECONDS, START_SECONDS = 30, 60
BACK = ["webhook-receiver", "notification"]


class TenTimes(Measurement):
    """A stack whose tables are full, and what is seen of it under load."""

    def __init__(self, folder, orders, purchases, processes):
        super().__init__(folder, purchases)
        self.orders, self.processes, self.running, self.ports = orders, processes, {}, {}
        self.superuser = {"PGUSER": "postgres", "PGPASSWORD": ""}

    def begin(self):
        super().begin()
        self.admit_superuser()
        self.fill()
        # The checkpoint that the filling wants is none of the load's.
        self.meter.query("CHECKPOINT", **self.superuser)

    def admit_superuser(self):
        """Only a superuser sees what others' sessions wait for; the cluster is this benchmark's own."""
        cluster = (self.meter.folder / "postgres").resolve()
        rules = cluster / "pg_hba.conf"
        rules.write_text("host all postgres samehost trust\n" + rules.read_text())
        os.kill(int((cluster / "postmaster.pid").read_text().split()[0]), signal.SIGHUP)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return self.meter.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements", **self.superuser)
            except MeasureError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def fill(self):
        """Writes the old orders into the stack's database, as Tests/Benchmarks/full-table does into one of its own."""
        program = os.environ.get("COUNTERSIGN_TESTS") or HERE.parent.parent / ".build/release/countersignPackageTests.xctest"
        # A copy: what is built meanwhile does not change it.
        tests = self.meter.folder / "tests"
        shutil.copy(program, tests)
        url = self.meter.settings["COUNTERSIGN_POSTGRES_URL"]
        begun = time.monotonic()
        done = subprocess.run(
            [str(tests), "--testing-library", "swift-testing", "--no-parallel", "--filter", "FullTableFilling"],
            env={**os.environ, "COUNTERSIGN_TEST_POSTGRES": url, "COUNTERSIGN_BENCHMARK": "fill-table",
                 "COUNTERSIGN_BENCHMARK_ORDERS": str(self.orders)},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        tests.unlink()
        rows = self.count("SELECT count(*) FROM orders")
        if done.returncode or rows < self.orders:
            raise MeasureError(f"{rows} orders were written:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        size = self.meter.query("SELECT pg_size_pretty(pg_database_size(current_database()))")[0][0]
        print(f"{rows:,} orders, {size}, written in {time.monotonic() - begun:.0f} s", flush=True)

    def pipeline(self):
        """Everything at work: posts that wait for their outcome, four fulfillment processes, webhooks."""
        for name in [*BACK, *FRONT]:
            self.meter.stack("start", name)
        self.start_fulfillment()
        self.load(2_000, [])  # Connections are opened, members have joined.
        names = [*FRONT, *BACK, "simulator", "broker", "postgres"]
        seen = self.look(names, lambda: self.load(self.purchases, ["--wait", "20"]))
        self.stop_fulfillment()
        for name in [*FRONT[::-1], *BACK[::-1]]:
            self.meter.stack("stop", name)
        return seen

    def drain(self):
        """Verdicts wait in the topic; then the fulfillment processes and nothing else are at work."""
        for name in FRONT:
            self.meter.stack("start", name)
        self.load(self.purchases, ["--settle-timeout", "0"], fails=True)
        wait("the verdicts", lambda: self.published() >= self.purchases)
        for name in FRONT[::-1]:
            self.meter.stack("stop", name)

        def work():
            self.start_fulfillment(waits=False)
            # Their own counters: counting rows of full tables would be a load of its own.
            wait("every purchase", lambda: sum(counted(f"http://127.0.0.1:{port}", HANDLED)
                                               for port in self.ports.values()) >= self.purchases)

        seen = self.look(["broker", "postgres"], work)
        self.stop_fulfillment()
        return seen

    def look(self, names, work):
        """What was seen while the work was done, and how long that took."""
        database = DatabaseLook(self.meter, self.superuser)
        threads = Threads(lambda: {**{name: family(self.meter.pid(name)) for name in names},
                                   **{name: [process.pid] for name, process in self.running.items()}})
        before = database.begin()
        with WaitSampler(self.meter, self.superuser) as waits, threads:
            begun = time.monotonic()
            work()
            lasted = time.monotonic() - begun
        return {"seconds": lasted, "purchases": self.purchases, "waits": waits.seen, "looks": waits.looks,
                "locks": waits.locks, "threads": threads.used(), "database": database.end(before)}

    def load(self, count, arguments, fails=False):
        done = subprocess.run(
            [str(DEPLOY / "stack"), "--dir", str(self.meter.folder), "lab", "load", "--count", str(count), "--concurrency",
             str(CONCURRENCY), "--accounts", str(min(ACCOUNTS_MAXIMUM, max(1000, self.orders // 5))), "--seed",
             str(time.monotonic_ns() % 1_000_000), *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode and not fails:
            raise MeasureError(f"the load ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")

    def start_fulfillment(self, waits=True):
        self.ports = {}
        for number in range(1, self.processes + 1):
            name = f"fulfillment-{number}"
            self.ports[name] = str(choose_port(set()))
            with open(self.meter.folder / "logs" / "fulfillments.log", "ab") as log:
                self.running[name] = subprocess.Popen(
                    [self.program], env={**os.environ, **self.meter.settings, "COUNTERSIGN_ADMIN_PORT": self.ports[name],
                                         "COUNTERSIGN_INSTANCE": str(number)},
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if waits:
            wait("every fulfillment process", lambda: all(ready(port) for port in self.ports.values()))

    def stop_fulfillment(self):
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            process.wait(STOP_SECONDS)
        self.running = {}


def ready(port):
    """Whether a process answers; how many messages it has handled says nothing before there are any."""
    try:
        return subprocess.run(["curl", "-fsS", "-m", "2", f"http://127.0.0.1:{port}/readyz"], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False).returncode == 0
    except OSError as error:
        raise MeasureError(f"curl: {error}") from None


def longest(line):
    """The seconds of a rule's longest statement, in a line of `countersign books check --times`."""
    return float(line.rsplit(" ", 2)[1])


def main():
    folder, orders, purchases, processes = sys.argv[1], *(int(text) for text in sys.argv[2:5])
    for name, value, maximum in [("ORDERS", orders, ORDERS_MAXIMUM), ("PURCHASES", purchases, PURCHASES_MAXIMUM),
                                 ("PROCESSES", processes, PROCESSES_MAXIMUM)]:
        if not 1 <= value <= maximum:
            sys.exit(f"ten-times: {name} is from 1 to {maximum}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ten-times: it took longer than MINUTES"))
    measurement = TenTimes(folder, orders, purchases, processes)
    try:
        measurement.begin()
        report.show(f"Phase 1: the whole pipeline, {processes} fulfillment processes, {CONCURRENCY} posts at a time",
                    measurement.pipeline())
        report.show(f"Phase 2: verdicts that wait, {processes} fulfillment processes and nothing else",
                    measurement.drain())
        begun = time.monotonic()
        lines = measurement.meter.stack("tool", "books", "check", "--times").splitlines()
        slow = sorted((line.strip() for line in lines if line.startswith("         ")), key=longest, reverse=True)
        print(f"\nThe audit is clean, and took {time.monotonic() - begun:.0f} s. The rules with the longest statements:\n")
        print("\n".join(f"- {line}" for line in slow[:report.ROWS]))
    except MeasureError as error:
        sys.exit(f"ten-times: {error}")
    finally:
        measurement.stop_fulfillment()


if __name__ == "__main__":
    main()
