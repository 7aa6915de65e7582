"""Processes that outlive the command that starts them: those of deploy/stack and of deploy/kafka/cluster.

A pid file holds a process's id and when the process began, because the system gives ids out again.
"""

import contextlib
import fcntl
import pathlib
import subprocess

LOG_LINES = 20  # Lines of a log that are shown when a start fails.


def start_process(command, pid_file, output, **options):
    """Starts it, with its output and its errors to the open file `output`; `options` are those of subprocess."""
    # A session of its own, no input, no inherited descriptors: nobody waits on a pipe that we hold open.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                               close_fds=True, **options)
    pid_file.write_text(f"{process.pid} {process_start(process.pid)}\n")
    return process


def running_pid(pid_file):
    """The id of the running process; nothing when it is gone, or when the number is somebody else's by now."""
    try:
        pid, start = pid_file.read_text().split()
    except (OSError, ValueError):
        return None
    return int(pid) if process_start(int(pid)) == start else None


def process_start(pid):
    """When the process began, in ticks since the machine did; nothing when it is gone or a zombie."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


@contextlib.contextmanager
def file_lock(path):
    """Held by one command at a time; the system releases it when that command ends in any way."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def log_end(text):
    """The last lines of a log, set off from what is said about them."""
    return "\n".join("  | " + line for line in text.splitlines()[-LOG_LINES:])
