"""The processes of `Tests/Load/hostile-endpoints`: a stack of its own, a second notification process, and the endpoints."""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / each) for each in ("deploy", "deploy/kafka", "deploy/postgres")]
from setup_environment import read_setup  # noqa: E402 (found only from here on)
from stack_settings import choose_port  # noqa: E402

READY_SECONDS = 60.0
WEBHOOKS_INTERVAL = 0.3  # Seconds between looks at the webhooks file.


class Failure(Exception):
    """What a person has to know; no stack trace."""


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.1)


class Stack:
    """PostgreSQL, broker, fulfillment (which publishes what the outbox holds) and two notification processes."""

    def __init__(self, folder, settings):
        self.folder = pathlib.Path(folder)
        self.environment = {**os.environ, "COUNTERSIGN_STACK_TEMPLATES": str(ROOT / "Tests/Fixtures/stack"),
                            "COUNTERSIGN_KAFKA": "", "COUNTERSIGN_STACK_KAFKA_PROPERTIES": ""}
        self.settings = {"COUNTERSIGN_WEBHOOKS_INTERVAL": str(WEBHOOKS_INTERVAL), **settings}
        self.second, self.second_port = None, None
        self.stack("env")  # Writes the folder's configuration.

    @property
    def values(self):
        """Asked for each time: where somebody has taken a port, a process that starts gets another."""
        return dict(line.split("=", 1) for line in self.stack("env").replace("'", "").splitlines())

    def stack(self, *arguments):
        result = subprocess.run([str(ROOT / "deploy/stack"), "--dir", str(self.folder), *arguments], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if result.returncode != 0:
            raise Failure(f"deploy/stack {shlex.join(arguments)} ended with {result.returncode}:\n{result.stderr[-3000:]}")
        return result.stdout

    def up(self):
        config = self.folder / "config"
        lines = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in self.settings.items())
        (config / "notification.env").write_text(lines)
        (config / "fulfillment.env").write_text("export COUNTERSIGN_REDRIVE_INTERVAL=0.05\n")
        self.stack("start", "postgres")
        self.stack("tool", "migrate")
        for name in ("broker", "fulfillment", "notification"):
            self.stack("start", name)
        self.start_second()

    def start_second(self):
        self.second_port = choose_port(set())
        values = self.values
        program = pathlib.Path(values["COUNTERSIGN_BIN_DIR"]) / "notification"
        environment = {**self.environment, **values, **self.settings, "COUNTERSIGN_ADMIN_PORT": str(self.second_port)}
        with open(self.folder / "logs/notification-second.log", "ab") as log:
            self.second = subprocess.Popen([str(program)], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: self.page(self.second_port, "readyz") is not None, READY_SECONDS, "the second notification process")

    def kill_one(self, which):
        """As a crash would, and starts it again."""
        if which == 0:
            self.stack("kill", "notification")
            self.stack("start", "notification")
        else:
            self.second.send_signal(signal.SIGKILL)
            self.second.wait()
            self.start_second()

    def pages(self, path):
        """A page of both notification processes."""
        return [self.page(port, path) or "" for port in (self.values["COUNTERSIGN_NOTIFICATION_ADMIN_PORT"], self.second_port)]

    def page(self, port, path):
        """A page of an admin port; nothing where it does not answer with 200."""
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                    f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def use(self, endpoints):
        """Writes the webhooks file, and returns once both processes use it."""
        lines = ["endpoints:"]
        for endpoint in endpoints:
            lines += [f"  - id: {endpoint['id']}", f"    url: http://127.0.0.1:{endpoint['port']}/hooks",
                      f"    secret_file: {self.folder}/config/webhook-secret", f"    apps: [{endpoint['app']}]",
                      "    allow_private_addresses: true", f"    ordered: {'true' if endpoint['ordered'] else 'false'}"]
        file = self.folder / "config/webhooks.yaml"
        new = file.with_suffix(".new")
        new.write_text("\n".join(lines) + "\n")
        new.chmod(0o600)
        new.rename(file)
        if self.second:
            last = f'endpoint="{endpoints[-1]["id"]}"'
            wait_until(lambda: all(last in page for page in self.pages("metrics")), READY_SECONDS, "the endpoints are in use")

    def destroy(self):
        if self.second and self.second.poll() is None:
            self.second.kill()
            self.second.wait()
        self.stack("destroy")


class Database:
    """One session of psql."""

    def __init__(self, stack):
        self.process = subprocess.Popen(
            [f"{read_setup('PG_BIN')['PG_BIN']}/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", stack.values["COUNTERSIGN_POSTGRES_URL"]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def run(self, statement):
        """The lines that a statement leads to."""
        self.process.stdin.write(f"{statement};\n\\echo -- done\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == "-- done\n":
                return lines
            lines.append(line.rstrip("\n"))
        raise Failure("psql has ended: see the line above")

    def number(self, statement):
        return int(self.run(statement)[0])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Receiver:
    """The process of all endpoints. Each gets its port from it."""

    def __init__(self, folder, endpoints):
        self.log = pathlib.Path(folder) / "requests.log"
        plan = pathlib.Path(folder) / "endpoints.json"
        plan.write_text(json.dumps({"log": str(self.log), "endpoints": endpoints}))
        self.process = subprocess.Popen([sys.executable, str(HERE / "hostile_endpoints_receiver.py"), str(plan)],
                                        stdout=subprocess.PIPE, text=True)
        for endpoint, port in zip(endpoints, json.loads(self.process.stdout.readline() or "[]"), strict=True):
            endpoint["port"] = port

    def heal(self):
        self.process.send_signal(signal.SIGUSR1)
        if self.process.stdout.readline() != "healed\n":
            raise Failure("the endpoints are not healed")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def lines(self):
        """Time, endpoint, event, account, number and what became of each request so far; then DISORDER, if it was."""
        return [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []
