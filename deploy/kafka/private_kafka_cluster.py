"""A private cluster of Apache Kafka: three brokers with TLS, passwords and ACLs, run by deploy/kafka/cluster."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import cluster_files
from cluster_identities import MECHANISM, USERS, Authority, IdentityError, make_passwords, scram_credential
from kafka_programs import MAIN_CLASSES, ask_zookeeper, java_command
from private_files import write_private
from processes import file_lock, log_end, running_pid, start_process

BROKERS = ["broker-1", "broker-2", "broker-3"]
NAMES = ["zookeeper", *BROKERS]  # In start order.
PORTS = [name.upper().replace("-", "_") + "_PORT" for name in NAMES] + ["EXPIRED_PORT"]
START_TIMEOUT = 150.0  # Seconds that a process has until it is ready: 5 to 15, and a minute on a machine that builds.
STOP_TIMEOUT = 20.0  # Seconds that a process has after SIGTERM.
SESSION_TIMEOUT = 90.0  # Seconds until ZooKeeper must have forgotten a broker that was killed.
SYNC_TIMEOUT = 120.0  # Seconds until every partition must have all its copies again.
ANSWER_TIMEOUT = 5.0  # Seconds for one of ZooKeeper's answers.
TOOL_TIMEOUT = 60.0  # Seconds for a program of Kafka's that answers and ends.
HEAPS = {"zookeeper": "64m", "broker": "256m", "tool": "128m"}
STARTED = "started (kafka.server.KafkaServer)"


class ClusterError(Exception):
    """What a person has to know; no stack trace."""


def say(text):
    print(f"cluster: {text}", file=sys.stderr, flush=True)


def resident_megabytes(pid):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) // 1024 if found else 0


class PrivateKafkaCluster:
    """The cluster in a folder. All that is fixed about it is on disk, so every command starts from there."""

    def __init__(self, folder, kafka_home, java_home, choose_port):
        self.folder = pathlib.Path(folder).resolve()
        self.kafka_home, self.java_home = pathlib.Path(kafka_home), pathlib.Path(java_home)
        for program, hint in [(self.java_home / "bin" / "java", "Java"), (self.kafka_home / "libs", "Kafka")]:
            if not program.exists():
                raise ClusterError(f"no {hint} at {program}; run deploy/setup")
        for name in ["", "pids", "logs", "config", "properties", "data"]:
            (self.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.config, self.data = self.folder / "config", self.folder / "data"
        with self.lock("setup"):
            self._settle(choose_port)

    def lock(self, name):
        return file_lock(self.folder / "pids" / f"{name}.lock")

    # --- what is made once -------------------------------------------------------------------------------------------

    def _settle(self, choose_port):
        """Ports, passwords, certificates and files, made at first use and kept."""
        settled = self.config / "cluster.json"
        if settled.exists():
            values = json.loads(settled.read_text())
        else:
            ports = {}
            for name in PORTS:
                ports[name] = choose_port(set(ports.values()))
            values = {"ports": ports, "passwords": make_passwords()}
        self.ports, self.passwords = values["ports"], values["passwords"]
        self.authority = Authority(
            self.folder / "certificates", self.passwords["stores"], self.java_home / "bin" / "keytool")
        if not settled.exists():
            try:
                self.authority.make(BROKERS)
            except IdentityError as error:
                raise ClusterError(str(error)) from None
            self._write_files()
            write_private(settled, json.dumps(values))  # Last: without it everything is made anew.

    def _write_files(self):
        write_private(self.config / "zookeeper.properties",
                      cluster_files.zookeeper(self.data, self.ports["ZOOKEEPER_PORT"]))
        for number, name in enumerate(BROKERS, start=1):
            write_private(self.config / f"{name}.properties", cluster_files.broker(
                number, self.data, self.port(name), self.ports["EXPIRED_PORT"] if number == 1 else None,
                self.ports["ZOOKEEPER_PORT"], self.authority, self.passwords))
        for name in NAMES:
            write_private(self.config / f"{name}.log4j", cluster_files.logging(self.folder / "logs" / f"{name}.log"))
        ours, foreign = self.authority.certificate, self.authority.foreign_certificate
        clients = {user: (user, self.passwords[user], ours) for user in USERS if user != "broker"}
        # What must not work, for tests of what is said then.
        clients["wrong-password"] = ("receipt-intake", "wrong-" + self.passwords["stranger"], ours)
        clients["unknown-ca"] = ("receipt-intake", self.passwords["receipt-intake"], foreign)
        for name, (user, password, certificate) in clients.items():
            write_private(self.folder / "properties" / f"{name}.properties",
                          cluster_files.client(user, password, certificate))

    def port(self, name):
        return self.ports[name.upper().replace("-", "_") + "_PORT"]

    @property
    def zookeeper(self):
        return f"127.0.0.1:{self.ports['ZOOKEEPER_PORT']}"

    @property
    def bootstrap(self):
        return ",".join(f"127.0.0.1:{self.port(name)}" for name in BROKERS)

    # --- processes ---------------------------------------------------------------------------------------------------

    def pid(self, name):
        """The id of the running process, or nothing."""
        return running_pid(self.folder / "pids" / name)

    def java(self, kind, main_class, *arguments, log4j):
        # One collector thread and the quick compiler: three brokers share two cores with everything else.
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        return java_command(self.kafka_home, self.java_home, main_class, *arguments, heap=HEAPS[kind], log4j=log4j,
                            options=options)

    def launch(self, name):
        """Starts the process; gives what `wait_until_ready` wants."""
        kind = name.partition("-")[0]
        command = self.java(kind, MAIN_CLASSES[kind], self.config / f"{name}.properties",
                            log4j=self.config / f"{name}.log4j")
        log = self.folder / "logs" / f"{name}.log"
        size = log.stat().st_size if log.exists() else 0
        with open(self.folder / "logs" / f"{name}.out", "wb") as output:
            process = start_process(command, self.folder / "pids" / name, output, cwd=self.folder)
        return name, process, size, time.monotonic()

    def wait_until_ready(self, launched):
        name, process, size, began = launched
        while time.monotonic() < began + START_TIMEOUT and process.poll() is None:
            if self.is_ready(name, size):
                say(f"{name} is ready (pid {process.pid}, {time.monotonic() - began:.1f} s)")
                return
            time.sleep(0.05)
        code = process.poll()
        if code is None:
            process.kill()
            process.wait()
        reason = f"not ready after {START_TIMEOUT:.0f} s" if code is None else f"ended at once, with {code}"
        text = self.log_since(name, size) + (self.folder / "logs" / f"{name}.out").read_text(errors="replace")
        raise ClusterError(f"{name}: {reason}; the end of its log in {self.folder / 'logs'}:\n{log_end(text)}")

    def log_since(self, name, size):
        """What the process logged since its log was so long; all of it, where another file was begun."""
        try:
            content = (self.folder / "logs" / f"{name}.log").read_bytes()
        except OSError:
            return ""
        return content[size if len(content) >= size else 0:].decode(errors="replace")

    def is_ready(self, name, size):
        if name == "zookeeper":
            return self.zookeeper_answer("ruok") == "imok"
        return STARTED in self.log_since(name, size)

    def zookeeper_answer(self, word):
        """Empty when it does not answer."""
        try:
            return ask_zookeeper(self.ports["ZOOKEEPER_PORT"], word, ANSWER_TIMEOUT)
        except OSError:
            return ""

    def wait_until_forgotten(self, name):
        """A broker that was killed stays registered until its session ends; one that starts before is turned away."""
        place = re.compile(rf"/brokers/ids/{BROKERS.index(name) + 1}\b")
        deadline = time.monotonic() + SESSION_TIMEOUT
        # No answer is no reason to believe that it is gone.
        while "SessionTracker" not in (sessions := self.zookeeper_answer("dump")) or place.search(sessions):
            if time.monotonic() > deadline:
                raise ClusterError(f"{name}: ZooKeeper has not forgotten it after {SESSION_TIMEOUT:.0f} s")
            time.sleep(0.05)

    # --- commands ----------------------------------------------------------------------------------------------------

    def up(self):
        began = time.monotonic()
        with self.lock("processes"):
            if not self.pid("zookeeper"):
                self.wait_until_ready(self.launch("zookeeper"))
            self.create_users()
            for name in BROKERS:
                if not self.pid(name):
                    self.wait_until_forgotten(name)
            # All at once: each waits for the others in no way.
            launched = [self.launch(name) for name in BROKERS if not self.pid(name)]
            for process in launched:
                self.wait_until_ready(process)
        say(f"ready after {time.monotonic() - began:.1f} s: {self.bootstrap}")

    def create_users(self):
        """Before the first broker starts, since brokers log in to each other.

        Not by Kafka's own tool: it takes passwords as arguments, which everybody can see, and a second for each user.
        """
        done = self.config / "users-created"
        if done.exists():
            return
        lines = ['create /config ""', 'create /config/users ""']
        for user in USERS:
            credential = {MECHANISM: scram_credential(self.passwords[user])}
            value = json.dumps({"version": 1, "config": credential}, separators=(",", ":"))
            lines += [f"create /config/users/{user} {value}"]
        answer = self.run_tool("org.apache.zookeeper.ZooKeeperMain", "-server", self.zookeeper,
                               text="\n".join([*lines, "ls /config/users", ""]))
        missing = [user for user in USERS if not re.search(rf"\b{user}\b", answer.splitlines()[-1] if answer else "")]
        if missing:
            raise ClusterError(f"ZooKeeper did not take the users {' '.join(missing)}")
        done.touch()

    def run_tool(self, main_class, *arguments, text=""):
        try:
            result = subprocess.run(
                self.java("tool", main_class, *arguments, log4j=self.kafka_home / "config" / "tools-log4j.properties"),
                input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                timeout=TOOL_TIMEOUT)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"{main_class} did not end within {TOOL_TIMEOUT:.0f} s") from None
        if result.returncode != 0:
            raise ClusterError(f"{main_class} failed:\n{(result.stdout + result.stderr).strip()}")
        return result.stdout.strip()

    def start(self, name):
        with self.lock("processes"):
            if self.pid(name):
                say(f"{name} runs already")
                return
            if name in BROKERS:
                self.wait_until_forgotten(name)
            self.wait_until_ready(self.launch(name))

    def kill(self, name):
        """As a crash would."""
        self.send(name, signal.SIGKILL)
        self.wait_until_gone(name)

    def send(self, name, number):
        pid = self.pid(name)
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def wait_until_gone(self, name):
        """True when it went within its time; else it is killed."""
        deadline = time.monotonic() + STOP_TIMEOUT
        while self.pid(name):
            if time.monotonic() > deadline:
                say(f"{name} did not stop within {STOP_TIMEOUT:.0f} s; killed")
                self.send(name, signal.SIGKILL)
                return False
            time.sleep(0.02)
        return True

    def stop(self, names):
        """Brokers together, ZooKeeper after them, or they would wait for it. True when all went within their time."""
        went = True
        for group in [[name for name in names if name in BROKERS], [name for name in names if name not in BROKERS]]:
            running = [name for name in group if self.pid(name)]
            for name in running:
                self.send(name, signal.SIGTERM)
            for name in running:
                went = self.wait_until_gone(name) and went
                say(f"{name} stopped")
        return went

    def in_sync(self):
        """Waits until every partition has all its copies, and each of them all records."""
        deadline = time.monotonic() + SYNC_TIMEOUT
        while True:
            lines = self.run_tool("kafka.admin.TopicCommand", "--zookeeper", self.zookeeper, "--describe",
                                  "--under-replicated-partitions").splitlines()
            if not lines:
                return
            if time.monotonic() > deadline:
                raise ClusterError(f"after {SYNC_TIMEOUT:.0f} s copies are missing:\n" + "\n".join(lines))

    def status(self):
        print(f"{'NAME':<12}{'PID':>8}  {'PORT':<7}{'MEGABYTES':>9}  ALIVE")
        for name in NAMES:
            pid = self.pid(name)
            print(f"{name:<12}{pid or '-':>8}  {self.port(name):<7}{resident_megabytes(pid) if pid else '-':>9}"
                  f"  {'yes' if pid else 'no'}")

    def environment(self):
        """What deploy/stack and the tests are told by."""
        return {
            "COUNTERSIGN_TEST_CLUSTER": str(self.folder), "COUNTERSIGN_KAFKA": self.bootstrap,
            "COUNTERSIGN_STACK_KAFKA_PROPERTIES": str(self.folder / "properties"),
            "COUNTERSIGN_CLUSTER_EXPIRED": f"127.0.0.1:{self.ports['EXPIRED_PORT']}"}
