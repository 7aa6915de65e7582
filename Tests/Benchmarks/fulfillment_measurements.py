"""How fast so many fulfillment processes empty the topic of verdicts. Called by Tests/Benchmarks/fulfillment.

usage: fulfillment_measurements.py FOLDER PURCHASES PROCESSES...      somebody else removes the stack in FOLDER
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

from service_metrics import DELIVERED, HANDLED, OF_VERDICTS, PUBLISHED, counted, metric_lines

DEPLOY = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy"
sys.path[:0] = [str(DEPLOY), str(DEPLOY / "kafka"), str(DEPLOY / "postgres")]
from stack_meter import MeasureError, StackMeter, family, used  # noqa: E402 (found only from here on)
from stack_settings import choose_port  # noqa: E402

PROCESSES_MAXIMUM, PURCHASES_MAXIMUM = 8, 100_000
WORKERS = ["verification-worker-1", "verification-worker-2"]
FRONT = ["receipt-intake", *WORKERS]
SECONDS = 240  # That anything may take.
PAUSE = 0.2  # Seconds between two looks.
SHARE = 0.1  # Of the purchases at the end are left out: the last batches are small.
STOP_SECONDS = 30
GRANTED = "SELECT count(*) FROM orders WHERE state = 'granted'"


class Measurement:
    """One stack, and what was settled in it."""

    def __init__(self, folder, purchases):
        self.meter, self.purchases, self.settled = StackMeter(folder), purchases, 0
        binaries = os.environ.get("COUNTERSIGN_BIN_DIR") or DEPLOY.parent / ".build" / "release"
        self.program = str(pathlib.Path(binaries) / "fulfillment")

    def begin(self):
        for name in ["postgres", "broker"]:
            self.meter.stack("start", name)
        self.meter.stack("tool", "migrate")
        self.meter.stack("start", "simulator")

    def count(self, sql):
        return int(self.meter.query(sql)[0][0])

    def fill(self):
        """Purchases until their verdicts wait in the topic, and nothing but them."""
        for name in FRONT:
            self.meter.stack("start", name)
        # It ends with 1, since nothing has an outcome; whether all is there is seen by the verdicts.
        subprocess.run([str(DEPLOY / "stack"), "--dir", str(self.meter.folder), "lab", "load", "--count",
                        str(self.purchases), "--settle-timeout", "0", "--concurrency", "64", "--accounts", "1000"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        wait("the verdicts", lambda: self.published() >= self.purchases)
        for name in reversed(FRONT):
            self.meter.stack("stop", name)

    def published(self):
        """Verdicts that the workers have sent since they started, and the broker has."""
        urls = [self.meter.settings[f"COUNTERSIGN_{name.upper().replace('-', '_')}_ADMIN_URL"] for name in WORKERS]
        return sum(counted(metric_lines(url), PUBLISHED, OF_VERDICTS, DELIVERED) for url in urls)

    def settle(self, processes):
        """Purchases a second of so many processes, and the cores that they, PostgreSQL and the broker used meanwhile."""
        target, running, ports = self.settled + self.purchases, [], []
        high = self.settled + int(self.purchases * (1 - SHARE))
        try:
            for _ in range(processes):
                ports.append(str(choose_port(set())))
                with open(self.meter.folder / "logs" / "fulfillments.log", "ab") as log:
                    running.append(subprocess.Popen(
                        [self.program], env={**os.environ, **self.meter.settings, "COUNTERSIGN_ADMIN_PORT": ports[-1]},
                        stdin=subprocess.DEVNULL, stdout=log, stderr=log))
            # Members join one after the other, and each new one stops the others for a moment.
            wait("verdicts in every process",
                 lambda: all(counted(metric_lines(f"http://127.0.0.1:{port}"), HANDLED, OF_VERDICTS) > 0 for port in ports))
            begun, first, before = time.monotonic(), self.count(GRANTED), self.cores(running)
            if first - self.settled > self.purchases / 2:
                raise MeasureError("most was settled before every process had its share: take more purchases")
            wait("most purchases", lambda: self.count(GRANTED) >= high)
            lasted, last, after = time.monotonic() - begun, self.count(GRANTED), self.cores(running)
            wait("every purchase", lambda: self.count(GRANTED) >= target)
        finally:
            for process in running:
                process.send_signal(signal.SIGTERM)
            for process in running:
                process.wait(STOP_SECONDS)
        self.settled = target
        self.meter.stack("tool", "books", "check")
        return (last - first) / lasted, {name: (after[name] - before[name]) / lasted for name in after}

    def cores(self, running):
        seconds = {name: used(family(self.meter.pid(name))) for name in ("postgres", "broker")}
        return {"fulfillment": sum(used(family(process.pid)) for process in running), **seconds}


def wait(what, is_there):
    deadline = time.monotonic() + SECONDS
    while not is_there():
        if time.monotonic() > deadline:
            raise MeasureError(f"{what} did not come in {SECONDS} s")
        time.sleep(PAUSE)


def main():
    folder, purchases, numbers = sys.argv[1], int(sys.argv[2]), [int(text) for text in sys.argv[3:]]
    if not 1000 <= purchases <= PURCHASES_MAXIMUM or not all(1 <= number <= PROCESSES_MAXIMUM for number in numbers):
        sys.exit(f"fulfillment: 1000 to {PURCHASES_MAXIMUM} purchases, 1 to {PROCESSES_MAXIMUM} processes")
    measurement, rows = Measurement(folder, purchases), []
    try:
        measurement.begin()
        for number in [numbers[0], *numbers]:  # The first warms up.
            measurement.fill()
            rows.append((number, *measurement.settle(number)))
    except MeasureError as error:
        sys.exit(f"fulfillment: {error}")
    rows = rows[1:]
    print("\n| processes | purchases/s | ratio | cores: fulfillment | PostgreSQL | broker |\n|---|---|---|---|---|---|")
    for number, rate, cores in rows:
        print(f"| {number} | {rate:,.0f} | {rate / rows[0][1]:.2f} | {cores['fulfillment']:.2f} | {cores['postgres']:.2f} | "
              f"{cores['broker']:.2f} |")


if __name__ == "__main__":
    main()
