"""What the parts of a purchase cost at least. Called by Tests/Benchmarks/floors.

usage: floors_measurements.py FOLDER SECONDS      somebody else removes the stack in FOLDER
"""

import os
import subprocess
import sys
import time
import types

from lookups_measurements import FOLDER, SECONDS, control
from pipeline_measurements import TAIL_SECONDS, WARM_CONNECTIONS, Pipeline
from pipeline_report import PARTS
from setup_environment import read_setup  # Found since the module before has said where.
from stack_meter import MeasureError

SECONDS_MAXIMUM = 60
CONNECTIONS = (8, 64)
# What a commit of the pipeline holds with so many connections, as its metrics say; and how long its answer takes.
BATCHES, ANSWER_MS = {8: 6, 64: 20}, {8: 17, 64: 50}
RATES = {8: 800, 64: 2000}  # Purchases a second that are prepared.
MESSAGES_A_SECOND, MESSAGE_BYTES = 500, 1500
TOPIC = "floor"
TOOL_SECONDS = 120  # That one of Kafka's tools may take.
# The steps of a purchase, each a transaction as in the pipeline: accepted, settled, taken over, told.
STEPS = [
    ["submissions", "submission_proofs"],
    ["orders", "order_transactions", "ledger_entries", "sweep_tasks", "events", "event_positions"],
    ["webhook_deliveries"],
    ["webhook_attempts"]]
BETWEEN = "WHERE n BETWEEN place AND place + batch - 1"
# What is changed beside that, by the step's place.
UPDATES = {
    1: [f"UPDATE floor.submissions SET due_at = NULL WHERE id IN (SELECT (r).id FROM floor.stage_submissions {BETWEEN})",
        f"INSERT INTO floor.event_outbox SELECT (r).id, now() FROM floor.stage_events {BETWEEN}",
        "UPDATE floor.balances b SET amount = b.amount + 1 FROM floor.stage_balances s WHERE s.n BETWEEN place % 900 AND "
        "place % 900 + batch - 1 AND (b.account, b.app, b.environment, b.item) = ((s.r).account, (s.r).app, (s.r).environment, "
        "(s.r).item)",
        "UPDATE floor.account_sequences b SET last_sequence = b.last_sequence + 1 FROM floor.stage_account_sequences s WHERE s.n "
        "BETWEEN place % 900 AND place % 900 + batch - 1 AND (b.account, b.app, b.environment) = ((s.r).account, (s.r).app, "
        "(s.r).environment)"],
    2: [f"DELETE FROM floor.event_outbox WHERE event_id IN (SELECT (r).id FROM floor.stage_events {BETWEEN})"],
    3: ["UPDATE floor.webhook_deliveries d SET last_status = 204 WHERE event_id IN (SELECT (r).event_id FROM "
        f"floor.stage_webhook_deliveries {BETWEEN})"]}


def run_load(pipeline, side, connections):
    """The whole pipeline: microseconds of each part for a purchase."""
    name = f"bodies-{connections}"
    ids = pipeline.prepare(name, SECONDS * RATES[connections])
    before = side.processor_seconds()
    result = pipeline.post(side, connections, SECONDS, name)
    side.finish(ids[:result["posted"]], result)
    time.sleep(TAIL_SECONDS)
    after = side.processor_seconds()
    if result["failures"]:
        raise MeasureError(f"failures: {result['failures']}")
    return {part: sum(after[name] - before[name] for name in names if name in after) / result["answered"] * 1e6
            for part, names in PARTS.items()}


def http(pipeline, side, connections):
    """A request whose body is a purchase's, read as JSON, answered in the pipeline's time by a server that does nothing else."""
    settings = pipeline.meter.settings
    control(settings, "PUT", "faults", {"rules": [{"fault": {"kind": "latency", "ms": ANSWER_MS[connections]}}]})
    server = types.SimpleNamespace(
        name="http", url=settings["COUNTERSIGN_SIMULATOR_PRODUCTION_URL"] + "/verifyReceipt", mark='"status"',
        authorization=side.authorization)
    before = pipeline.meter.processor_seconds(["simulator"])["simulator"]
    result = pipeline.post(server, connections, SECONDS, f"bodies-{connections}")
    after = pipeline.meter.processor_seconds(["simulator"])["simulator"]
    if result["failures"]:
        raise MeasureError(f"failures: {result['failures']}")
    return (after - before) / result["answered"] * 1e6


def kafka_tool(name, *arguments):
    """One of Kafka's own, begun."""
    found = read_setup("COUNTERSIGN_KAFKA_HOME", "COUNTERSIGN_JAVA_HOME")
    return subprocess.Popen(
        [f"{found['COUNTERSIGN_KAFKA_HOME']}/bin/{name}.sh", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "JAVA_HOME": found["COUNTERSIGN_JAVA_HOME"], "LOG_DIR": str(FOLDER / "logs")})


def ended(process):
    try:
        output, _ = process.communicate(timeout=TOOL_SECONDS)
    finally:
        process.kill()
    if process.returncode:
        raise MeasureError(f"{process.args[0]} ended with {process.returncode}:\n{output[-2000:]}")


