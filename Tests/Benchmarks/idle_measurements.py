"""What every process of a stack uses while it has nothing to do. Called by Tests/Benchmarks/idle."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "deploy"))
from stack_meter import family, used  # noqa: E402 (found only from here on)

SETTLING = 10.0  # Seconds that the end of the start is given: first assignments, first looks for what is due.


def kibibytes(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def resident(members):
    """What one process has in memory; of several, pages that they share are counted once."""
    name, total = "Rss" if len(members) == 1 else "Pss", 0
    for member in members:
        try:
            total += kibibytes(member, name)
        except OSError:
            continue
    return total / 1024


def processes(folder):
    """The process ids of a stack's parts."""
    return {file.name: int(file.read_text().split()[0]) for file in sorted((folder / "pids").iterdir())
            if not file.name.endswith(".lock")}


def main():
    folder, broker, seconds = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    names = processes(folder)
    time.sleep(SETTLING)
    before, began = {name: used(family(pid)) for name, pid in names.items()}, time.monotonic()
    time.sleep(seconds)
    elapsed = time.monotonic() - began
    print(f"\n{broker}, idle for {elapsed:.0f} s\n\n| process | % of a core | MB |\n|---|---|---|")
    cores = memory = 0.0
    for name, pid in names.items():
        members = family(pid)
        share, size = 100 * (used(members) - before[name]) / elapsed, resident(members)
        print(f"| {name} | {share:.1f} | {size:.0f} |")
        cores, memory = cores + share, memory + size
    print(f"| all | {cores:.1f} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
