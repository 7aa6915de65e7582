"""The measurements of Tests/Benchmarks/lookups: fills the topic, lets one worker empty it, prints a table.

usage: lookups_measurements.py FOLDER SECONDS      FOLDER is for the stack that it starts, which somebody else removes
"""

import os
import pathlib
import shlex
import subprocess
import sys
import time

import simulator_asked
from service_metrics import DELIVERED, OF_VERDICTS, PUBLISHED, counted, metric_lines, selected

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER, SECONDS = pathlib.Path(sys.argv[1]), int(sys.argv[2])
APP = "com.example.game"
LATENCY_MS = 300
IN_FLIGHT = 512  # The worker's own default.
WARM_SECONDS = 4  # Connections are opened, caches filled.
START_SECONDS = 60  # A consumer group forms in less.
SOLD_AT_ONCE = 1000
# Above everything that could be settled in the time: no budget is to be in the way.
RATE_PER_SECOND = 100_000
WORKER = "verification-worker-1"
GRANTED = "SELECT count(*) FROM orders WHERE state = 'granted'"
BACKEND = ["webhook-receiver", "notification", "fulfillment"]


def stack(*arguments):
    subprocess.run([str(ROOT / "deploy" / "stack"), "--dir", str(FOLDER), *arguments], check=True)


def settings():
    lines = subprocess.check_output([str(ROOT / "deploy" / "stack"), "--dir", str(FOLDER), "env"], text=True)
    return dict(shlex.split(line)[0].split("=", 1) for line in lines.splitlines() if line)


def control(env, method, path, body=None):
    return simulator_asked.control(env["COUNTERSIGN_SIMULATOR_URL"], method, path, body)


def token(env):
    """By the stack's own key."""
    return simulator_asked.token(env["COUNTERSIGN_APP_STORE_KEY_FILE"], env["COUNTERSIGN_APP_STORE_KEY_ID"],
                                 env["COUNTERSIGN_APP_STORE_ISSUER_ID"], APP)


def wrk(url, script, connections, seconds):
    return simulator_asked.wrk(FOLDER, url, script, connections, seconds, may_time_out=True)


def over_ids(request):
    """A script of wrk's that goes through the ids that were sold, again from the first after the last."""
    return f'''
local ids, index = {{}}, 0
for id in io.lines("{FOLDER}/ids") do ids[#ids + 1] = id end
request = function()
  index = index % #ids + 1
  local id = ids[index]
  {request}
end'''


def fill(env, count):
    """Sells, and posts the ids as apps do: they wait in the topic, since no worker runs yet. How many wait."""
    ids = []
    while len(ids) < count:
        order = {"bundleId": APP, "productId": "gems.100", "type": "Consumable", "count": SOLD_AT_ONCE}
        ids += [sale["transactionId"] for sale in control(env, "POST", "sales", order)["transactions"]]
    (FOLDER / "ids").write_text("\n".join(ids) + "\n")
    headers = f'["authorization"] = "Bearer {env["COUNTERSIGN_API_KEY"]}", ["content-type"] = "application/json"'
    body = f'\'{{"app":"{APP}","account":"player-\' .. index % 1000 .. \'","transaction_id":"\' .. id .. \'"}}\''
    posted = 0
    for _ in range(20):
        # Twice the same is the same submission, so where a round begins need not be exact.
        script = over_ids(f'return wrk.format("POST", nil, {{{headers}}}, {body})').replace("index = {}, 0", f"index = {{}}, {max(0, posted - 64)}")
        wrk(env["COUNTERSIGN_RECEIPT_INTAKE_URL"] + "/v1/purchases", script, 64, 5)
        posted = query(env, "SELECT count(*) FROM submissions")
        if posted >= count:
            break
    return posted


def query(env, sql):
    return int(subprocess.check_output(
        ["bash", "-c", '. "$0" && exec "$PG_BIN/psql" -XAtq "$1" -c "$2"', str(ROOT / ".local" / "env.sh"),
         env["COUNTERSIGN_POSTGRES_URL"], sql], text=True))


def verdicts(env):
    """Verdicts that the worker has sent and the broker has taken, and the lines about those that found no purchase; none
    while it does not answer."""
    lines = metric_lines(env["COUNTERSIGN_VERIFICATION_WORKER_1_ADMIN_URL"])
    without = [line for line in selected(lines, "countersign_verdicts_total{") if 'verdict="genuine"' not in line]
    return counted(lines, PUBLISHED, OF_VERDICTS, DELIVERED), without