def message(pipeline):
    """A message in a request of its own, acknowledged, and fetched by one consumer that waits for it: the broker's time."""
    servers = pipeline.meter.settings["COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS"]
    ended(kafka_tool("kafka-topics", "--bootstrap-server", servers, "--create", "--topic", TOPIC, "--partitions", "1",
                     "--replication-factor", "1"))
    count = MESSAGES_A_SECOND * SECONDS
    costs = []
    for _ in range(2):  # The first warms up.
        consumer = kafka_tool("kafka-consumer-perf-test", "--broker-list", servers, "--topic", TOPIC, "--messages", str(count),
                              "--from-latest", "--timeout", str(TOOL_SECONDS * 1000))
        time.sleep(5)  # It joins its group; nobody can ask it whether it has.
        before = pipeline.meter.processor_seconds(["broker"])["broker"]
        ended(kafka_tool(
            "kafka-producer-perf-test", "--topic", TOPIC, "--num-records", str(count), "--record-size", str(MESSAGE_BYTES),
            "--throughput", str(MESSAGES_A_SECOND), "--producer-props", f"bootstrap.servers={servers}", "acks=all", "linger.ms=0",
            "batch.size=0"))
        costs.append((pipeline.meter.processor_seconds(["broker"])["broker"] - before) / count * 1e6)
        consumer.kill()
        consumer.communicate()
    return costs[-1]


def stage(pipeline):
    """The rows of the purchases, numbered, and empty tables with the same columns and indexes."""
    tables = [*(table for step in STEPS for table in step), "event_outbox", "balances", "account_sequences"]
    sql = ["CREATE SCHEMA floor"]
    for table in tables:
        sql += [f"CREATE UNLOGGED TABLE floor.stage_{table} AS SELECT row_number() OVER () AS n, t AS r FROM public.{table} t",
                f"CREATE INDEX ON floor.stage_{table} (n)",
                f"CREATE TABLE floor.{table} (LIKE public.{table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)"]
    for table in ("balances", "account_sequences"):
        sql.append(f"INSERT INTO floor.{table} SELECT (r).* FROM floor.stage_{table}")
    body = []
    for place, step in enumerate(STEPS):
        body += [f"INSERT INTO floor.{table} SELECT (r).* FROM floor.stage_{table} {BETWEEN}" for table in step] + UPDATES.get(place, []) + ["COMMIT"]
    sql.append("CREATE PROCEDURE floor.write(first bigint, batch int, count int) LANGUAGE plpgsql AS $$ "
               "DECLARE place bigint := first; BEGIN WHILE place < first + count LOOP "
               + "; ".join(body) + "; place := place + batch; END LOOP; END $$")
    pipeline.meter.query("; ".join(sql))
    pipeline.meter.query("ANALYZE")
    return int(pipeline.meter.query("SELECT count(*) FROM floor.stage_orders")[0][0])


def rows(pipeline, first, batch, count):
    """What PostgreSQL needs for the rows of a purchase, in four commits: no protocol, no plans, nothing read but these."""
    before = pipeline.meter.processor_seconds(["postgres"])["postgres"]
    pipeline.meter.query(f"CALL floor.write({first}, {batch}, {count})", PGOPTIONS="-c enable_seqscan=off")
    return (pipeline.meter.processor_seconds(["postgres"])["postgres"] - before) / count * 1e6


def main():
    if not 1 <= SECONDS <= SECONDS_MAXIMUM:
        raise SystemExit(f"floors: 1 to {SECONDS_MAXIMUM} seconds")
    pipeline = Pipeline(types.SimpleNamespace(folder=FOLDER, statements=False, peer=None, seconds=SECONDS, warm=SECONDS,
                                              connections=list(CONNECTIONS)))
    side = pipeline.begin()[0]
    side.start()
    try:
        pipeline.prepare("warm", 2 * SECONDS * RATES[WARM_CONNECTIONS])
        pipeline.post(side, WARM_CONNECTIONS, 2 * SECONDS, "warm")
        pipeline.meter.query("ANALYZE")
        whole = {connections: run_load(pipeline, side, connections) for connections in CONNECTIONS}
    finally:
        side.stop()
    bare = {connections: http(pipeline, side, connections) for connections in CONNECTIONS}
    one = message(pipeline)
    count = stage(pipeline) // 3 // 120 * 120  # Whole batches of either size.
    rows(pipeline, 1, BATCHES[64], count)  # Warms up.
    written = {connections: rows(pipeline, 1 + count * (1 + place), BATCHES[connections], count)
               for place, connections in enumerate(CONNECTIONS)}
    print("\n| us | " + " | ".join(f"{count} connections" for count in CONNECTIONS) + " |\n|---|---|---|")
    for name, values in [("receipt-intake, a purchase", {key: value["receipt-intake"] for key, value in whole.items()}),
                         ("a bare request over HTTP with its body", bare),
                         ("PostgreSQL, a purchase", {key: value["PostgreSQL"] for key, value in whole.items()}),
                         ("a purchase's rows alone", written),
                         ("broker, a purchase", {key: value["broker, ZooKeeper"] for key, value in whole.items()}),
                         ("broker, a message by itself", dict.fromkeys(CONNECTIONS, one))]:
        print(f"| {name} | " + " | ".join(f"{values[key]:.0f}" for key in CONNECTIONS) + " |")
    print(f"\n{SECONDS} s each; {count * 3:,} purchases; {BATCHES} in a commit")


if __name__ == "__main__":
    try:
        main()
    except (MeasureError, OSError, subprocess.TimeoutExpired) as error:
        sys.exit(f"floors: error: {error}")
