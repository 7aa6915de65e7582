"""A Debian that boots in a container (systemd-nspawn) from a copy of a tree, with the network of this machine."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

BOOT_TIMEOUT = 60.0  # Seconds until systemd says that it is up.
STOP_TIMEOUT = 60.0
COMMAND_TIMEOUT = 120.0
PACKAGES = "systemd,systemd-sysv,dbus,ca-certificates,postgresql"


class MachineError(Exception):
    """What a person has to know; no stack trace."""


def bootstrap(tree, suite):
    """A Debian of that suite with PostgreSQL, from where this machine's apt gets its packages."""
    repository = subprocess.check_output(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian", "Label: Debian"],
        text=True).split()
    if not repository:
        raise MachineError("this machine's apt knows no Debian repository; name a tree with --tree")
    tree.parent.mkdir(parents=True, exist_ok=True)
    partial = tree.with_name(tree.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    log = tree.with_name(tree.name + ".log")
    with open(log, "w") as output:
        result = subprocess.run(
            ["nice", "-n", "19", "debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, str(partial),
             repository[0]], stdout=output, stderr=output, check=False)
    if result.returncode != 0:
        raise MachineError(f"debootstrap failed; its log is {log}")
    partial.rename(tree)


class Machine:
    """One container. Commands run in it as root, in all of its namespaces."""

    def __init__(self, tree):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="countersign-machine.", dir=tree.parent))
        self.root = self.folder / "root"
        self.process = None
        self.leader = None
        subprocess.run(["nice", "-n", "19", "cp", "-a", str(tree), str(self.root)], check=True)

    def boot(self):
        """Starts it and waits until its systemd is up."""
        log = open(self.folder / "boot.log", "wb")  # systemd-nspawn holds it as long as it lives.
        self.process = subprocess.Popen(
            ["nice", "-n", "10", "systemd-nspawn", "--quiet", "--boot", f"--directory={self.root}", "--register=no",
             "--keep-unit", "--console=pipe", f"--machine={self.folder.name.replace('_', '-')}"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        log.close()
        deadline = time.monotonic() + BOOT_TIMEOUT
        while time.monotonic() < deadline and self.process.poll() is None:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            if children:
                self.leader = children[0]
                state = self.run("systemctl", "is-system-running", check=False).strip()
                if state in ("running", "degraded"):
                    return state
            time.sleep(0.3)
        raise MachineError(f"the container did not boot: {(self.folder / 'boot.log').read_text()[-2000:]}")

    def run(self, *command, check=True, text=None, timeout=COMMAND_TIMEOUT):
        """What the command prints, its errors too; it fails as the command does, unless told otherwise."""
        result = subprocess.run(
            ["nsenter", "--target", self.leader, "--all", "--", "env", "-i", "LC_ALL=C.UTF-8", "SYSTEMD_PAGER=",
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *command],
            input=text, stdin=None if text is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", check=False, timeout=timeout)
        if check and result.returncode != 0:
            raise MachineError(f"{' '.join(command)} ended with {result.returncode}:\n{result.stdout[-4000:]}")
        return result.stdout

    def write(self, path, text, mode=0o644):
        """A file in it, with that mode from the beginning."""
        target = self.root / path.lstrip("/")
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
            file.write(text)

    def shutdown(self):
        """Powers it off, kills what is left of it, and removes it."""
        if self.process and self.process.poll() is None:
            if self.leader:
                self.run("systemctl", "poweroff", check=False)
            try:
                self.process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)  # Its first process dies with systemd-nspawn.
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
