"""The commands of a runbook page: what stands in its blocks under "Look" and "Do", run as it is written."""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "postgres"))
from setup_environment import read_setup  # noqa: E402 (found only from here on)
from trial_roles import make_roles  # noqa: E402

SECTION = re.compile(r"^## (Look|Do)$\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"HOST:PORT|\b(?:TRANSACTION|SUBMISSION|ENDPOINT|EVENT|APP)\b")
# What wants more than the tool and a process's address: the machine of the database, Apple.
ELSEWHERE = re.compile(r"^(systemctl|journalctl|df) |https://api\.storekit")
SECONDS = 120.0
DONE = (0, 2)  # 2 of `countersign` says that something was found.


def pages():
    """The alerts that have a page."""
    return sorted(path.stem for path in (HERE / "runbook").glob("Countersign*.md"))


def commands(alert):
    """(section, line) of each command of the alert's page, in their order."""
    text = (HERE / "runbook" / f"{alert}.md").read_text()
    return [(section, line.strip()) for section, part in SECTION.findall(text) for block in BLOCK.findall(part)
            for line in block.splitlines() if line.strip()]


class StackServer:
    """The PostgreSQL of a stack, for scripts; its superuser has the password of its services."""

    def __init__(self, settings):
        self.url = settings["COUNTERSIGN_POSTGRES_URL"]

    def script(self, path, user):
        self.psql(self.url.replace("//countersign:", f"//{user}:", 1), "-f", path)

    def ask(self, query):
        """The first value of the answer."""
        return self.psql(self.url, "-At", "-c", query).strip()

    def psql(self, url, *arguments):
        program = pathlib.Path(read_setup("PG_BIN")["PG_BIN"]) / "psql"
        return subprocess.run([program, "-qX", "-v", "ON_ERROR_STOP=1", "-d", url, *arguments], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def url_of(self, role, password):
        return re.sub(r"//[^@]*@", f"//countersign_{role}:{password}@", self.url, count=1)


class Runner:
    """Runs them by bash, with `countersign` on the PATH: looks as countersign_reader, acts as countersign_operator."""

    def __init__(self, settings, folder, services):
        """Makes the roles in the stack of these settings; `services` are asked for what stands at HOST:PORT."""
        self.server, programs = StackServer(settings), settings["COUNTERSIGN_BIN_DIR"]
        passwords = make_roles(self.server, folder)
        common = {**os.environ, **settings, "PATH": f"{programs}:{os.environ['PATH']}"}
        subprocess.run(["countersign", "migrate"], env=common, check=True, stdout=subprocess.DEVNULL)  # Which gives them their rights.
        self.environments = {
            section: {**common, "COUNTERSIGN_POSTGRES_URL": self.server.url_of(role, passwords[role])}
            for section, role in (("Look", "reader"), ("Do", "operator"))}
        self.addresses = ["127.0.0.1:" + settings[f"COUNTERSIGN_{name.upper().replace('-', '_')}_ADMIN_PORT"] for name in services]

    def run(self, section, line, values):
        """None where it ended well, else what it printed. A line with HOST:PORT is tried at each process, and has to do at one."""
        wanted = set(PLACE.findall(line.partition("   #")[0])) - {"HOST:PORT"}
        if not wanted <= set(values):
            return f"nothing to fill in for {', '.join(sorted(wanted - set(values)))}"
        told = ""
        for address in self.addresses if "HOST:PORT" in line else [""]:
            filled = PLACE.sub(lambda place: {**values, "HOST:PORT": address}[place[0]], line.partition("   #")[0])
            try:
                result = subprocess.run(["bash", "-o", "pipefail", "-c", filled], env=self.environments[section], text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                told = f"not within {SECONDS:.0f} s"
                continue
            if result.returncode in DONE:
                return None
            told = f"exit code {result.returncode}: {result.stdout.strip()[-400:]}"
        return told

    def run_page(self, alert, values, sections=("Look", "Do"), away=None):
        """How many commands ran, how many want another machine, and (line, what it printed) of those that failed.

        away    what a command says that asks a server which the accident stopped: that is its answer
        """
        ran, elsewhere, failed = 0, 0, []
        for section, line in commands(alert):
            if section not in sections:
                continue
            if ELSEWHERE.search(line):
                elsewhere += 1
                continue
            ran += 1
            told = self.run(section, line, values)
            if told and not (away and re.search(away, told)):
                failed.append((line.partition("   #")[0].strip(), told))
        return ran, elsewhere, failed
