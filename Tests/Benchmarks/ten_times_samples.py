"""Looks at PostgreSQL's sessions and counters, and at threads, while something goes on; for Tests/Benchmarks/ten-times."""

import collections
import os
import pathlib
import subprocess
import threading
import time
import urllib.parse

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.1
THREAD_SECONDS = 1.0
TEXT = 60  # Characters of a statement.
END_SECONDS = 10



def written(session):
    """The first table that the statement of a session writes to, as SQL."""
    found = [f"substring({session}.query FROM '{verb}\\s+([a-z_]+)')" for verb in ("INSERT INTO", "UPDATE", "DELETE FROM")]
    return f"coalesce({', '.join(found)}, 'nothing written')"


# What every session of the services waits for that has work; and PostgreSQL's own processes where they do anything.
WAITS = f"""
SELECT 'w', coalesce(nullif(application_name, ''), backend_type),
    CASE WHEN state = 'idle in transaction' THEN 'in a transaction'
        WHEN wait_event_type IS NULL THEN 'processor' ELSE wait_event_type END,
    coalesce(CASE WHEN state = 'idle in transaction' THEN 'its process has the turn' ELSE wait_event END, 'runs or waits for a core'),
    left(regexp_replace(query, '\\s+', ' ', 'g'), {TEXT})
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND coalesce(application_name, '') NOT IN ('psql', 'ten-times')
    AND (state IN ('active', 'idle in transaction') OR backend_type <> 'client backend'
    AND wait_event_type IS DISTINCT FROM 'Activity' AND backend_type NOT IN ('logical replication launcher'))
UNION ALL
SELECT 'l', l.locktype || ' ' || l.mode, {written('a')}, coalesce(h.state, '-') || ', ' || {written('h')},
    left(regexp_replace(a.query, '\\s+', ' ', 'g'), {TEXT})
FROM pg_locks l JOIN pg_stat_activity a USING (pid) LEFT JOIN pg_stat_activity h ON h.pid = (pg_blocking_pids(a.pid))[1]
WHERE NOT l.granted
UNION ALL SELECT 't', '', '', '', '';
"""

COUNTERS = {
    "tables": "SELECT relname, seq_scan, seq_tup_read, idx_scan, n_tup_ins, n_tup_upd, n_tup_hot_upd, n_dead_tup, "
              "autovacuum_count FROM pg_stat_user_tables",
    "pages": "SELECT relname, heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit FROM pg_statio_user_tables",
    "indexes": "SELECT s.indexrelname, s.idx_scan, s.idx_tup_read, i.idx_blks_read, i.idx_blks_hit "
               "FROM pg_stat_user_indexes s JOIN pg_statio_user_indexes i USING (indexrelid)",
    "sequences": "SELECT schemaname || '.' || sequencename, coalesce(last_value, 0), cache_size FROM pg_sequences",
    "log": "SELECT 'wal', wal_records, wal_fpi, wal_bytes, wal_buffers_full FROM pg_stat_wal",
    "commits": "SELECT 'database', xact_commit, xact_rollback, deadlocks, temp_files FROM pg_stat_database "
               "WHERE datname = current_database()",
}
STATEMENTS = """
SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 100), calls, total_exec_time, rows, shared_blks_read, shared_blks_hit,
    wal_bytes FROM pg_stat_statements WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY total_exec_time DESC LIMIT 12
"""


