"""What one purchase costs a stack that runs: processor time of each process, bytes in PostgreSQL, its WAL and Kafka."""

import json
import os
import platform
import time

from stack_meter import MeasureError, StackMeter, differences

WARM_PURCHASES = 5_000  # Before it begins: the broker compiles while it works.
WARM_SECONDS = 35  # After them; every 30 s intake looks which certificate chain it may leave out of rows.
IDLE_SECONDS = 20  # Of looking at what the processes use without purchases, which is taken off.
SETTLE_SECONDS = 10  # That webhooks and commits of offsets may take after the last outcome.


def measure(folder, purchases):
    """The costs of one purchase, after `purchases` of them were posted as signed transactions and settled."""
    meter = StackMeter(folder)
    if meter.settings["COUNTERSIGN_STACK_BROKER"] != "kafka":
        raise MeasureError("the stack runs on Tansu; Apache Kafka is what is reckoned with")
    meter.stack("lab", "load", "--count", str(WARM_PURCHASES))
    time.sleep(WARM_SECONDS)
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
