"""Looks at a stack that runs from outside: what its processes use, what PostgreSQL and Kafka have written."""

import os
import pathlib
import shlex
import subprocess
import urllib.parse

from processes import running_pid
from setup_environment import read_setup

HERE = pathlib.Path(__file__).resolve().parent
PROCESSES = ["receipt-intake", "verification-worker-1", "verification-worker-2", "fulfillment", "notification", "postgres",
             "broker"]
TICKS = os.sysconf("SC_CLK_TCK")
# What a thread of a service or of the broker is for, by a part of its name.
THREAD_KINDS = [
    ("NIO-", "sockets and HTTP"), ("rdk:", "librdkafka"), ("kafka-scheduler", "others"), ("kafka-log", "others"),
    ("kafka-", "our side of librdkafka"), ("postgres-", "libpq, transactions"), ("-qos", "Swift's tasks"),
    ("data-plane", "requests"), ("CompilerThre", "compiler"), ("GC Thread", "garbage"), ("G1 ", "garbage")]


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

    def query(self, sql, **environment):
        """Rows of texts. The password goes by the environment, where only this user reads it; `environment` is libpq's."""
        url = urllib.parse.urlsplit(self.settings["COUNTERSIGN_POSTGRES_URL"])
        environment = {**os.environ, "PGHOST": url.hostname, "PGPORT": str(url.port), "PGUSER": url.username,
                       "PGPASSWORD": urllib.parse.unquote(url.password), "PGDATABASE": url.path.lstrip("/"), **environment}
        done = subprocess.run([str(self.psql), "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MeasureError(f"psql: {done.stderr.strip()}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def pid(self, name):
        pid = running_pid(self.folder / "pids" / name)
        if not pid:
            raise MeasureError(f"{name} does not run: deploy/stack --dir {self.folder} up")
        return pid

    def processor_seconds(self, names=PROCESSES):
        """Of each process, since it began; PostgreSQL's with its children, living and dead."""
        found = {}
        for name in names:
            pid = self.pid(name)
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split() if name == "postgres" else []
            found[name] = (ticks(pid, True) + sum(ticks(child) for child in children)) / TICKS
        return found

    def thread_seconds(self, names):
        """The same of what each kind of thread has used, by process and kind; threads that have ended are not counted."""
        found = {}
        for name in names:
            for task in pathlib.Path(f"/proc/{self.pid(name)}/task").iterdir():
                try:
                    # Nanoseconds, where the ticks of so many threads would be guesses.
                    seconds = int((task / "schedstat").read_text().split()[0]) / 1e9
                    kind = thread_kind((task / "comm").read_text().strip())
                except OSError:
                    continue
                found[name, kind] = found.get((name, kind), 0.0) + seconds
        return found

    def relations(self):
        """Bytes of every table, all its months together (with what is toasted), and of its indexes."""
        rows = self.query("SELECT regexp_replace(relname, '_[0-9]{4}_[0-9]{2}$', ''), sum(pg_table_size(oid)), sum(pg_indexes_size(oid)) "
                          "FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace GROUP BY 1")
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


def thread_kind(name):
    """By the 15 bytes of its name."""
    return next((kind for part, kind in THREAD_KINDS if part in name), "others")


def ticks(pid, with_dead_children=False):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0  # Gone meanwhile: its parent has counted it.
    return sum(map(int, fields[11:15 if with_dead_children else 13]))


def parents():
    """The parent of every process that there is."""
    found = {}
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # It has ended.
    return found


def family(pid):
    """The process and all that descends from it: PostgreSQL is many."""
    tree, members = parents(), [pid]
    for member in members:
        members += [child for child, parent in tree.items() if parent == member]
    return members


def used(members):
    """Seconds of the processor, with children that have ended and were waited for; connections come and go."""
    return sum(ticks(member, True) for member in members) / TICKS


def differences(before, after):
    return {name: after[name] - before.get(name, 0) for name in after}
