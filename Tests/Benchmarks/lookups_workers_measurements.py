"""One, two and four workers that ask Apple, each with so many questions at a time. Called by Tests/Benchmarks/lookups-workers.

usage: lookups_workers_measurements.py FOLDER SECONDS IN_FLIGHT WORKERS...      somebody else removes the stack in FOLDER
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

from lookups_measurements import (FOLDER, LATENCY_MS, RATE_PER_SECOND, ROOT, SECONDS, START_SECONDS, WARM_SECONDS,
                                  busy, control, fill, query, settings, shares_text, stack)
from service_metrics import DELIVERED, OF_VERDICTS, PUBLISHED, counted, metric_lines
from stack_meter import family, used
from stack_settings import choose_port

IN_FLIGHT, WORKERS = int(sys.argv[3]), [int(text) for text in sys.argv[4:]]
WORKERS_MAXIMUM, IN_FLIGHT_MAXIMUM, RATE_MAXIMUM = 8, 512, 1_500  # The rate is what these two cores can do.
STOP_SECONDS = 30


def sent(port):
    """Verdicts that a worker has sent and the broker has; 0 while it does not answer."""
    return counted(metric_lines(f"http://127.0.0.1:{port}"), PUBLISHED, OF_VERDICTS, DELIVERED)


def measure(env, program, count):
    """Verdicts a second of so many workers, and the cores that everything used meanwhile."""
    running, ports = [], []
    try:
        for _ in range(count):
            ports.append(str(choose_port(set())))
            with open(FOLDER / "logs" / "workers.log", "ab") as log:
                running.append(subprocess.Popen(
                    [program], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    env={**os.environ, **env, "COUNTERSIGN_ADMIN_PORT": ports[-1],
                         "COUNTERSIGN_RATE_PER_SECOND": str(RATE_PER_SECOND),
                         "COUNTERSIGN_LOOKUPS_IN_FLIGHT_MAXIMUM": str(IN_FLIGHT)}))
        deadline = time.monotonic() + START_SECONDS
        # Members join one after the other, and each new one stops the others for a moment.
        while not all(sent(port) for port in ports):
            if time.monotonic() > deadline:
                raise SystemExit(f"not every one of {count} workers settled something in {START_SECONDS} s")
            time.sleep(0.1)
        time.sleep(WARM_SECONDS)
        begun, before, cores = time.monotonic(), sum(map(sent, ports)), cores_used(running)
        time.sleep(SECONDS)
        after, lasted = sum(map(sent, ports)), time.monotonic() - begun
        shares = {name: (seconds - cores[name]) / lasted for name, seconds in cores_used(running).items()}
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait(STOP_SECONDS)
    return (after - before) / lasted, shares


def cores_used(running):
    return {"workers": sum(used(family(process.pid)) for process in running), "simulator": busy("simulator"),
            "broker": busy("broker")}


def main():
    bound = IN_FLIGHT / LATENCY_MS * 1000
    fits = 1 <= IN_FLIGHT <= IN_FLIGHT_MAXIMUM and all(1 <= count <= WORKERS_MAXIMUM for count in WORKERS)
    if not fits or max(WORKERS) * bound > RATE_MAXIMUM:
        raise SystemExit(f"lookups-workers: 1 to {WORKERS_MAXIMUM} workers that ask {RATE_MAXIMUM} times a second at most")
    for name in ["postgres", "broker", "simulator"]:
        stack("start", name)
    stack("tool", "migrate")
    stack("start", "receipt-intake")
    env = settings()
    binaries = os.environ.get("COUNTERSIGN_BIN_DIR") or ROOT / ".build" / "release"
    control(env, "PUT", "rate-limits", {"enabled": False})
    # For joining, warming up, measuring, and what is settled until the last has stopped.
    waiting = fill(env, int(sum(WORKERS) * bound * (WARM_SECONDS + SECONDS + 20)))
    stack("stop", "receipt-intake")
    control(env, "PUT", "faults", {"rules": [{"fault": {"kind": "latency", "ms": LATENCY_MS}}]})
    rows = [(count, *measure(env, str(pathlib.Path(binaries) / "verification-worker"), count)) for count in WORKERS]
    print("\n| workers | verdicts/s | of the bound | ratio | cores |\n|---|---|---|---|---|")
    for count, rate, shares in rows:
        print(f"| {count} | {rate:,.0f} | {rate / (count * bound):.2f} | {rate / rows[0][1]:.2f} | {shares_text(shares)} |")
    print(f"\n{IN_FLIGHT} in flight each, {LATENCY_MS} ms: the bound is {bound:,.0f} a worker; {waiting:,} ids waited; "
          f"{query(env, 'SELECT count(*) FROM submissions'):,} submissions; {SECONDS} s each")


if __name__ == "__main__":
    main()
