"""What the tries of this folder share: PostgreSQL servers, the services on them, players who buy, and the books."""

import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "kafka")]
from demo_players import GAME, Shop  # noqa: E402 (found only from here on)
from private_cluster import PrivateCluster  # noqa: E402
from private_files import write_private  # noqa: E402
from processes import log_end, running_pid, start_process  # noqa: E402
from setup_environment import read_setup  # noqa: E402
from stack_settings import WORKERS, choose_port, read_values  # noqa: E402

STACK = HERE.parent / "stack"
PROGRAMS = pathlib.Path(os.environ.get("COUNTERSIGN_BIN_DIR") or HERE.parent.parent / ".build" / "release")
SERVER_SECONDS = 30.0  # That a server has until it takes connections, or until it is gone.
READY_SECONDS = 60.0  # That services have until they are ready again.
SETTLE_SECONDS = 90.0  # That a purchase, its event and its webhook have.
PLAYERS = 4
PAUSE = 0.5  # Seconds between the purchases of a player: the load is there to be noticed, not to measure.
REPEAT_PAUSE = 0.2  # Seconds until an app posts again what was not accepted.


class TrialError(Exception):
    """What a person has to know; no stack trace."""


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def expect(condition, text):
    if not condition:
        raise TrialError(text)


def run(command, **options):
    """What the command printed; an error with the end of it when it failed."""
    code, text = attempt(command, **options)
    expect(code == 0, f"{' '.join(map(str, command))} ended with {code}:\n{text[-3000:]}")
    return text


def attempt(command, **options):
    """Its exit code and what it printed, whatever came of it."""
    result = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False, **options)
    return result.returncode, result.stdout


def wait_for(what, condition, seconds):
    """Seconds that it took."""
    began = time.monotonic()
    while not condition():
        expect(time.monotonic() < began + seconds, f"not within {seconds:.0f} s: {what}")
        time.sleep(0.05)
    return time.monotonic() - began


class Server:
    """A PostgreSQL server in the trial's folder."""

    taken = set()  # Ports of all servers of this trial.

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.programs = pathlib.Path(read_setup("PG_BIN")["PG_BIN"])
        self.cluster = PrivateCluster(folder / name, folder / "stack" / "config" / "postgres-password", self.programs)
        self.port = choose_port(Server.taken)
        Server.taken.add(self.port)
        self.pid_file, self.log = folder / f"{name}.pid", folder / f"{name}.log"
        self.files = folder / "server-files"  # What the servers' user reads: passwords for psql, certificates, archived WAL.

    @property
    def data(self):
        return self.cluster.folder

    def create(self):
        self.cluster.create(say)
        self.give(self.data / "countersign-ready")  # pg_rewind, as the servers' user, has to open every file.

    def copy_of(self, server, *options):
        """A base backup of another server, as its data."""
        self.cluster._make_folder(say)
        self.as_server("pg_basebackup", "--pgdata", self.data, "--checkpoint=fast", *options, "--dbname",
                       f"host=127.0.0.1 port={server.port} user=postgres passfile={self.passfile()}")

    def passfile(self):
        """The superuser's and the services' password, for programs that run as the servers' user."""
        path = self.give_file("passfile", f"*:*:*:*:{self.cluster.password_file.read_text().strip()}\n")
        return path

    def give_file(self, name, text):
        """A file for the servers' user alone."""
        self.files.mkdir(mode=0o711, exist_ok=True)
        path = self.files / name
        write_private(path, text)
        self.give(path)
        return path

    def give(self, path):
        owner = self.cluster.popen_user()
        if owner:
            os.chown(path, owner["user"], owner["group"])

    def as_server(self, program, *arguments):
        return run([self.programs / program, *arguments], cwd="/", **self.cluster.popen_user())

    def configure(self, **settings):
        text = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.write(text)

    def start(self, wait=True):
        with open(self.log, "ab") as output:
            start_process([*self.cluster.command(self.port)], self.pid_file, output, cwd="/", **self.cluster.popen_user())
        if wait:
            wait_for(f"{self.name} takes connections; {self.log}:\n{log_end(self.log.read_text())}",
                     lambda: self.cluster.accepts(self.port), SERVER_SECONDS)

    def end(self, number=signal.SIGINT):
        """SIGINT is a fast shutdown; after SIGKILL its children leave by themselves."""
        pid = running_pid(self.pid_file)
        if pid:
            os.kill(pid, number)
            wait_for(f"{self.name} is gone", lambda: running_pid(self.pid_file) != pid, SERVER_SECONDS)
        if pid and number == signal.SIGKILL:
            self.cluster.wait_for_orphans(say)

    def sql(self, statement, user="postgres", database="countersign"):
        """The rows as text, columns separated by `|`."""
        return run([self.programs / "psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", self.port, "-U", user,
                    "-d", database, "-c", statement], env=self.environment()).strip()

    def script(self, path, user="countersign"):
        return run([self.programs / "psql", "-qX", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", self.port, "-U", user,
                    "-d", "countersign", "-f", path], env=self.environment())

    def environment(self):
        path = self.folder / "passfile"
        if not path.exists():
            write_private(path, f"*:*:*:*:{self.cluster.password_file.read_text().strip()}\n")
        return {**os.environ, "PGPASSFILE": str(path)}

    def url(self, *others, user="countersign", password=None, parameters=""):
        password = password or self.cluster.password_file.read_text().strip()
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in (self, *others))
        return f"postgresql://{user}:{password}@{hosts}/countersign{parameters}"


