"""What one stack of deploy/stack is made of: its folder, ports, secrets, environment and configuration files."""

import base64
import hashlib
import os
import pathlib
import random
import re
import secrets
import socket
import subprocess
import sys
import uuid

import stack_app_store
import stack_demo
from addresses import LOOPBACKS, authority
from private_broker import PrivateBroker
from private_files import write_private
from processes import file_lock
from setup_environment import read_setup

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIRST_PORT = 15000  # Ports are taken from here up to where the system's own range for clients begins.
APPLE_ROOT_G3 = "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"

WORKERS = ["notification", "fulfillment", "verification-worker-1", "verification-worker-2", "receipt-intake"]
CONSOLE = "console"  # Only where the apps file has its key; it has no database and no broker.
NAMES = ["postgres", "broker", "simulator", "webhook-receiver"] + WORKERS + [CONSOLE]  # In start order.
# The simulator has a port to control it, and one for each of Apple's two hosts.
SIMULATOR_PORTS = ["SIMULATOR_PORT", "SIMULATOR_PRODUCTION_PORT", "SIMULATOR_SANDBOX_PORT"]
BROKERS = ["kafka", "tansu"]  # What a stack can run; another one is named by COUNTERSIGN_KAFKA.
PORTS = ["POSTGRES_PORT", "ZOOKEEPER_PORT", "BROKER_PORT", *SIMULATOR_PORTS, "WEBHOOK_RECEIVER_PORT", "RECEIPT_INTAKE_PORT", "CONSOLE_PORT"] + [
    name.upper().replace("-", "_") + "_ADMIN_PORT" for name in [*WORKERS, CONSOLE]]


class StackError(Exception):
    """What a person has to know; no stack trace."""


def say(text):
    print(f"stack: {text}", file=sys.stderr, flush=True)


def port_is_free(port, address=LOOPBACKS[0]):
    """Whether a server may listen on it, on whatever address of the family of `address`."""
    everywhere, family = ("::", socket.AF_INET6) if ":" in address else ("0.0.0.0", socket.AF_INET)
    with socket.socket(family) as probe:
        # As servers do: what is left of closed connections does not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((everywhere, port))
        except OSError:
            return False
    return True


def choose_port(taken, address=LOOPBACKS[0]):
    """Below the range that outgoing connections use, or one could sit on the port while its owner restarts."""
    limit = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    if limit < FIRST_PORT + 1000:
        limit = 65535
    for _ in range(1000):
        port = random.randrange(FIRST_PORT, limit)
        if port not in taken and port_is_free(port, address):
            return port
    raise StackError("no free port found")


def read_values(path):
    if not path.exists():
        return {}
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)


def built_programs():
    """Those of a release that was unpacked; else where `deploy/build` puts the optimised programs, or, where it was not run, `deploy/build --demo`."""
    if os.access(ROOT / "bin" / "countersign", os.X_OK):
        return ROOT / "bin"
    release = ROOT / ".build" / "release"
    return release if os.access(release / "countersign", os.X_OK) else ROOT / ".build" / "demo" / "debug"


