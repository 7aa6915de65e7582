"""The rights that rights.sql gives: `check-rights` compares them with a database, `rights_tried.py` tries them."""

import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
GRANT = re.compile(r"^GRANT ([^;]+?)\s+ON\s+(?:FUNCTION )?(\w+)(?:\([^)]*\))?\s+TO\s+([\w\s,]+);$", re.MULTILINE)
VERB = re.compile(r"([A-Z]+)(?:\s+\(([^)]*)\))?")
COMMA = re.compile(r",\s*")


def listed():
    """(object, role, verb, column) of each; the column is empty where it is the whole object."""
    rights = set()
    for verbs, name, roles in GRANT.findall((HERE / "rights.sql").read_text()):
        for verb, columns in VERB.findall(verbs):
            for role in COMMA.split(roles):
                rights |= {(name, role, verb, column) for column in (COMMA.split(columns) if columns else [""])}
    return rights
