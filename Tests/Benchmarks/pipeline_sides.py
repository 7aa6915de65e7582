"""What Tests/Benchmarks/pipeline compares: a whole Countersign, and two services that a studio would write instead.

A side has `name`, `database`, `url`, `authorization`, `start`, `stop`, `processor_seconds`, `thread_seconds`, `finish` (what comes after
the answers), `books` and, for accidents, `victims`, `kill` and `revive`.
"""

import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from stack_meter import MeasureError, family, used
from stack_settings import WORKERS, choose_port

HERE = pathlib.Path(__file__).resolve().parent
WAIT = 20  # Seconds that a post to Countersign waits for its outcome.
WEBHOOKS_SECONDS = 120  # That the last webhook may take after the last answer.
WEBHOOKS_PAUSE = 0.2  # Seconds between two looks at what the receiver has written.
START_SECONDS, STOP_SECONDS = 30, 20  # The peer's, and the receiver's.
PEER_PROCESSES = 2
MARK = '"state":"granted"'  # In every good answer of every side.
PEER_SCHEMA = """
CREATE TABLE purchases (
    transaction_id text PRIMARY KEY, account text NOT NULL, product text NOT NULL, quantity integer NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE balances (
    account text NOT NULL, item text NOT NULL, amount bigint NOT NULL, PRIMARY KEY (account, item));
"""
EQUAL_SCHEMA = PEER_SCHEMA + """
CREATE TABLE ledger (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, transaction_id text NOT NULL REFERENCES purchases, account text NOT NULL,
    item text NOT NULL, amount bigint NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL, attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX outbox_due ON outbox (due_at, id);
CREATE TABLE attempts (
    event bigint NOT NULL, attempt integer NOT NULL, status integer NOT NULL, ended_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event, attempt));
"""
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Receiver:
    """The studio's own service, which the webhooks come to."""

    def __init__(self, meter, name):
        self.url = meter.settings["COUNTERSIGN_WEBHOOK_RECEIVER_URL"]
        self.secret = meter.settings["COUNTERSIGN_WEBHOOK_SECRET_FILE"]
        self.output = meter.folder / f"webhooks-{name}"
        self.output.touch()
        self.read, self.part, self.delivered, self.process = 0, b"", {}, None

    def start(self):
        url = urllib.parse.urlsplit(self.url)
        # A group of its own: Ctrl-C comes to this program, which ends it.
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "pipeline_receiver.py"), url.hostname, str(url.port), self.secret, str(self.output)],
            stdin=subprocess.DEVNULL, start_new_session=True)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(STOP_SECONDS)
        self.process = None

    def look(self):
        """When the webhook of each transaction came first, by the receiver's clock, which is this machine's."""
        with open(self.output, "rb") as file:
            file.seek(self.read)
            data = file.read()
        self.read += len(data)
        *lines, self.part = (self.part + data).split(b"\n")
        for line in lines:
            webhook = json.loads(line)
            came = datetime.datetime.fromisoformat(webhook["received_at"].replace("Z", "+00:00")).timestamp()
            self.delivered.setdefault(webhook.get("transaction_id"), came)

    def finish(self, ids, result):
        """Waits until the webhook of every purchase was delivered; the seconds from the first post until then."""
        deadline = time.monotonic() + WEBHOOKS_SECONDS
        while True:
            self.look()
            missing = [one for one in ids if one not in self.delivered]
            if len(missing) <= result["posted"] - result["granted"]:  # The others may have been granted, or not.
                break
            if time.monotonic() > deadline:
                raise MeasureError(f"{len(missing)} webhooks are not delivered after {WEBHOOKS_SECONDS} s, such as "
                                   f"that of {missing[0]}; failures: {result['failures']}")
            time.sleep(WEBHOOKS_PAUSE)
        last = max((self.delivered[one] for one in ids if one in self.delivered), default=0.0)
        return max(result["seconds"], last - result["started"])


class CountersignSide:
    """The whole stack: a purchase is answered with its outcome, and a webhook tells the backend of it."""

    name = database = "countersign"
    mark, victims = MARK, [*WORKERS, "broker", "postgres"]
    processes = [*reversed(WORKERS), "simulator", "broker", "zookeeper", "postgres"]
    BOOKS = """SELECT (SELECT count(DISTINCT (environment, transaction_id)) FROM ledger_entries WHERE kind = 'grant'),
                      (SELECT coalesce(sum(amount), 0) FROM balances)"""

    def __init__(self, meter):
        self.meter = meter
        self.url = f"{meter.settings['COUNTERSIGN_RECEIPT_INTAKE_URL']}/v1/purchases?wait={WAIT}"
        self.authorization = f"Bearer {meter.settings['COUNTERSIGN_API_KEY']}"
        self.receiver = Receiver(meter, self.name)

    def start(self):
        self.receiver.start()
        for name in WORKERS:
            self.meter.stack("start", name)

    def stop(self):
        """The services alone: the broker stays warm, and needs little without them."""
        for name in reversed(WORKERS):
            self.meter.stack("stop", name)
        self.receiver.stop()

    def kill(self, name):
        os.kill(self.meter.pid(name), signal.SIGKILL)

    def revive(self, name):
        self.meter.stack("start", name)

    def processor_seconds(self):
        return {"webhook-receiver": used([self.receiver.process.pid]), **self.meter.processor_seconds(self.processes)}

    def thread_seconds(self):
        return self.meter.thread_seconds([*WORKERS, "broker"])

    def finish(self, ids, result):
        return self.receiver.finish(ids, result)

    def check(self):
        """The books agree, or the figures are worth nothing."""
        self.meter.stack("tool", "books", "check")