class Services:
    """A stack (deploy/stack) whose services use a database that is not the stack's own."""

    def __init__(self, folder):
        self.folder = folder / "stack"
        self("env")  # Makes the folder, its ports and its secrets.
        self.shop = Shop(self.folder)
        self.ports = read_values(self.folder / "ports.env")
        self.tool_url, self.further = None, {}

    def __call__(self, *arguments):
        return run([STACK, "--dir", self.folder, *arguments])

    def tool(self, *arguments):
        """Exit code and text of the operator's tool; `deploy/stack tool` would ask the stack's own database."""
        return attempt([PROGRAMS / "countersign", *arguments],
                       env={**os.environ, **self.shop.settings, "COUNTERSIGN_POSTGRES_URL": self.tool_url, **self.further})

    def use(self, url, names=WORKERS, **further):
        """The database of the tool and of services that start from now on: one for all, or a function of the name.

        `further` are more variables for all of them.
        """
        self.tool_url, self.further = url("tool") if callable(url) else url, further
        for name in names:
            address = url(name) if callable(url) else url
            lines = {"COUNTERSIGN_POSTGRES_URL": address, **further}
            write_private(self.folder / "config" / f"{name}.env", "".join(f"{k}='{v}'\n" for k, v in lines.items()))

    def up(self):
        """All but the stack's PostgreSQL."""
        self.prepare()
        self.start()

    def prepare(self):
        """What the services find when they start: broker, App Store, schema."""
        for name in ("broker", "simulator", "webhook-receiver"):
            self("start", name)
        self.shop = Shop(self.folder)  # Again: now the simulator's root is known.
        self.expect_tool("migrate")

    def start(self, names=WORKERS):
        for name in names:
            self("start", name)

    def stop(self, names=WORKERS):
        for name in reversed(names):
            self("stop", name)

    def expect_tool(self, *arguments):
        code, text = self.tool(*arguments)
        expect(code == 0, f"countersign {' '.join(arguments)} ended with {code}:\n{text}")
        return text

    def readiness(self, name):
        """Whether /readyz says yes, and its text."""
        port = self.ports[f"{name.upper().replace('-', '_')}_ADMIN_PORT"]
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                return True, answer.read().decode()
        except urllib.error.HTTPError as error:
            return False, error.read().decode()
        except OSError as error:
            return False, str(error)

    def all_ready(self):
        return all(self.readiness(name)[0] for name in WORKERS)

    def pids(self):
        return {name: running_pid(self.folder / "pids" / name) for name in WORKERS}

    def webhooks(self):
        path = self.folder / "webhooks.jsonl"
        return path.read_text().splitlines() if path.exists() else []


class Player(threading.Thread):
    """Buys and posts until told to stop; each purchase is posted until it is granted, as an app does."""

    def __init__(self, shop, account):
        super().__init__(daemon=True)
        self.shop, self.account = shop, account
        self.ending, self.error = threading.Event(), None
        self.purchases = []  # (transaction id, begun at, accepted after, granted after), times in seconds
        self.refused, self.acknowledged = 0, {}  # Of these: the submission's id, and when intake said that it has it.

    def run(self):
        try:
            while not self.ending.is_set():
                self.buy()
                self.ending.wait(PAUSE)
        except Exception as error:  # Told by Players.finish, in the main thread.
            self.error = error

    def buy(self):
        sale = self.shop.sell(GAME)[0]
        begun, accepted, answer = time.monotonic(), None, None
        while time.monotonic() < begun + SETTLE_SECONDS:
            try:
                answer = self.shop.post(self.account, sale["signedTransaction"])
            except (OSError, ValueError) as error:
                answer = error
            body = getattr(answer, "body", {})
            if body.get("state"):
                accepted = accepted or time.monotonic() - begun
                self.acknowledged.setdefault(body["id"], time.time())
            if body.get("state") == "fulfilled":
                self.purchases.append((sale["transactionId"], begun, accepted, time.monotonic() - begun))
                return
            self.refused += 1
            time.sleep(REPEAT_PAUSE)
        raise TrialError(f"a purchase was not granted within {SETTLE_SECONDS:.0f} s: {answer}")


