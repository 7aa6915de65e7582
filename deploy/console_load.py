"""What deploy/try-console --million and --load measure: pages of large tables, and purchases beside people who click."""

import argparse
import http.client
import json
import math
import pathlib
import random
import subprocess
import tempfile
import threading
import time
import urllib.parse

from setup_environment import read_setup
from stack_meter import MeasureError, StackMeter

HERE = pathlib.Path(__file__).resolve().parent
APP = "com.example.game"
PAGE_MILLISECONDS, PAGE_TIMES = 200, 20
STAFF, SECONDS_BETWEEN_CLICKS, ROUNDS = 10, 2.0, 2
PAGES = {
    "home": "", "find an account": "/find?q=player-7", "find a transaction": "/find?q={transaction}", "purchase": "/purchases/production/{transaction}",
    "account": "/accounts/{account}", "undelivered": "/undelivered", "undelivered, one reason": "/undelivered?stage=parked&reason=unclaimed&environment=production",
    "purchases": "/orders", "purchases, held": "/orders?state=parked", "purchases of a product": "/orders?product_id=pro",
    "purchases of an account": "/orders?account={account}", "webhooks": "/webhooks", "webhooks, given up": "/webhooks?state=abandoned",
    "notifications": "/notifications", "notifications of a type": "/notifications?type=REFUND", "refund requests": "/refunds", "money": "/money",
    "subscriptions": "/money/subscriptions", "catalogue": "/catalogue", "settings": "/settings", "log": "/log"}


def percentile(values, share):
    """By the nearest rank: a value that was measured."""
    values = sorted(values)
    return values[max(0, math.ceil(share * len(values)) - 1)]


class Browser:
    """Somebody who is logged in by the demo, on one connection."""

    def __init__(self, console, role):
        self.address = urllib.parse.urlsplit(console)
        self.connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)
        self.connection.request("POST", f"/login/{role}", headers={"Sec-Fetch-Site": "same-origin"})
        answer = self.connection.getresponse()
        answer.read()
        cookie = answer.getheader("set-cookie")
        if not cookie:
            raise MeasureError(f"nobody was logged in: {answer.status}")
        # The cookie is for HTTPS and this machine; a cookie jar would not send it here.
        self.headers = {"Cookie": cookie.split(";")[0]}

    def get(self, path):
        """Status, milliseconds and bytes of a page."""
        start = time.perf_counter()
        self.connection.request("GET", f"/apps/{APP}{path}", headers=self.headers)
        answer = self.connection.getresponse()
        size = len(answer.read())
        return answer.status, (time.perf_counter() - start) * 1000, size


