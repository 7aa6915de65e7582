"""A private PostgreSQL cluster: made once, started and stopped by deploy/stack, never the system's own."""

import glob
import os
import pathlib
import pwd
import shlex
import shutil
import subprocess
import tempfile
import time

SERVER_USER = "postgres"  # Who runs the server when we are root, which PostgreSQL refuses.
ROLE = "countersign"  # The services' role and their database; it may create databases, for tests.
ORPHANS_TIMEOUT = 20.0  # Seconds that a killed server's children get to leave.


class ClusterError(Exception):
    """The cluster cannot be made or used; the text says why."""


class PrivateCluster:
    """The cluster at `link` (a folder, or a symbolic link to one where the server's user cannot get at it)."""

    def __init__(self, link, password_file, programs, address="127.0.0.1"):
        self.address = address
        self.link = pathlib.Path(link)
        self.password_file = pathlib.Path(password_file)
        self.programs = pathlib.Path(programs)
        self.settings = pathlib.Path(__file__).with_name("development.conf")

    @property
    def folder(self):
        return pathlib.Path(os.path.realpath(self.link))

    def popen_user(self):
        """Arguments for subprocess that make the server somebody else than root."""
        if os.geteuid() != 0:
            return {}
        try:
            account = pwd.getpwnam(SERVER_USER)
        except KeyError:
            raise ClusterError(f"PostgreSQL refuses to run as root, and there is no user {SERVER_USER}") from None
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}

    def command(self, port):
        options = shlex.split(os.environ.get("COUNTERSIGN_STACK_POSTGRES_OPTIONS", ""))
        return [str(self.programs / "postgres"), "-D", str(self.folder), "-p", str(port),
                "-c", f"listen_addresses={self.address}", *options]

    def create(self, say):
        """Makes the cluster, unless it is there already. A half-made one is made anew."""
        if (self.folder / "countersign-ready").exists():
            return
        self._make_folder(say)
        say("making a PostgreSQL cluster")
        password = self.password_file.read_text().strip()
        descriptor, name = tempfile.mkstemp(prefix="countersign-", dir="/tmp")
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(password + "\n")
            if os.geteuid() == 0:
                os.chown(name, self.popen_user()["user"], -1)
            self._run("initdb", "--pgdata", str(self.folder), "--username=postgres", f"--pwfile={name}",
                      "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--lc-collate=C", "--no-instructions")
        finally:
            os.unlink(name)
        with open(self.folder / "postgresql.conf", "a") as file:
            file.write("\n" + self.settings.read_text())
        self._single_user(f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{password}'")
        self._single_user(f"CREATE DATABASE {ROLE} OWNER {ROLE}")
        (self.folder / "countersign-ready").touch()

    def wait_for_orphans(self, say):
        """A killed server's children leave by themselves; until then the shared memory is in use.

        When none is left, a lock file that is still there is stale, and its number may be somebody else's by now.
        """
        deadline = time.monotonic() + ORPHANS_TIMEOUT
        orphans = self.processes()
        if orphans:
            say(f"waiting for {len(orphans)} processes of the previous server")
        while orphans:
            if time.monotonic() > deadline:
                raise ClusterError(f"processes of the previous server do not leave: {orphans}")
            time.sleep(0.05)
            orphans = self.processes()
        (self.folder / "postmaster.pid").unlink(missing_ok=True)

    def processes(self):
        """Ids of the processes at work in the cluster: each of PostgreSQL's has the data folder as its own."""
        found = []
        for link in glob.glob("/proc/[0-9]*/cwd"):
            try:
                if os.readlink(link) == str(self.folder):
                    found.append(int(link.split("/")[2]))
            except OSError:
                continue  # Gone meanwhile, or not ours to look at.
        return found

    def accepts(self, port):
        """Whether the server on `port` takes connections."""
        return subprocess.run([self.programs / "pg_isready", "-q", "-h", self.address, "-p", str(port), "-t", "2"],
                              stdin=subprocess.DEVNULL, check=False).returncode == 0

    def remove(self):
        """Removes the data, behind the link too."""
        folder = self.folder
        if self.link.is_symlink():
            self.link.unlink()
        shutil.rmtree(folder, ignore_errors=True)

    def _make_folder(self, say):
        if self.link.exists() or self.link.is_symlink():
            self.remove()
        if os.geteuid() != 0:
            self.link.mkdir(mode=0o700)
            return
        account = self.popen_user()
        folder = self.link
        if not self._reachable(self.link.parent):
            folder = pathlib.Path(tempfile.mkdtemp(prefix="countersign-postgres-", dir="/tmp"))
            say(f"user {SERVER_USER} cannot reach {self.link.parent}; the cluster is in {folder}")
            self.link.symlink_to(folder)
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chown(folder, account["user"], account["group"])

    def _reachable(self, folder):
        return subprocess.run(["test", "-x", str(folder)], cwd="/", check=False, **self.popen_user()).returncode == 0

    def _single_user(self, statement):
        """Without a server, so that nothing listens before the cluster is whole."""
        self._run("postgres", "--single", "-D", str(self.folder), "postgres", statement=statement + "\n")

    def _run(self, program, *arguments, statement=""):
        result = subprocess.run([str(self.programs / program), *arguments], cwd="/", input=statement, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **self.popen_user())
        if result.returncode != 0 or "ERROR:" in result.stdout or "FATAL:" in result.stdout:
            raise ClusterError(f"{program} failed:\n{result.stdout.strip()}")