def busy(name):
    """Seconds of processor time that a process of the stack has used, with its children."""
    total = 0
    pid = (FOLDER / "pids" / name).read_text().split()[0]
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            number, _, fields = stat.read_text().partition(" (")
        except OSError:
            continue
        values = fields.rpartition(") ")[2].split()
        if number == pid or values[1] == pid:
            total += int(values[11]) + int(values[12])
    return total / os.sysconf("SC_CLK_TCK")


def settle(env, names):
    """Verdicts a second of one worker, and the share of a core that each process used meanwhile."""
    stack("start", WORKER)
    deadline = time.monotonic() + START_SECONDS
    while verdicts(env)[0] == 0:
        if time.monotonic() > deadline:
            raise SystemExit(f"{WORKER} settled nothing in {START_SECONDS} s")
        time.sleep(0.1)
    time.sleep(WARM_SECONDS)
    begun, before, used = time.monotonic(), verdicts(env)[0], {name: busy(name) for name in names}
    time.sleep(SECONDS)
    (after, without), lasted = verdicts(env), time.monotonic() - begun
    if without:
        raise SystemExit("\n".join(["verdicts without a purchase are not what was to be measured:", *without]))
    shares = {name: (busy(name) - used[name]) / lasted for name in names}
    return (after - before) / lasted, shares


def shares_text(shares):
    return ", ".join(f"{name} {share:.2f}" for name, share in shares.items())


def main():
    possible = IN_FLIGHT / LATENCY_MS * 1000
    # For both runs of the worker, and for what it settles until it is seen to work and until it has stopped.
    count = int(2 * (WARM_SECONDS + SECONDS + 4) * possible)
    for name in ["postgres", "broker", "simulator"]:
        stack("start", name)
    stack("tool", "migrate")
    stack("start", "receipt-intake")
    env = settings()
    (FOLDER / "config" / f"{WORKER}.env").write_text(
        f"COUNTERSIGN_RATE_PER_SECOND={RATE_PER_SECOND}\nCOUNTERSIGN_LOOKUPS_IN_FLIGHT_MAXIMUM={IN_FLIGHT}\n")
    control(env, "PUT", "rate-limits", {"enabled": False})
    waiting = fill(env, count)
    ask = over_ids(f'return wrk.format("GET", "/inApps/v1/transactions/" .. id, {{["authorization"] = "Bearer {token(env)}"}})')
    production = env["COUNTERSIGN_SIMULATOR_PRODUCTION_URL"]
    prompt = wrk(production, ask, IN_FLIGHT, SECONDS)
    control(env, "PUT", "faults", {"rules": [{"fault": {"kind": "latency", "ms": LATENCY_MS}}]})
    slow = wrk(production, ask, IN_FLIGHT, SECONDS)
    # First with everything, while nobody has a backlog but the worker.
    for name in BACKEND:
        stack("start", name)
    granted = query(env, GRANTED)
    together, shares = settle(env, [WORKER, "simulator", "broker", "postgres", *BACKEND])
    granted = query(env, GRANTED) - granted
    for name in [WORKER, *reversed(BACKEND)]:
        stack("stop", name)
    alone, alone_shares = settle(env, [WORKER, "simulator", "broker"])
    rows = [
        ("in flight, divided by the latency", possible),
        (f"wrk, {IN_FLIGHT} connections, without latency", prompt),
        (f"wrk, {IN_FLIGHT} connections", slow),
        ("verdicts of one worker", alone),
        ("verdicts of one worker, and all are fulfilled", together),
    ]
    print(f"\n{'what':<50}{'a second':>10}   share of wrk's")
    for name, rate in rows:
        print(f"{name:<50}{rate:>10,.0f}   {rate / slow:.2f}")
    print(f"\ncores used: {shares_text(alone_shares)}\nwith all:   {shares_text(shares)}; {granted:,} orders were granted meanwhile")
    print(f"{os.cpu_count()} cores for everything; {LATENCY_MS} ms; {waiting:,} ids waited; {SECONDS} s each")


if __name__ == "__main__":
    main()
