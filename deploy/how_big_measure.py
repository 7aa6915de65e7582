"""What one purchase costs a stack that runs: processor time of each process, bytes in PostgreSQL, its WAL and Kafka."""

import json
import os
import pathlib
import platform
import shlex
import subprocess
import time
import urllib.parse

from processes import running_pid
from setup_environment import read_setup

HERE = pathlib.Path(__file__).resolve().parent
IDLE_SECONDS = 20  # Of looking at what the processes use without purchases, which is taken off.
SETTLE_SECONDS = 10  # That webhooks and commits of offsets may take after the last outcome.
PROCESSES = ["receipt-intake", "verification-worker-1", "verification-worker-2", "fulfillment", "notification", "postgres",
             "broker"]
TICKS = os.sysconf("SC_CLK_TCK")


class MeasureError(Exception):
    """What a person has to know; no stack trace."""


class StackMeter:
    """Looks at a stack from outside."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        lines = self.stack("env").splitlines()
        self.settings = dict(shlex.split(line)[0].split("=", 1) for line in lines if line)
        self.psql = pathlib.Path(read_setup("PG_BIN")["PG_BIN"]) / "psql"

    def stack(self, *arguments):
        done = subprocess.run([str(HERE / "stack"), "--dir", str(self.folder), *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise MeasureError(f"stack {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def query(self, sql):
        """Rows of texts. The password goes by the environment, where only this user reads it."""
        url = urllib.parse.urlsplit(self.settings["COUNTERSIGN_POSTGRES_URL"])
        environment = {**os.environ, "PGHOST": url.hostname, "PGPORT": str(url.port), "PGUSER": url.username,
                       "PGPASSWORD": urllib.parse.unquote(url.password), "PGDATABASE": url.path.lstrip("/")}
        done = subprocess.run([str(self.psql), "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MeasureError(f"psql: {done.stderr.strip()}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def processor_seconds(self):
        """Of each process, since it began; PostgreSQL's with its children, living and dead."""
        found = {}
        for name in PROCESSES:
            pid = running_pid(self.folder / "pids" / name)
            if not pid:
                raise MeasureError(f"{name} does not run: deploy/stack --dir {self.folder} up")
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split() if name == "postgres" else []
            found[name] = (ticks(pid, True) + sum(ticks(child) for child in children)) / TICKS
        return found

    def relations(self):
        """Bytes of every table (with what is toasted) and of its indexes."""
        rows = self.query("SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class "
                          "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
        return {name: (int(table), int(indexes)) for name, table, indexes in rows}

    def wal(self):
        return int(self.query("SELECT pg_current_wal_insert_lsn() - '0/0'")[0][0])

    def kafka(self):
        """Bytes of each topic's log; Kafka's index files are made larger than what is in them."""
        found = {}
        for file in (self.folder / "kafka" / "broker").glob("countersign.*/*.log"):
            topic = file.parent.name.rpartition("-")[0]
            found[topic] = found.get(topic, 0) + file.stat().st_size
        return found


def ticks(pid, with_dead_children=False):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0  # Gone meanwhile: its parent has counted it.
    return sum(map(int, fields[11:15 if with_dead_children else 13]))


def differences(before, after):
    return {name: after[name] - before.get(name, 0) for name in after}


def measure(folder, purchases):
    """The costs of one purchase, after `purchases` of them were posted as signed transactions and settled."""
    meter = StackMeter(folder)
    if meter.settings["COUNTERSIGN_STACK_BROKER"] != "kafka":
        raise MeasureError("the stack runs on Tansu; Apache Kafka is what is reckoned with")
    start = meter.processor_seconds()
    time.sleep(IDLE_SECONDS)
    idle = {name: used / IDLE_SECONDS for name, used in differences(start, meter.processor_seconds()).items()}
    began, used, wal = time.monotonic(), meter.processor_seconds(), meter.wal()
    relations, kafka = meter.relations(), meter.kafka()
    meter.stack("lab", "load", "--count", str(purchases))
    time.sleep(SETTLE_SECONDS)
    seconds = time.monotonic() - began
    used = differences(used, meter.processor_seconds())
    wal = meter.wal() - wal
    after = meter.relations()
    sizes = {name: [(after[name][part] - relations.get(name, (0, 0))[part]) / purchases for part in (0, 1)] for name in after}
    processor = {name: max(0.0, used[name] - idle[name] * seconds) * 1000 / purchases for name in used}
    return {
        "purchases": purchases, "cores": os.cpu_count(), "machine": platform.machine(),
        "processor_ms": {
            "receipt-intake": round(processor["receipt-intake"], 3),
            "verification-worker": round(processor["verification-worker-1"] + processor["verification-worker-2"], 3),
            **{name: round(processor[name], 3) for name in ("fulfillment", "notification", "postgres", "broker")}},
        "table_bytes": {name: [round(size) for size in sizes[name]] for name in sorted(sizes) if any(sizes[name])},
        "wal_bytes": round(wal / purchases),
        "kafka_bytes": {topic: round(size / purchases) for topic, size in sorted(differences(kafka, meter.kafka()).items())
                        if size}}


def write(path, costs):
    path.write_text(json.dumps(costs, indent=2) + "\n")
