"""What Tests/Benchmarks/pipeline compares: a whole Countersign, and the service that a studio would write instead."""

import datetime
import json
import os
import pathlib
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
PEER_DATABASE = "peer"
MARK = '"state":"granted"'  # In every good answer of either side.
PEER_SCHEMA = """
CREATE TABLE purchases (
    transaction_id text PRIMARY KEY, account text NOT NULL, product text NOT NULL, quantity integer NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE balances (
    account text NOT NULL, item text NOT NULL, amount bigint NOT NULL, PRIMARY KEY (account, item));
"""
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class CountersignSide:
    """The whole stack: a purchase is answered with its outcome, and a webhook tells the backend of it."""

    name, database, mark = "countersign", "countersign", MARK
    processes = [*reversed(WORKERS), "simulator", "broker", "zookeeper", "postgres"]

    def __init__(self, meter):
        self.meter = meter
        self.url = f"{meter.settings['COUNTERSIGN_RECEIPT_INTAKE_URL']}/v1/purchases?wait={WAIT}"
        self.authorization = f"Bearer {meter.settings['COUNTERSIGN_API_KEY']}"
        self.webhooks = pathlib.Path(meter.settings["COUNTERSIGN_WEBHOOK_RECEIVER_OUTPUT"])
        self.read, self.part, self.delivered, self.receiver = 0, b"", {}, None

    def start(self):
        url = urllib.parse.urlsplit(self.meter.settings["COUNTERSIGN_WEBHOOK_RECEIVER_URL"])
        # A group of its own: Ctrl-C comes to this program, which ends it.
        self.receiver = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "pipeline_receiver.py"), url.hostname, str(url.port),
             self.meter.settings["COUNTERSIGN_WEBHOOK_SECRET_FILE"], str(self.webhooks)],
            stdin=subprocess.DEVNULL, start_new_session=True)
        for name in WORKERS:
            self.meter.stack("start", name)

    def stop(self):
        """The services alone: the broker stays warm, and needs little without them."""
        for name in reversed(WORKERS):
            self.meter.stack("stop", name)
        if self.receiver:
            self.receiver.terminate()
            self.receiver.wait(STOP_SECONDS)
            self.receiver = None

    def processor_seconds(self):
        return {"webhook-receiver": used([self.receiver.pid]), **self.meter.processor_seconds(self.processes)}

    def thread_seconds(self):
        return self.meter.thread_seconds([*WORKERS, "broker"])

    def finish(self, ids, result):
        """Waits until the webhook of every purchase was delivered; the seconds from the first post until then."""
        failed = sum(result["failures"].values())
        deadline = time.monotonic() + WEBHOOKS_SECONDS
        while True:
            self.read_webhooks()
            missing = [one for one in ids if one not in self.delivered]
            if len(missing) <= failed:  # What failed may have been granted, or not.
                break
            if self.receiver.poll() is not None:
                raise MeasureError(f"the receiver of webhooks ended with {self.receiver.returncode}")
            if time.monotonic() > deadline:
                raise MeasureError(f"{len(missing)} webhooks are not delivered after {WEBHOOKS_SECONDS} s, such as "
                                   f"that of {missing[0]}; failures: {result['failures']}")
            time.sleep(WEBHOOKS_PAUSE)
        last = max((self.delivered[one] for one in ids if one in self.delivered), default=0.0)
        return max(result["seconds"], last - result["started"])

    def read_webhooks(self):
        """When the webhook of each transaction came first, by the receiver's clock, which is this machine's."""
        if not self.webhooks.exists():
            return
        with open(self.webhooks, "rb") as file:
            file.seek(self.read)
            data = file.read()
        self.read += len(data)
        *lines, self.part = (self.part + data).split(b"\n")
        for line in lines:
            webhook = json.loads(line)
            came = datetime.datetime.fromisoformat(webhook["received_at"].replace("Z", "+00:00")).timestamp()
            self.delivered.setdefault(webhook.get("transaction_id"), came)

    def check(self):
        """The books agree, or the figures are worth nothing."""
        self.meter.stack("tool", "books", "check")


class PeerSide:
    """pipeline_peer.py under uvicorn, with a database of its own on the same server."""

    name, database, mark = "peer", PEER_DATABASE, MARK

    def __init__(self, meter, python):
        self.meter, self.python, self.process, self.granted = meter, python, None, set()
        address = meter.settings["COUNTERSIGN_SIMULATOR_URL"].rpartition(":")[0].removeprefix("http://")
        self.address, self.port = address.strip("[]"), choose_port(set(), address.strip("[]"))
        self.base = f"http://{address}:{self.port}"
        self.url = self.base + "/v1/purchases"
        self.authorization = f"Bearer {meter.settings['COUNTERSIGN_API_KEY']}"
        meter.query(f"CREATE DATABASE {PEER_DATABASE}")
        meter.query(PEER_SCHEMA, PGDATABASE=PEER_DATABASE)

    def environment(self):
        url = urllib.parse.urlsplit(self.meter.settings["COUNTERSIGN_POSTGRES_URL"])
        return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "*",
                "PEER_ROUTE": os.environ.get("PEER_ROUTE", "async"),
                "PEER_API_KEY": self.meter.settings["COUNTERSIGN_API_KEY"],
                "PEER_ROOT": str(self.meter.folder / "simulator" / "root.der"),
                "PEER_POSTGRES": f"host={url.hostname} port={url.port} user={url.username} dbname={PEER_DATABASE}",
                "PGPASSWORD": urllib.parse.unquote(url.password)}

    def start(self):
        with open(self.meter.folder / "logs" / "peer.log", "ab") as log:
            # A group of its own: Ctrl-C comes to this program, which ends it.
            self.process = subprocess.Popen(
                [self.python, "-m", "uvicorn", "pipeline_peer:app", "--app-dir", str(HERE), "--host", self.address,
                 "--port", str(self.port), "--workers", str(PEER_PROCESSES), "--loop", "uvloop", "--http", "httptools",
                 "--no-access-log", "--log-level", "warning"],
                env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise MeasureError(f"the peer did not start:\n{(self.meter.folder / 'logs' / 'peer.log').read_text()[-2000:]}")
            time.sleep(0.1)

    def is_ready(self):
        """Whether it answers, with every process."""
        try:
            with OPENER.open(self.base + "/readyz", timeout=2):
                return len(family(self.process.pid)) > PEER_PROCESSES
        except OSError:
            return False

    def stop(self):
        if not self.process:
            return
        members = family(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # Its processes have no other parent yet, so the ids are still theirs.
            for member in set(members) & set(family(self.process.pid)):
                os.kill(member, 9)
            self.process.wait(STOP_SECONDS)
        self.process = None

    def processor_seconds(self):
        return {"peer": used(family(self.process.pid)), **self.meter.processor_seconds(["broker", "postgres"])}

    def thread_seconds(self):
        """Its processes have one each."""
        return {}

    def finish(self, ids, result):
        """Nothing comes after the answer."""
        self.granted.update(ids)
        return result["seconds"]

    def check(self):
        """Every purchase was granted, once."""
        count, amount = map(int, self.meter.query("SELECT (SELECT count(*) FROM purchases), (SELECT sum(amount) FROM balances)",
                                                  PGDATABASE=PEER_DATABASE)[0])
        if count != len(self.granted) or amount != 100 * count:
            raise MeasureError(f"the peer granted {count} of {len(self.granted)} purchases, {amount} gems")
