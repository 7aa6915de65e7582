"""Prints what Tests/Benchmarks/ten-times has seen: plain tables, and what comes first of each kind."""

import collections

ROWS = 10  # Of each table.


def show(title, seen):
    purchases, seconds = max(1, seen["purchases"]), seen["seconds"]
    print(f"\n# {title}\n\n{seen['purchases']:,} purchases granted in {seconds:.0f} s: {purchases / seconds:,.0f} a second\n")
    waits(seen)
    locks(seen)
    threads(seen)
    statements(seen, purchases)
    tables(seen, purchases)
    indexes(seen, purchases)
    sequences(seen, purchases)
    log(seen, purchases)
    first(seen, purchases)


def table(title, header, rows):
    print(f"\n{title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows[:ROWS]:
        print(f"| {' | '.join(row)} |")
    if not rows:
        print("| none |" + " |" * (len(header) - 1))


def wait_rows(seen):
    found = collections.Counter()
    for (who, kind, event, _), count in seen["waits"].items():
        found[who, kind, event] += count
    return [(key, count / max(1, seen["looks"])) for key, count in found.most_common()]


def waits(seen):
    table(f"What sessions of PostgreSQL did and waited for: sessions on average, of {seen['looks']} looks",
          ["who", "kind", "event", "sessions"],
          [(who, kind, event, f"{share:.2f}") for (who, kind, event), share in wait_rows(seen)])


def lock_rows(seen):
    return [(key, count / max(1, seen["looks"])) for key, count in seen["locks"].most_common()]


def locks(seen):
    table("Locks that somebody waited for: sessions on average", ["lock", "to write to", "whoever has it", "statement", "sessions"],
          [(lock, waiter, holder, text.replace("|", "/"), f"{share:.3f}")
           for (lock, waiter, holder, text), share in lock_rows(seen)])


def threads(seen):
    table("Threads, the busiest first", ["process", "thread", "share of a core"],
          [(owner, name, f"{share:.2f}") for owner, name, share in seen["threads"]])
    owners = collections.Counter()
    for owner, _, share in seen["threads"]:
        owners[owner] += share
    table("Processes", ["process", "cores"], [(owner, f"{share:.2f}") for owner, share in owners.most_common()])


def statements(seen, purchases):
    rows = seen["database"]["statements"]
    whole = sum(row[2] for row in rows) or 1
    table("Statements that took the most of PostgreSQL's time", ["statement", "share", "calls", "ms each", "pages read", "WAL bytes"],
          [(text.replace("|", "/"), f"{took / whole:.0%}", f"{calls:,.0f}", f"{took / max(1, calls):.2f}",
            f"{read / purchases:.2f}", f"{wal / purchases:,.0f}") for text, calls, took, _, read, _, wal in rows])
    print("\nPages and bytes are for a purchase.")


def table_rows(seen):
    return sorted(seen["database"]["tables"].items(), key=lambda row: -(row[1][3] + row[1][4]))


def tables(seen, purchases):
    rows = []
    for name, (_, seq_read, _, inserted, updated, hot, dead, vacuums) in table_rows(seen):
        read = seen["database"]["pages"].get(name, [0] * 4)
        rows.append((name, f"{inserted / purchases:.2f}", f"{updated / purchases:.2f}",
                     f"{hot / updated:.0%}" if updated else "-", f"{seq_read / purchases:,.0f}", f"{dead:,.0f}",
                     f"{vacuums:.0f}", f"{read[0] / purchases:.2f}"))
    table("Tables, for a purchase", ["table", "inserted", "updated", "of these in place", "read in sequence", "dead rows more",
                                     "vacuums", "pages from disk"], rows)


def index_rows(seen):
    return sorted(seen["database"]["indexes"].items(), key=lambda row: (-row[1][2], -row[1][3]))


def indexes(seen, purchases):
    table("Indexes, for a purchase, by pages that were not in memory", ["index", "scans", "pages from disk", "pages in memory"],
          [(name, f"{scans / purchases:.2f}", f"{read / purchases:.3f}", f"{hit / purchases:.1f}")
           for name, (scans, _, read, hit) in index_rows(seen)])


def sequence_rows(seen):
    return sorted(seen["database"]["sequences"].items(), key=lambda row: -row[1][0])


def sequences(seen, purchases):
    table("Sequences", ["sequence", "numbers for a purchase", "a second"],
          [(name, f"{taken / purchases:.2f}", f"{taken / seen['seconds']:,.0f}")
           for name, (taken, _) in sequence_rows(seen) if taken])


def log(seen, purchases):
    records, pages, size, full = seen["database"]["log"]["wal"]
    commits, rollbacks, deadlocks, files = seen["database"]["commits"]["database"]
    print(f"\nThe write-ahead log, for a purchase: {size / purchases:,.0f} bytes, {records / purchases:.1f} records, "
          f"{pages / purchases:.2f} whole pages; its buffers were full {full:,.0f} times.")
    print(f"Commits for a purchase: {commits / purchases:.2f}; rolled back {rollbacks:,.0f}, deadlocks {deadlocks:,.0f}, "
          f"files for sorting {files:,.0f}.")


def first(seen, purchases):
    """The first of each kind, in a sentence each."""
    print("\nWhat comes first:\n")
    if seen["threads"]:
        owner, name, share = seen["threads"][0]
        print(f"- the single thread: `{name}` of {owner}, {share:.2f} of a core; a thread ends at one")
    waiting = [row for row in wait_rows(seen) if row[0][1] not in ("processor", "in a transaction")]
    if waiting:
        (who, kind, event), share = waiting[0]
        print(f"- the wait: {kind} {event} of {who}, {share:.2f} sessions on average")
    held = lock_rows(seen)
    if held:
        (lock, waiter, holder, _), share = held[0]
        print(f"- the lock: {lock}, to write to {waiter}; whoever has it: {holder}; {share:.3f} sessions on average")
    else:
        print("- no lock: nobody was seen waiting for one")
    rows = [(name, values) for name, values in index_rows(seen) if values[2] > 0]
    if rows:
        name, (_, _, read, _) = rows[0]
        print(f"- the index: {name}, {read / purchases:.3f} pages from disk for a purchase")
    taken = [(name, values[0]) for name, values in sequence_rows(seen) if values[0] > 0]
    if taken:
        print(f"- the sequence: {taken[0][0]}, {taken[0][1] / purchases:.2f} numbers for a purchase")
    updated = max(seen["database"]["tables"].items(), key=lambda row: row[1][4], default=None)
    if updated:
        name, values = updated
        print(f"- the rows that change most: {name}, {values[4] / purchases:.2f} updates for a purchase, "
              f"{values[5] / max(1, values[4]):.0%} in place")
    if seen["database"]["statements"]:
        text, calls, took, *_ = seen["database"]["statements"][0]
        print(f"- the statement: `{text}`, {took / seen['seconds'] / 1000:.2f} sessions on average")