class StackSettings:
    """All that is fixed about a stack. It is on disk, so every command starts from there."""

    def __init__(self, folder, broker=None, address=None, demo=False):
        self.folder = pathlib.Path(folder).resolve()
        for name, mode in [("", 0o711), ("pids", 0o755), ("logs", 0o755), ("config", 0o700)]:
            path = self.folder / name
            path.mkdir(parents=True, exist_ok=True)
            # PostgreSQL's user has to pass through the folder; nobody else finds anything to read in it.
            if path.stat().st_uid == os.geteuid():
                path.chmod(mode)
        self.config = self.folder / "config"
        given = os.environ.get("COUNTERSIGN_BIN_DIR")
        self.is_built_here = not given
        self.binaries = pathlib.Path(given) if given else built_programs()
        with self.lock("setup"):
            self._settle(broker, address, demo)

    def lock(self, name):
        return file_lock(self.folder / "pids" / f"{name}.lock")

    def _settle(self, broker, address, demo):
        """Address, ports, broker and secrets, chosen at first use and kept; of a demo those that pages name."""
        self.setup = read_setup(
            "PG_BIN", "COUNTERSIGN_BROKER_BINARY", "COUNTERSIGN_KAFKA_HOME", "COUNTERSIGN_JAVA_HOME")
        self.ports = read_values(self.folder / "ports.env")
        self.address = self._address(address)
        missing = [name for name in PORTS if name not in self.ports]
        self.broker = self._broker(broker)
        if missing or self.ports.get("BROKER") != self.broker:
            if not self.ports and os.environ.get("COUNTERSIGN_KAFKA"):
                self.ports["KAFKA"] = os.environ["COUNTERSIGN_KAFKA"]
                self.ports["KAFKA_PROPERTIES"] = os.environ.get("COUNTERSIGN_STACK_KAFKA_PROPERTIES", "")
            for name in missing:
                self.ports[name] = str(self._port(name, demo))
            self.ports |= {"ADDRESS": self.address, "BROKER": self.broker}
            self.save_ports()
        self.kafka = os.environ.get("COUNTERSIGN_KAFKA") or self.ports.get("KAFKA")
        self.logins = os.environ.get("COUNTERSIGN_STACK_KAFKA_PROPERTIES") or self.ports.get("KAFKA_PROPERTIES")
        self._settle_secrets(demo)

    def _port(self, name, demo):
        """A free port; of a demo the one that pages name, where nobody else has it."""
        taken = {int(self.ports[other]) for other in PORTS if other in self.ports}
        if demo:
            wanted = stack_demo.PORTS[name]
            if wanted not in taken and port_is_free(wanted, self.address):
                return wanted
            say(f"WARNING: port {wanted} is taken, so {name} is another one than pages say: `env` prints it")
        return choose_port(taken, self.address)

    def _address(self, wanted):
        """What everything listens on: what the folder was made with, else what is wanted, else 127.0.0.1."""
        kept = self.ports.get("ADDRESS") or (LOOPBACKS[0] if self.ports else None)  # Made before there was a choice.
        if kept and wanted not in (None, kept):
            raise StackError(f"{self.folder} was made with {kept}; for {wanted} take another folder")
        return kept or wanted or LOOPBACKS[0]

    def at(self, port):
        """Where this port of the stack is, as in a URL."""
        return authority(self.address, self.ports[port])

    def _broker(self, wanted):
        """`kafka` or `tansu`: what the folder was made with, else what is wanted, else Kafka where it is there."""
        kept = self.ports.get("BROKER") or ("tansu" if self.ports else None)  # Made before there was a choice.
        if kept:
            if wanted not in (None, kept):
                raise StackError(f"{self.folder} was made with {kept}; for {wanted} take another folder")
            return kept
        wanted = wanted or os.environ.get("COUNTERSIGN_STACK_BROKER")
        if wanted not in (None, *BROKERS):
            raise StackError(f"COUNTERSIGN_STACK_BROKER is {wanted}; it may be: {' '.join(BROKERS)}")
        available = PrivateBroker.is_available(
            self.setup["COUNTERSIGN_KAFKA_HOME"], self.setup["COUNTERSIGN_JAVA_HOME"])
        external = os.environ.get("COUNTERSIGN_KAFKA")
        if wanted == "kafka" and not available and not external:
            raise StackError("Apache Kafka or Java 11 for it is not here; run deploy/setup, or take --broker tansu")
        if not wanted and not available and not external:
            say("WARNING: Apache Kafka is not here (deploy/setup says why); this stack runs on Tansu, in memory,")
            say("WARNING: where consumer groups may stall for ever when a service restarts (deploy/kafka/README.md)")
        return wanted or ("kafka" if available else "tansu")

    def _settle_secrets(self, demo):
        self.secrets = read_values(self.config / "secrets.env")
        if not self.secrets:
            self.secrets = {
                "API_KEY": "csk_" + secrets.token_hex(16), "JWT_SECRET": secrets.token_urlsafe(48),
                "WEBHOOK_SECRET": "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode(),
                **(stack_demo.SECRETS if demo else {})}
            write_private(self.config / "jwt-secret", self.secrets["JWT_SECRET"])
            write_private(self.config / "webhook-secret", self.secrets["WEBHOOK_SECRET"] + "\n")
            write_private(self.config / "postgres-password", secrets.token_urlsafe(24) + "\n")
            self.save_secrets()
        if "APP_STORE_KEY_ID" not in self.secrets:  # Also of a stack that was made before there was one.
            # Ten capital letters and digits, as App Store Connect gives out.
            self.secrets |= {"APP_STORE_KEY_ID": uuid.uuid4().hex[:10].upper(), "APP_STORE_ISSUER_ID": str(uuid.uuid4()),
                             "SHARED_SECRET": secrets.token_hex(16)}
            private, public = stack_app_store.make_key_pair()
            write_private(self.config / stack_app_store.KEY_FILE, private)
            write_private(self.config / stack_app_store.PUBLIC_KEY_FILE, public)
            write_private(self.config / "shared-secret", self.secrets["SHARED_SECRET"] + "\n")
            self.save_secrets()
        if "CONSOLE_KEY" not in self.secrets:  # Likewise.
            self.secrets["CONSOLE_KEY"] = "csk_" + secrets.token_hex(16)
            self.save_secrets()
        if not (self.config / "webhooks-key").exists():
            write_private(self.config / "webhooks-key", base64.b64encode(secrets.token_bytes(32)).decode() + "\n")

    def save_secrets(self):
        write_private(self.config / "secrets.env", "".join(f"{k}={v}\n" for k, v in self.secrets.items()))

    def save_ports(self):
        write_private(self.folder / "ports.env", "".join(f"{k}={v}\n" for k, v in self.ports.items()))

    def ports_of(self, name):
        if name == "simulator":
            return SIMULATOR_PORTS
        prefix = name.upper().replace("-", "_")
        return [key for key in (f"{prefix}_PORT", f"{prefix}_ADMIN_PORT") if key in self.ports]

    def environment(self):
        """What every service and the tool read."""
        password = (self.config / "postgres-password").read_text().strip()
        values = {
            "KAFKA_BOOTSTRAP_SERVERS": self.kafka or self.at("BROKER_PORT"),
            "POSTGRES_URL": f"postgresql://countersign:{password}@{self.at('POSTGRES_PORT')}/countersign",
            "APPS_FILE": self.config / "apps.yaml", "CATALOGUE_FILE": self.config / "catalogue.yaml",
            "WEBHOOKS_FILE": self.config / "webhooks.yaml", "WEBHOOKS_KEY_FILE": self.config / "webhooks-key",
            "WEBHOOKS_PRIVATE_ADDRESSES": "allowed", **stack_app_store.hosts(self.ports, self.address),
            "TRUSTED_ROOTS": self.trusted_roots("roots", APPLE_ROOT_G3, "root.sha256"),
            "RECEIPT_ROOTS": self.trusted_roots("receipt-roots", stack_app_store.APPLE_ROOT, "receipt-root.sha256"),
            "TRUSTED_FOREIGN_ROOTS": "allowed",  # The simulator's.
            "LOG_FORMAT": os.environ.get("COUNTERSIGN_LOG_FORMAT", "json"),
            "LOG_LEVEL": os.environ.get("COUNTERSIGN_LOG_LEVEL", "info")}
        if self.xcode_certificates():
            values["XCODE_CERTIFICATES"] = ",".join(self.xcode_certificates())
        if self.address != LOOPBACKS[0]:  # Which is what the services take by themselves.
            values |= {"HTTP_HOST": self.address, "ADMIN_HOST": self.address}
        if self.broker == "tansu" and not self.kafka:
            values["KAFKA_FETCH_WAIT"] = "0.01"  # Tansu lets a lone record wait for half of this, whenever it comes.
        return {f"COUNTERSIGN_{key}": str(value) for key, value in values.items()}

    def xcode_certificates(self):
        """Fingerprints of the Xcodes whose purchases are taken, where somebody made that file."""
        file = self.config / "xcode-certificates"
        return re.split(r"[\s,]+", file.read_text().strip()) if file.exists() else []

    def trusted_roots(self, own, apple, simulator):
        """Those of a file in the configuration, where somebody made one; else Apple's and the simulator's.

        Beside what Xcode signs nothing of Apple's is taken.
        """
        own, simulator = self.config / own, self.folder / "simulator" / simulator
        if own.exists():
            return ",".join(re.split(r"[\s,]+", own.read_text().strip()))
        return ",".join(([] if self.xcode_certificates() else [apple]) + ([simulator.read_text().strip()] if simulator.exists() else []))

    def environment_of(self, name):
        values = {**os.environ, **self.environment(), **self.kafka_login(re.sub(r"-\d+$", "", name))}
        for key in self.ports_of(name):
            kind = "COUNTERSIGN_ADMIN_PORT" if key.endswith("_ADMIN_PORT") else "COUNTERSIGN_HTTP_PORT"
            values[kind] = self.ports[key]
        if name == CONSOLE:
            values |= self.console_environment()
        extra = self.config / f"{name}.env"
        if extra.exists():
            output = subprocess.check_output(["bash", "-c", 'set -a; . "$0"; env -0', str(extra)], env=values)
            values = dict(line.split("=", 1) for line in output.decode().split("\0") if line)
        return values

    def has_console(self):
        """Whether the apps file has a key for a console."""
        file = self.config / "apps.yaml"
        return file.exists() and self.console_key_sha256() in file.read_text()

    def console_key_sha256(self):
        return hashlib.sha256(self.secrets["CONSOLE_KEY"].encode()).hexdigest()

    def console_environment(self):
        """What the console reads: whoever is on this machine picks a role."""
        apps = re.findall(r"bundle_id: ([\w.-]+)", (self.config / "apps.yaml").read_text())
        brought = ROOT / "console"  # A release has htmx in it.
        values = {"INTAKE_URL": f"http://{self.at('RECEIPT_INTAKE_PORT')}", "CONSOLE_KEY": self.secrets["CONSOLE_KEY"],
                  "CONSOLE_APPS": ",".join(apps), "CONSOLE_LOGIN": "demo",
                  "CONSOLE_ASSETS": brought if brought.is_dir() else ROOT / ".local" / "console"}
        return {f"COUNTERSIGN_{key}": str(value) for key, value in values.items()}

    def kafka_login(self, user):
        """The file by which `user` logs in to a secured Kafka; nothing where no folder of them is named."""
        names = {"tool": "countersign-tool", "lab": "countersign-tool"}
        file = pathlib.Path(self.logins or "/") / f"{names.get(user, user)}.properties"
        return {"COUNTERSIGN_KAFKA_PROPERTIES_FILE": str(file)} if self.logins and file.exists() else {}

    def published(self):
        """What `env` prints: the environment, an address for everything, and the secrets."""
        values = {"COUNTERSIGN_STACK_DIR": str(self.folder), "COUNTERSIGN_BIN_DIR": str(self.binaries),
                  "COUNTERSIGN_STACK_BROKER": self.broker, **self.environment(), **self.kafka_login("tool")}
        for key in PORTS:
            values[f"COUNTERSIGN_{key}"] = self.ports[key]
            if key not in ("POSTGRES_PORT", "ZOOKEEPER_PORT", "BROKER_PORT"):
                values[f"COUNTERSIGN_{key[:-5]}_URL"] = f"http://{self.at(key)}"
        values.update({f"COUNTERSIGN_{key}": value for key, value in self.secrets.items()})
        values["COUNTERSIGN_JWT_SECRET_FILE"] = str(self.config / "jwt-secret")
        values["COUNTERSIGN_APP_STORE_KEY_FILE"] = str(self.config / stack_app_store.KEY_FILE)
        values["COUNTERSIGN_WEBHOOK_SECRET_FILE"] = str(self.config / "webhook-secret")
        values["COUNTERSIGN_WEBHOOK_RECEIVER_OUTPUT"] = str(self.folder / "webhooks.jsonl")
        return values

    def configure(self):
        """Fills in the templates that are not there yet; what a person has changed stays."""
        values = {
            "RECEIVER_PORT": self.ports["WEBHOOK_RECEIVER_PORT"], "SIMULATOR_PORT": self.ports["SIMULATOR_PORT"],
            "INTAKE_PORT": self.ports["RECEIPT_INTAKE_PORT"], "SIMULATOR_STATE": str(self.folder / "simulator"),
            "API_KEY_SHA256": hashlib.sha256(self.secrets["API_KEY"].encode()).hexdigest(),
            "CONSOLE_KEY_SHA256": self.console_key_sha256(),
            "JWT_SECRET_FILE": str(self.config / "jwt-secret"), "CONFIG_DIR": str(self.config),
            "WEBHOOK_SECRET_FILE": str(self.config / "webhook-secret"),
            "APP_STORE_KEY_FILE": str(self.config / stack_app_store.KEY_FILE),
            "SHARED_SECRET_FILE": str(self.config / "shared-secret"), **self.secrets}

        def value(match):
            if match[1] not in values:
                raise StackError(f"{template.name}: unknown placeholder {match[0]}")
            return values[match[1]]

        templates = pathlib.Path(os.environ.get("COUNTERSIGN_STACK_TEMPLATES") or ROOT / "deploy" / "configuration")
        for template in sorted([*templates.glob("*.yaml"), *templates.glob("*.json")]):
            target = self.config / template.name
            if not target.exists():
                # Templates are written for the usual address.
                text = template.read_text().replace(f"{LOOPBACKS[0]}:@", f"{authority(self.address, '')}@")
                write_private(target, re.sub(r"@([A-Z][A-Z0-9_]+)@", value, text))

    def replace_port(self, key):
        with self.lock("setup"):
            self.ports = read_values(self.folder / "ports.env")
            old = self.ports[key]
            self.ports[key] = str(choose_port({int(self.ports[name]) for name in PORTS}, self.address))
            self.save_ports()
            for path in self.config.glob("*.yaml"):  # They may have been filled in with the old one.
                write_private(path, re.sub(rf":{old}\b", f":{self.ports[key]}", path.read_text()))
        say(f"port {old} is taken; {key} is now {self.ports[key]}")