class Players:
    """Some of them, who buy at the same time."""

    def __init__(self, shop, prefix):
        self.all = [Player(shop, f"{prefix}-{number}") for number in range(PLAYERS)]

    def __enter__(self):
        for player in self.all:
            player.start()
        return self

    def __exit__(self, *_):
        for player in self.all:
            player.ending.set()

    def finish(self):
        """All purchases of all of them."""
        for player in self.all:
            player.ending.set()
        for player in self.all:
            player.join(SETTLE_SECONDS + 30)
            expect(not player.is_alive() and player.error is None, f"{player.account}: {player.error}")
        return [purchase for player in self.all for purchase in player.purchases]

    def refused(self):
        return sum(player.refused for player in self.all)


def check_acknowledged(server, players):
    """No submission that intake had said it has was lost: its row is older than the answer, not made by a later post."""
    said = {key: at for player in players.all for key, at in player.acknowledged.items()}
    rows = dict(line.split("|") for line in server.sql(
        "SELECT id, extract(epoch FROM received_at) FROM submissions").splitlines())
    lost = [key for key, at in said.items() if key not in rows or float(rows[key]) > at]
    expect(not lost, f"acknowledged, and lost: {lost}")
    say(f"  {len(said)} submissions were acknowledged, none of them was lost")


def check_books(server, services, purchases):
    """Every purchase is there and granted once, told once by webhook or more, and the audit is clean."""
    bought = {purchase[0] for purchase in purchases}
    granted = server.sql("SELECT transaction_id FROM orders WHERE state = 'granted'").split()
    expect(len(granted) == len(set(granted)), "an order is there twice")
    expect(bought <= set(granted), f"lost: {sorted(bought - set(granted))}")
    rows = server.sql("SELECT transaction_id, count(*) || ' of ' || sum(amount) FROM ledger_entries WHERE kind = 'grant' "
                      "GROUP BY 1").splitlines()
    wrong = [row for row in rows if row.split("|")[0] in bought and not row.endswith("|1 of 100")]
    expect(not wrong and bought <= {row.split("|")[0] for row in rows}, f"granted otherwise than once: {wrong}")
    wait_for("every event is delivered", lambda: server.sql(
        "SELECT count(*) FROM event_outbox") == "0" and server.sql(
        "SELECT count(*) FROM webhook_deliveries WHERE state <> 'delivered'") == "0", SETTLE_SECONDS)
    say(f"  {len(bought)} purchases, {len(granted)} orders, each granted once; every webhook is delivered")
    say("  countersign books check: " + services.expect_tool("books", "check").strip().splitlines()[-1])


def main(trial, document, seconds=600):
    """Runs `trial(folder)`, a context manager's steps, in a folder of its own, bounded in time; nothing stays behind."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=seconds // 60, help="when it is given up")
    parser.add_argument("--keep", action="store_true", help="leaves the folder with its logs when it fails")
    arguments = parser.parse_args()
    if not (PROGRAMS / "countersign").exists():  # Else the stack would build them, within our minutes.
        parser.error(f"no programs in {PROGRAMS}: run deploy/build --programs, or set COUNTERSIGN_BIN_DIR")

    def give_up(number, _frame):
        raise TrialError("the time is over" if number == signal.SIGALRM else "interrupted")

    for number in signal.SIGALRM, signal.SIGTERM:
        signal.signal(number, give_up)
    signal.alarm(arguments.minutes * 60)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="countersign-postgres-try."))
    folder.chmod(0o711)  # PostgreSQL's user has to pass.
    servers, failed = [], True
    try:
        trial(folder, servers)
        say("all is well")
        failed = False
    except (TrialError, KeyboardInterrupt) as error:
        print(f"{pathlib.Path(sys.argv[0]).name}: error: {error}", file=sys.stderr)
    finally:
        signal.alarm(0)
        clean_up(folder, servers, keep=failed and arguments.keep)
    return 1 if failed else 0


def clean_up(folder, servers, keep):
    """Ends what was started; the folder goes, unless somebody wants to look into it."""
    if (folder / "stack").exists():
        with contextlib.suppress(TrialError):
            run([STACK, "--dir", folder / "stack", "down" if keep else "destroy"])
    for server in servers:
        with contextlib.suppress(TrialError):
            server.end()
    if keep:
        say(f"the logs are in {folder}")
    else:
        for server in servers:
            server.cluster.remove()
        shutil.rmtree(folder, ignore_errors=True)
