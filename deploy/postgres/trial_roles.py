"""A role for each service on a server of a trial: which process has which, and a password each."""

import pathlib
import secrets

from private_files import write_private

HERE = pathlib.Path(__file__).resolve().parent
ROLES = {"receipt-intake": "intake", "verification-worker-1": "worker", "verification-worker-2": "worker",
         "fulfillment": "fulfillment", "notification": "notification"}
TOOLS = ["reader", "operator"]


def make_roles(server, folder):
    """The roles, with a password each; passwords by role."""
    server.script(HERE / "create-roles.sql", user="postgres")
    passwords = {name: secrets.token_urlsafe(24) for name in {*ROLES.values(), *TOOLS}}
    path = folder / "passwords.sql"
    write_private(path, "".join(f"ALTER ROLE countersign_{name} PASSWORD '{word}';\n" for name, word in passwords.items()))
    server.script(path, user="postgres")
    path.unlink()
    return passwords
