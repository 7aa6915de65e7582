"""Tries every right as each role, by psql: what rights.sql lists is not refused, and everything else is.

A statement is tried for each role, table and column: SELECT, INSERT and UPDATE of the column, DELETE, TRUNCATE. None touches a
row, and each is rolled back: PostgreSQL looks at rights before it looks for rows.
"""

import subprocess

from rights_listed import listed

ROLES = [f"countersign_{name}" for name in ("intake", "worker", "fulfillment", "notification", "reader", "operator")]
REFUSED = "42501"  # insufficient_privilege
# What whoever took a role over would try beside reading and writing rows.
BREAKING_OUT = [
    "CREATE TABLE mine (id int)", "CREATE TEMPORARY TABLE mine (id int)", "CREATE SCHEMA mine",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'", "DROP TABLE orders", "ALTER TABLE orders ADD mine int",
    "ALTER TABLE ledger_entries DISABLE TRIGGER ALL", "SET session_replication_role = replica",
    "CREATE ROLE mine LOGIN", "ALTER ROLE CURRENT_USER SUPERUSER", "GRANT pg_read_server_files TO CURRENT_USER",
    "COPY schema_migrations TO PROGRAM 'true'", "COPY schema_migrations FROM '/etc/hostname'",
    "SELECT pg_read_file('/etc/hostname')", "SELECT * FROM pg_authid",
]
# One row a column; a function has its parameters' types for a column. Extensions' objects are none of ours.
OBJECTS = """
    SELECT c.relname, c.relkind, t.attname, t.attidentity <> '' OR t.attgenerated <> ''
    FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid AND t.attnum > 0 AND NOT t.attisdropped
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
    UNION ALL
    SELECT proname, 'f', oidvectortypes(proargtypes), false
    FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prorettype <> 'trigger'::regtype
    ORDER BY 1, 3
"""
MEMBERS = "SELECT member::regrole, roleid::regrole FROM pg_auth_members WHERE roleid::regrole::text LIKE 'countersign_%'"


class Psql:
    """psql, with arguments and an environment that lead to a server."""

    def __init__(self, command, environment):
        self.command, self.environment = [str(word) for word in command], environment

    def run(self, script):
        """What it printed; mistakes in statements are passed over."""
        result = subprocess.run([*self.command, "-qXAt", "-F", "|"], input=script, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if result.returncode:
            raise RuntimeError(f"psql ended with {result.returncode}: {result.stderr.strip()[-1000:]}")
        return result.stdout

    def rows(self, query):
        return [line.split("|") for line in self.run(f"{query};\n").splitlines()]


def given_to(role, members, rights):
    """What a role may: (object, verb, column), its own and what it has by the roles that it is a member of."""
    roles, found = {role}, set()
    while roles != found:
        found = set(roles)
        roles |= {group for member, group in members if member in found}
    return {(name, verb, column) for name, grantee, verb, column in rights if grantee in roles}


def statements(objects):
    """Each statement with what it needs: (statement, object, verb, column)."""
    for name, kind, column, is_made in objects:
        if kind == "f":
            values = ", ".join(f"NULL::{type_}" for type_ in column.split(", ") if type_)
            yield f"SELECT {name}({values})", name, "EXECUTE", ""
            continue
        yield f'SELECT "{column}" FROM {name} LIMIT 0', name, "SELECT", column
        if kind in "rp":
            # What the database makes itself takes no value; DEFAULT is none.
            if is_made == "f":
                yield f'INSERT INTO {name} ("{column}") SELECT NULL WHERE false', name, "INSERT", column
            yield f'UPDATE {name} SET "{column}" = DEFAULT WHERE false', name, "UPDATE", column
    for name in sorted({name for name, kind, *_ in objects if kind in "rp"}):
        yield f"DELETE FROM {name} WHERE false", name, "DELETE", ""
        yield f"TRUNCATE {name}", name, "TRUNCATE", ""
    for name in sorted({name for name, kind, *_ in objects if kind == "S"}):
        yield f"SELECT nextval('{name}')", name, "USAGE", ""


def codes(psql, tried, before=""):
    """The SQLSTATE of each statement, in its order."""
    script = [before, "\\o /dev/null"]
    for statement in tried:
        script += ["BEGIN;", f"{statement};", "\\echo :SQLSTATE", "ROLLBACK;"]
    found = psql.run("\n".join(script) + "\n").split()
    if len(found) != len(tried):
        raise RuntimeError(f"psql answered {len(found)} of {len(tried)} statements")
    return found


def try_rights(owner, of_role):
    """Tries everything as every role.

    owner    a Psql that may read the catalogue
    of_role  from a role to its Psql and what it says first, such as SET SESSION AUTHORIZATION

    Returns how many statements were allowed, how many refused, and the mistakes, a sentence each.
    """
    objects, members, rights = owner.rows(OBJECTS), owner.rows(MEMBERS), listed()
    tried, mistakes, allowed, refused = list(statements(objects)), [], 0, 0
    if not tried:
        raise RuntimeError("the database has no tables")
    for role in ROLES:
        given = given_to(role, members, rights)
        psql, before = of_role(role)
        who = psql.run(f"{before}\nSELECT current_user, session_user, current_setting('is_superuser');\n").split()
        if who != [f"{role}|{role}|off"]:
            raise RuntimeError(f"this is not {role}: {who}")
        wanted = [(name, verb, column) in given or (name, verb, "") in given for _, name, verb, column in tried]
        lines = [statement for statement, *_ in tried] + BREAKING_OUT
        for statement, is_given, code in zip(lines, wanted + [False] * len(BREAKING_OUT), codes(psql, lines, before)):
            if is_given == (code == REFUSED):
                mistakes.append(f"{role} is {'refused' if is_given else 'not refused'}: {statement} ({code})")
            allowed, refused = allowed + is_given, refused + (not is_given)
    return allowed, refused, mistakes
