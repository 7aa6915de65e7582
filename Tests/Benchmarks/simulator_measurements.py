"""The measurements of Tests/Benchmarks/simulator: prepares a store, calls wrk, prints a table.

usage: simulator_measurements.py FOLDER SECONDS      FOLDER/state is a running simulator's
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

import simulator_asked

FOLDER, SECONDS = pathlib.Path(sys.argv[1]), int(sys.argv[2])
ADDRESSES = json.loads((FOLDER / "state" / "addresses.json").read_text())
APP = "com.example.bench"
CUSTOMERS = 200  # Each with a page of transactions and more.


def control(method, path, body=None):
    return simulator_asked.control(ADDRESSES["control"], method, path, body)


def token(key):
    pem = FOLDER / "key.pem"
    pem.write_text(key["privateKey"])
    return simulator_asked.token(pem, key["keyId"], key["issuerId"], APP)


def wrk(url, script="", connections=16):
    return simulator_asked.wrk(FOLDER, url, script, connections, SECONDS)


def get(paths, bearer):
    quoted = ",".join(f'"{path}"' for path in paths)
    return wrk(ADDRESSES["production"], f'''
local paths, index = {{{quoted}}}, 0
request = function()
  index = index % #paths + 1
  return wrk.format("GET", paths[index], {{["authorization"] = "Bearer {bearer}"}})
end''')


def post(path, body, connections=16):
    script = f"wrk.method = 'POST'\nwrk.body = [[{json.dumps(body)}]]"
    return wrk(ADDRESSES["control"] + path, script, connections)


def at_once(*measurements):
    """The results of measurements that run at the same time."""
    with concurrent.futures.ThreadPoolExecutor(len(measurements)) as pool:
        return [future.result() for future in [pool.submit(measurement) for measurement in measurements]]


def signatures():
    """What openssl signs in a second with P-256, on one core."""
    output = subprocess.run(["openssl", "speed", "-seconds", "2", "-mr", "ecdsap256"], check=True, capture_output=True,
                            text=True).stdout
    return float(re.search(r"^\+F\d:\d+:256:([\d.]+)", output, re.MULTILINE)[1])


def main():
    control("PUT", f"apps/{APP}", {})
    control("PUT", f"apps/{APP}/products/coins", {"type": "Consumable"})
    control("PUT", f"apps/{APP}/products/vip", {"type": "Auto-Renewable Subscription"})
    control("PUT", "rate-limits", {"enabled": False})
    bearer = token(control("POST", f"apps/{APP}/keys"))
    transactions, subscriptions = [], []
    for number in range(CUSTOMERS):
        account = {"bundleId": APP, "account": f"customer-{number}"}
        sold = control("POST", "sales", {**account, "productId": "coins", "count": 25})["transactions"]
        transactions += [one["transactionId"] for one in sold]
        subscriptions += [one["originalTransactionId"]
                          for one in control("POST", "sales", {**account, "productId": "vip"})["transactions"]]
    bare = wrk(ADDRESSES["control"] + "/readyz")
    signed = signatures()
    sale = {"bundleId": "com.example.load", "productId": "coins", "type": "Consumable"}
    rows = [
        ("a bare answer (GET /readyz)", bare, ""),
        ("openssl's signatures, one core", signed, ""),
        ("sales, 100 in a request", 100 * post("/simulator/v1/sales", {**sale, "count": 100}), "signatures"),
        ("sales, one in a request", post("/simulator/v1/sales", sale), "bare"),
        ("Get Transaction Info", get([f"/inApps/v1/transactions/{id}" for id in transactions], bearer), "bare"),
        ("Get Transaction History, 20 a page", get([f"/inApps/v2/history/{id}" for id in transactions[::25]], bearer), "bare"),
        ("Get All Subscription Statuses", get([f"/inApps/v1/subscriptions/{id}" for id in subscriptions], bearer), "bare"),
    ]
    sales, answers = at_once(
        lambda: 10 * post("/simulator/v1/sales", {**sale, "count": 10}, connections=1),
        lambda: get([f"/inApps/v1/transactions/{id}" for id in transactions], bearer))
    rows += [("at once: sales, 10 in a request, one client", sales, "signatures"), ("at once: Get Transaction Info", answers, "bare")]
    print(f"\n{'what':<46}{'a second':>10}   share")
    for name, rate, against in rows:
        limit = {"signatures": signed, "bare": bare}.get(against)
        share = f"{rate / limit:.2f} of " + ("openssl's signatures" if against == "signatures" else "a bare answer") if limit else ""
        print(f"{name:<46}{rate:>10,.0f}   {share}")
    print(f"\n{os.cpu_count()} cores, wrk beside the simulator on them; 16 connections; {SECONDS} s each")


if __name__ == "__main__":
    main()
