"""How long an import takes that is killed in the middle. Called by Tests/Benchmarks/import.

usage: import_measurements.py FOLDER PURCHASES      somebody else removes the stack in FOLDER
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

DEPLOY = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy"
sys.path[:0] = [str(DEPLOY), str(DEPLOY / "kafka"), str(DEPLOY / "postgres")]
from stack_meter import MeasureError, StackMeter  # noqa: E402 (found only from here on)

PURCHASES_MAXIMUM = 1_000_000
SALES = 1_000  # Of one request to the simulator.
ACCOUNTS = 5_000
SECONDS = 3600  # That anything may take.
PAUSE = 0.1  # Seconds between two looks.
APP, PRODUCT = "com.example.game", "gems.100"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Measurement:
    """One stack, and a file of purchases."""

    def __init__(self, folder, purchases):
        self.meter, self.purchases = StackMeter(folder), purchases
        self.file = self.meter.folder / "grants.csv"
        binaries = os.environ.get("COUNTERSIGN_BIN_DIR") or DEPLOY.parent / ".build" / "release"
        self.program = str(pathlib.Path(binaries) / "countersign")

    def begin(self):
        for name in ["postgres", "broker"]:
            self.meter.stack("start", name)
        self.meter.stack("tool", "migrate")
        for name in ["simulator", "receipt-intake", "verification-worker-1", "verification-worker-2", "fulfillment"]:
            self.meter.stack("start", name)

    def sell(self):
        url = self.meter.settings["COUNTERSIGN_SIMULATOR_URL"] + "/simulator/v1/sales"
        body = json.dumps({"bundleId": APP, "productId": PRODUCT, "type": "Consumable", "count": SALES}).encode()
        with open(self.file, "w", encoding="ascii") as file:
            print("account,signed_transaction,product_id,quantity,items", file=file)
            for start in range(0, self.purchases, SALES):
                request = urllib.request.Request(url, body, {"content-type": "application/json"})
                with OPENER.open(request, timeout=60) as answer:
                    sales = json.load(answer)["transactions"]
                for place, sale in enumerate(sales[:self.purchases - start]):
                    account = f"player-{(start + place) % ACCOUNTS}"
                    print(f"{account},{sale['signedTransaction']},{PRODUCT},1,gem=100", file=file)

    def number(self, sql):
        return int(self.meter.query(sql)[0][0])

    def start(self):
        return subprocess.Popen([self.program, "import", str(self.file), "--app", APP, "--json"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                env={**os.environ, **self.meter.settings})

    def run(self):
        """Seconds until it was killed, and until everything had its outcome; the report."""
        began = time.monotonic()
        killed = self.start()
        while self.number("SELECT coalesce(max(lines_done), 0) FROM imports") < self.purchases // 2:
            if killed.poll() is not None or time.monotonic() > began + SECONDS:
                raise MeasureError("the import ended before it could be killed")
            time.sleep(PAUSE)
        killed.kill()
        killed.communicate()
        half = time.monotonic() - began
        again = self.start()
        output, _ = again.communicate(timeout=SECONDS)
        if again.returncode != 0:
            raise MeasureError(f"the import ended with {again.returncode}")
        return half, time.monotonic() - began, json.loads(output)

    def check(self, report):
        expected = {
            "SELECT count(*) FROM orders WHERE granted_elsewhere AND state = 'granted'": self.purchases,
            "SELECT count(*) FROM orders": self.purchases, "SELECT count(*) FROM import_lines": self.purchases,
            "SELECT count(*) FROM submissions WHERE state = 'fulfilled'": self.purchases,
            "SELECT count(*) FROM ledger_entries": 0, "SELECT count(*) FROM events": 0}
        for sql, number in expected.items():
            found = self.number(sql)
            if found != number:
                raise MeasureError(f"{sql}: {found}, not {number}")
        if report["granted_elsewhere"] != self.purchases or [group["fate"] for group in report["groups"]] != ["recorded"]:
            raise MeasureError(f"the report says something else: {report}")
        self.meter.stack("tool", "books", "check")


def main():
    folder, purchases = sys.argv[1], int(sys.argv[2])
    if not 1000 <= purchases <= PURCHASES_MAXIMUM:
        sys.exit(f"import: 1000 to {PURCHASES_MAXIMUM} purchases")
    measurement = Measurement(folder, purchases)
    try:
        measurement.begin()
        measurement.sell()
        measurement.meter.stack("tool", "cut-over", "set", "--app", APP, "--at", "2100-01-01", "--reason", "a benchmark")
        half, whole, report = measurement.run()
        measurement.check(report)
        again = time.monotonic()
        measurement.start().communicate(timeout=SECONDS)
        again = time.monotonic() - again
        measurement.check(report)
    except MeasureError as error:
        sys.exit(f"import: {error}")
    print("\n| purchases | killed after | all in the books after | a second | given again | audit |\n|---|---|---|---|---|---|")
    print(f"| {purchases:,} | {half:.0f} s | {whole:.0f} s | {purchases / whole:,.0f} | {again:.1f} s | clean |")


if __name__ == "__main__":
    main()