class PeerSide:
    """pipeline_peer.py under uvicorn, with a database of its own on the same server."""

    mark, processes = MARK, ["broker", "postgres"]
    BOOKS = "SELECT (SELECT count(*) FROM purchases), (SELECT coalesce(sum(amount), 0) FROM balances)"

    def __init__(self, meter, python, kind):
        self.meter, self.python, self.kind, self.running = meter, python, kind, {}
        self.name, self.database = f"{kind} peer", f"peer_{kind}"
        self.victims = ["peer", "postgres"] if kind == "naive" else ["peer", "webhooks", "postgres"]
        self.receiver = Receiver(meter, kind) if kind == "equal" else None
        address = meter.settings["COUNTERSIGN_SIMULATOR_URL"].rpartition(":")[0].removeprefix("http://")
        self.address, self.port = address.strip("[]"), choose_port(set(), address.strip("[]"))
        self.base = f"http://{address}:{self.port}"
        self.url = self.base + "/v1/purchases"
        self.authorization = f"Bearer {meter.settings['COUNTERSIGN_API_KEY']}"
        self.log = self.meter.folder / "logs" / f"{self.database}.log"
        meter.query(f"CREATE DATABASE {self.database}")
        meter.query(PEER_SCHEMA if kind == "naive" else EQUAL_SCHEMA, PGDATABASE=self.database)

    def environment(self):
        url = urllib.parse.urlsplit(self.meter.settings["COUNTERSIGN_POSTGRES_URL"])
        return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "*", "PEER_KIND": self.kind,
                "PEER_API_KEY": self.meter.settings["COUNTERSIGN_API_KEY"],
                "PEER_ROOT": str(self.meter.folder / "simulator" / "root.der"),
                "PEER_POSTGRES": f"host={url.hostname} port={url.port} user={url.username} dbname={self.database}",
                "PGPASSWORD": urllib.parse.unquote(url.password)}

    def start(self):
        if self.receiver:
            self.receiver.start()
        for name in self.victims[:-1]:
            self.start_one(name)
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if time.monotonic() > deadline:
                self.stop()
                raise MeasureError(f"the peer did not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.1)

    def start_one(self, name):
        if name == "peer":
            words = ["-m", "uvicorn", "pipeline_peer:app", "--app-dir", str(HERE), "--host", self.address, "--port", str(self.port),
                     "--workers", str(PEER_PROCESSES), "--loop", "uvloop", "--http", "httptools", "--no-access-log",
                     "--log-level", "warning"]
        else:
            words = [str(HERE / "pipeline_peer_webhooks.py"), self.receiver.url, self.receiver.secret]
        with open(self.log, "ab") as log:
            # A group of its own: Ctrl-C comes to this program, which ends it.
            self.running[name] = subprocess.Popen([self.python, *words], env=self.environment(), stdin=subprocess.DEVNULL,
                                                  stdout=log, stderr=log, start_new_session=True)

    def is_ready(self):
        """Whether it answers, with every process."""
        try:
            with OPENER.open(self.base + "/readyz", timeout=2):
                return len(family(self.running["peer"].pid)) > PEER_PROCESSES
        except OSError:
            return False

    def stop(self):
        for process in self.running.values():
            members = family(process.pid)
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                # Its processes have no other parent yet, so the ids are still theirs.
                for member in set(members) & set(family(process.pid)):
                    os.kill(member, signal.SIGKILL)
                process.wait(STOP_SECONDS)
        self.running = {}
        if self.receiver:
            self.receiver.stop()

    def kill(self, name):
        """Of uvicorn one of the processes that answer: their parent starts another."""
        if name == "postgres":
            pid = self.meter.pid(name)
        else:
            members = family(self.running[name].pid)
            pid = next((one for one in members if b"spawn_main" in pathlib.Path(f"/proc/{one}/cmdline").read_bytes()), members[0])
        os.kill(pid, signal.SIGKILL)

    def revive(self, name):
        """As systemd would: what has ended is started."""
        if name == "postgres":
            self.meter.stack("start", name)
        for one, process in list(self.running.items()):
            if process.poll() is not None:
                self.start_one(one)

    def processor_seconds(self):
        receiver = {"webhook-receiver": used([self.receiver.process.pid])} if self.receiver else {}
        peer = sum(used(family(process.pid)) for process in self.running.values())
        return {**receiver, "peer": peer, **self.meter.processor_seconds(self.processes)}

    def thread_seconds(self):
        """Its processes have one each."""
        return {}

    def finish(self, ids, result):
        """Of the naive one, nothing comes after the answer."""
        return self.receiver.finish(ids, result) if self.receiver else result["seconds"]

    def check(self):
        """Nothing beside the books, which are looked at for every side."""
