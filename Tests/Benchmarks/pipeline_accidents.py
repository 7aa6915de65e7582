"""The accidents of Tests/Benchmarks/pipeline: each process is killed under load, and the backend is away for a while.

Players buy at a steady rate, and an app posts again what was not answered well. Counted are purchases that were answered as granted
and are not in the books (lost), purchases that were granted more than once (doubled), webhooks that never came, and the longest
time without any good answer.
"""

import threading
import time

RATE, SECONDS = 100, 20  # The load of each accident; the process is killed after a quarter.
RESTART_SECONDS = 1.0  # Until what was killed is started again, as systemd does with RestartSec=1.
AWAY_RATE = 20


def all_of(pipeline, sides, away):
    """Every accident of every side, as rows for the report."""
    rows = []
    for side in sides:
        side.start()
        try:
            for victim in side.victims:
                rows.append(killed(pipeline, side, victim))
            if side.receiver:
                rows.append(backend_away(pipeline, side, away))
            pipeline.check(side)
        finally:
            side.stop()
    return rows


def killed(pipeline, side, victim):
    def accident():
        time.sleep(SECONDS / 4)
        side.kill(victim)
        time.sleep(RESTART_SECONDS)
        side.revive(victim)

    return accidental(pipeline, side, f"kill -9 of {victim}", RATE, SECONDS, accident)


def backend_away(pipeline, side, seconds):
    def accident():
        side.receiver.stop()
        time.sleep(seconds)
        side.receiver.start()

    return accidental(pipeline, side, f"the backend is away for {seconds} s", AWAY_RATE, seconds + 5, accident)


def accidental(pipeline, side, name, rate, seconds, accident):
    """The load with the accident beside it; its row."""
    ids = pipeline.prepare("bodies-accident", rate * seconds)
    granted_before, grants_before = pipeline.books(side)
    error = []

    def run():
        try:
            accident()
        except Exception as caught:  # The load's end says when this is over, so it is told then.
            error.append(caught)

    beside = threading.Thread(target=run)
    beside.start()
    result = pipeline.post(side, ("rate", rate), seconds, "bodies-accident")
    beside.join()
    if error:
        raise error[0]
    side.revive(side.victims[0])
    until_last = side.finish(ids[:result["posted"]], result)
    granted, grants = pipeline.books(side)
    granted, grants = granted - granted_before, grants - grants_before
    row = {"side": side.name, "accident": name, "posted": result["posted"], "lost": max(0, result["granted"] - granted),
           "unanswered": result["posted"] - result["granted"], "doubled": grants - granted,
           "gap": result["longest_gap_seconds"], "p99_ms": result["p99_ms"],
           "last_webhook": max(0.0, until_last - result["seconds"]) if side.receiver else None}
    print(row, flush=True)
    return row
