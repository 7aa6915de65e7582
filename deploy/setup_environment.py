"""What deploy/setup found or installed, as it wrote it to .local/env.sh."""

import pathlib
import subprocess

FILE = pathlib.Path(__file__).resolve().parent.parent / ".local" / "env.sh"
# Bash reads it, because its values refer to each other.
SCRIPT = '. "$0" && for name in "$@"; do printf "%s=%s\\n" "$name" "${!name:-}"; done'


class SetupError(Exception):
    """deploy/setup has not run."""


def read_setup(*names):
    """The values of these variables; empty where there is none."""
    if not FILE.exists():
        raise SetupError("run deploy/setup first")
    lines = subprocess.check_output(["bash", "-c", SCRIPT, str(FILE), *names], text=True).splitlines()
    return dict(line.split("=", 1) for line in lines)