class WaitSampler:
    """One session that looks at all others, ten times a second."""

    def __init__(self, meter, superuser):
        url = urllib.parse.urlsplit(meter.settings["COUNTERSIGN_POSTGRES_URL"])
        self.command = [str(meter.psql), "-XAtq", "-F", "\t"]
        self.environment = {**os.environ, "PGHOST": url.hostname, "PGPORT": str(url.port), "PGDATABASE": url.path.lstrip("/"),
                            "PGAPPNAME": "ten-times", **superuser}
        self.seen, self.locks, self.looks = collections.Counter(), collections.Counter(), 0

    def __enter__(self):
        self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.is_over = threading.Event()
        self.writer = threading.Thread(target=self.ask, daemon=True)
        self.writer.start()
        return self

    def ask(self):
        try:
            while not self.is_over.wait(SAMPLE_SECONDS):
                self.process.stdin.write(WAITS)
                self.process.stdin.flush()
        except OSError:
            pass  # psql has ended.

    def read(self):
        for line in self.process.stdout:
            kind, *fields = line.rstrip("\n").split("\t")
            if kind == "t":
                self.looks += 1
            elif kind == "w" and len(fields) == 4:
                self.seen[tuple(fields)] += 1
            elif kind == "l" and len(fields) == 4:
                self.locks[tuple(fields)] += 1

    def __exit__(self, *_):
        self.is_over.set()
        self.writer.join(END_SECONDS)
        self.process.stdin.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.reader.join(END_SECONDS)


class DatabaseLook:
    """What PostgreSQL has counted between two looks."""

    def __init__(self, meter, superuser):
        self.meter, self.superuser = meter, superuser

    def begin(self):
        self.meter.query("SELECT pg_stat_statements_reset()", **self.superuser)
        return self.counters()

    def end(self, before):
        statements = self.meter.query(STATEMENTS, **self.superuser)
        after = self.counters()
        # A row is new where a table or a sequence was not there before.
        grown = {kind: {name: [value - before[kind].get(name, [0] * len(values))[place]
                               for place, value in enumerate(values)] for name, values in rows.items()}
                 for kind, rows in after.items()}
        grown["statements"] = [(row[0], *map(float, row[1:])) for row in statements]
        return grown

    def counters(self):
        # Sessions tell what they have counted when they are idle, or after a second at the latest.
        time.sleep(1.5)
        return {kind: {row[0]: [float(value or 0) for value in row[1:]] for row in self.meter.query(sql, **self.superuser)}
                for kind, sql in COUNTERS.items()}


class Threads:
    """The processor time of each thread, added up by process and name."""

    def __init__(self, members):
        self.members, self.first, self.last, self.names = members, {}, {}, {}

    def __enter__(self):
        self.begun = time.monotonic()
        self.is_over = threading.Event()
        self.worker = threading.Thread(target=self.follow, daemon=True)
        self.worker.start()
        return self

    def follow(self):
        while True:
            self.look()
            if self.is_over.wait(THREAD_SECONDS):
                return self.look()

    def look(self):
        for owner, pids in self.members().items():
            for pid in pids:
                for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
                    self.note(owner, stat)

    def note(self, owner, stat):
        try:
            text = stat.read_text()
        except OSError:
            return  # It has ended.
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        if owner == "postgres":
            name = postgres_title(stat) or name
        ticks, thread = int(fields[11]) + int(fields[12]), (owner, stat.parent.name)
        self.names[thread] = name
        # One that began meanwhile began at nothing.
        self.first.setdefault(thread, ticks if time.monotonic() - self.begun < THREAD_SECONDS / 2 else 0)
        self.last[thread] = ticks

    def __exit__(self, *_):
        self.lasted = time.monotonic() - self.begun
        self.is_over.set()
        self.worker.join(END_SECONDS)

    def used(self):
        """The share of a core of each thread, the busiest first: owner, name, share."""
        found = [(owner, self.names[owner, number], (ticks - self.first[owner, number]) / TICKS / self.lasted)
                 for (owner, number), ticks in self.last.items()]
        return sorted(found, key=lambda row: -row[2])


def postgres_title(stat):
    """What a process of PostgreSQL's says that it is: `walwriter`, or whose connection it is."""
    try:
        words = (stat.parent.parent.parent / "cmdline").read_text().replace("\0", " ").split()
    except OSError:
        return None
    if len(words) < 2 or words[0] != "postgres:":
        return None
    return "connection" if "(" in " ".join(words) else " ".join(words[1:])
