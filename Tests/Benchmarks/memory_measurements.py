"""What every process of a stack has in memory before, during and after a load. Called by Tests/Benchmarks/memory."""

import pathlib
import subprocess
import sys
import time

from idle_measurements import SETTLING, processes, resident

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "deploy"))
from stack_meter import family  # noqa: E402 (found only from here on)

STACK = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy" / "stack"
MINUTES_MAXIMUM = 240
AFTERWARDS = 60.0  # Seconds after the load.
END_SECONDS = 120.0  # That the load may take beyond its time.


def sizes(names):
    """Megabytes of each process."""
    return {name: resident(family(pid)) for name, pid in names.items()}


def begin_load(folder, minutes, rate, connections):
    """Every purchase is new; each post waits for its outcome."""
    return subprocess.Popen(
        [str(STACK), "--dir", str(folder), "lab", "load", "--count", str(int(rate * 60 * minutes)), "--rate", str(rate),
         "--concurrency", str(connections), "--accounts", "1000", "--wait", "20"],
        stdin=subprocess.DEVNULL, stdout=sys.stderr)


def main():
    folder, minutes = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    rate, connections = float(sys.argv[3]), int(sys.argv[4])
    if not 1 <= minutes <= MINUTES_MAXIMUM:
        sys.exit(f"memory: 1 to {MINUTES_MAXIMUM} minutes")
    names = processes(folder)
    time.sleep(SETTLING)
    moments = {"idle": sizes(names)}
    load, began = begin_load(folder, minutes, rate, connections), time.monotonic()
    try:
        for minute in sorted({1, max(1, minutes // 4), max(1, minutes // 2), minutes}):
            # A look just before the load's end: afterwards memory may be given back.
            time.sleep(max(0.0, began + 60 * minute - 5 - time.monotonic()))
            moments[f"{minute} min"] = sizes(names)
        code = load.wait(END_SECONDS)
    finally:
        load.terminate()
    if code:
        sys.exit(f"memory: the load ended with {code}")
    time.sleep(AFTERWARDS)
    moments["afterwards"] = sizes(names)
    print(f"\n{rate:.0f} purchases a second on {connections} connections, MB\n\n| process | " + " | ".join(moments) + " |")
    print("|---" * (len(moments) + 1) + "|")
    for name in names:
        print(f"| {name} | " + " | ".join(f"{moment[name]:.0f}" for moment in moments.values()) + " |")
    print(flush=True)


if __name__ == "__main__":
    main()
