"""Files that hold secrets."""

import os


def write_private(path, text):
    """Whole or not at all, and for the owner's eyes only."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    temporary.rename(path)