def fill(meter, orders):
    url = meter.settings["COUNTERSIGN_POSTGRES_URL"]
    start = time.monotonic()
    print(f"try-console: writing {orders} orders, and what belongs to them", flush=True)
    subprocess.run([f"{read_setup('PG_BIN')['PG_BIN']}/psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-v", f"orders={orders}", "-f",
                    str(HERE / "console_million.sql"), url], check=True, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    print(f"try-console: that took {time.monotonic() - start:.0f} s", flush=True)


def million(meter, console, orders):
    """Each page of a year's books, one after the other, by one person."""
    fill(meter, orders)
    [[transaction, account]] = meter.query(
        "SELECT transaction_id, account FROM orders WHERE product_id = 'vip.monthly' AND state = 'granted' ORDER BY created_at DESC LIMIT 1 OFFSET 10")
    browser, slow = Browser(console, "admin"), []
    print("\n| page | p50 ms | p95 ms | most | kB |\n|---|---|---|---|---|", flush=True)
    for name, path in PAGES.items():
        path = path.format(transaction=transaction, account=account)
        looks = [browser.get(path) for _ in range(PAGE_TIMES)]
        if {status for status, _, _ in looks} != {200}:
            raise MeasureError(f"{path} answers {looks[0][0]}")
        times = [milliseconds for _, milliseconds, _ in looks]
        p95 = percentile(times, 0.95)
        print(f"| {name} | {percentile(times, 0.5):.0f} | {p95:.0f} | {max(times):.0f} | {looks[0][2] / 1000:.0f} |", flush=True)
        if p95 >= PAGE_MILLISECONDS:
            slow.append(name)
    print("", flush=True)
    if slow:
        raise MeasureError(f"slower than {PAGE_MILLISECONDS} ms: {', '.join(slow)}")
    print(f"try-console: PASSED: each of {len(PAGES)} pages is there in less than {PAGE_MILLISECONDS} ms, 19 times of 20", flush=True)


class Staff:
    """Ten people who open a page every two seconds."""

    def __init__(self, console):
        self.console, self.times, self.failed, self.over = console, [], [], threading.Event()
        roles = ["viewer", "support", "support", "support", "operator"]
        self.threads = [threading.Thread(target=self.click, args=(roles[place % len(roles)], place)) for place in range(STAFF)]
        for thread in self.threads:
            thread.start()

    def click(self, role, seed):
        chance, browser = random.Random(seed), Browser(self.console, role)
        paths = ["", "/orders", "/undelivered", "/webhooks", "/notifications", "/refunds", "/money", "/money/subscriptions", "/catalogue"]
        if role != "viewer":
            paths += [f"/accounts/player-{1 + seed}", f"/orders?account=player-{1 + seed}", f"/find?q=player-{1 + seed}"]
        while not self.over.wait(chance.uniform(0.5, 1.5) * SECONDS_BETWEEN_CLICKS):
            status, milliseconds, _ = browser.get(chance.choice(paths))
            (self.times if status == 200 else self.failed).append(milliseconds)

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


def purchases(meter, rate, seconds):
    """p50 and p99 until the outcome, which each post waits for, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        subprocess.run([str(HERE.parent / "Tests/Load/steady"), str(meter.folder), str(rate), str(seconds), "--report", str(report)],
                       check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        rows = json.loads(report.read_text())["purchases"]
    times = [row["outcome_milliseconds"] for row in rows if row.get("outcome_milliseconds") is not None]
    return [percentile(times, 0.5), percentile(times, 0.99)]


def load(meter, console, rate, seconds):
    """The same purchases with nobody at the console, and with ten people: in turns, since a machine changes."""
    print(f"try-console: {rate} purchases a second for {seconds} s, with nobody at the console and with {STAFF} people, {ROUNDS} times", flush=True)
    purchases(meter, rate, 5)  # Warm.
    found = {"nobody": [], "ten people": []}
    clicks = []
    for _ in range(ROUNDS):
        found["nobody"].append(purchases(meter, rate, seconds))
        staff = Staff(console)
        try:
            found["ten people"].append(purchases(meter, rate, seconds))
        finally:
            staff.stop()
        if staff.failed:
            raise MeasureError(f"{len(staff.failed)} pages could not be shown")
        clicks += staff.times
    print("\n| at the console | outcome p50 ms | p99 |\n|---|---|---|")
    for name, rounds in found.items():
        print(f"| {name} | " + " | ".join(" / ".join(f"{one:.0f}" for one in column) for column in zip(*rounds)) + " |")
    print(f"\ntry-console: {len(clicks)} pages were looked at meanwhile: p50 {percentile(clicks, 0.5):.0f} ms, p99 {percentile(clicks, 0.99):.0f} ms")


def main():
    parser = argparse.ArgumentParser(prog="deploy/try-console")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--million", nargs="?", type=int, const=1_000_000, metavar="ORDERS")
    parser.add_argument("--load", nargs="*", type=int, metavar="RATE SECONDS")
    arguments = parser.parse_args()
    try:
        meter = StackMeter(arguments.dir)
        console = meter.settings["COUNTERSIGN_CONSOLE_URL"]
        if arguments.million:
            million(meter, console, arguments.million)
        if arguments.load is not None:
            rate, seconds = (arguments.load + [200, 30][len(arguments.load):])[:2]
            load(meter, console, rate, seconds)
    except (MeasureError, subprocess.CalledProcessError) as failure:
        raise SystemExit(f"try-console: failed: {failure}") from None


if __name__ == "__main__":
    main()
