"""Rules of `deploy/house-rules` for the core: PurchaseModel, Persistence, Fulfillment."""

import functools
import pathlib
import re

from house_rules_swift import Finding, code_only, line_of

STORES = "Shared/Persistence/"
SCHEMA = STORES + "schema.sql"
MIGRATIONS = STORES + "Migrations/"
CORE = ("Shared/PurchaseModel/", "Services/Fulfillment/", STORES)

# (table, type): why it writes a table of another's.
OTHER_WRITERS = {
    ("account_tokens", "IntentStore"): "an intent and its token are written by one statement, on a player's request",
    ("webhook_resends", "DeliveryStore"): "a request is done with in the statement that makes its delivery due",
}
# Types that may write every table, and why.
WRITERS_OF_ALL = {
    "ForgettingStore": "a name is replaced in every table by one type, so that a look at it tells whether one is left out",
}
# (path, table): why the text names a statement that nothing here runs.
ADVICE = {}
WRITE = re.compile(r"\b(?:INSERT\s+INTO|(?<!DO )(?<!FOR )UPDATE(?:\s+ONLY)?|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE(?:\s+TABLE)?)"
                   r"\s+(?:(\w+)|\\#*\()")
TOP_LEVEL_TYPE = re.compile(r"^(?:[\w@]+[ \t]+)*(?:enum|struct|class|actor|extension)[ \t]+(\w+)", re.MULTILINE)

# Where an account is a text: what comes from outside, or goes there.
ACCOUNT_EDGES = {
    STORES + "Rows/": "reads columns",
    STORES + "Reading/": "answers over HTTP",
    STORES + "Ownership/AccountTokenStore.swift": "HTTP: registers what was posted",
    STORES + "Ownership/IntentStore.swift": "HTTP: opens and answers what was posted",
    STORES + "Ownership/OperatorClaimStore.swift": "the operator's command line, and its sentences",
    STORES + "Ownership/OwnershipStore.swift": "what the operator's tool prints",
    STORES + "Submissions/SubmissionIdentifier.swift": "a hash of what was posted, by whom; empty where Apple did",
    STORES + "Submissions/SubmissionStore.swift": "HTTP: who posted it, empty where Apple did",
}
ACCOUNT_TEXT = re.compile(r"\b(\w*(?:[aA]ccount|[oO]wner|[pP]oster|[cC]laimant|[pP]ayer|[sS]harer|[hH]older)s?)"
                          r"\s*:\s*(?:\[|Set<)?String\b(?!\s*:)")

# The words of a name that are not to be used, and what to say.
WORDS = {
    "word": "evidence", "words": "names", "hear": "apply", "heard": "applied", "told": "announced",
    "stated": "statement, present", "held": "locked, stored", "kept": "stored", "standing": "state",
    "standings": "states", "bearer": "its own name", "bearers": "its own name", "finding": "its own name",
    "findings": "its own name",
}
# Values of the type SubscriptionStanding are named after it; it stays, since its name is in too many places.
NAMED_STANDING = {"SubscriptionStanding", "standing", "standings"}
DECLARED = re.compile(r"\b(?:class|struct|enum|actor|protocol|typealias|func|let|var)\s+`?(\w+)"
                      r"|\bcase\s+(\w+(?:\s*,\s*\w+)*)")
SIGNATURE = re.compile(r"\b(?:func\s+[^\s(<]+(?:<[^(]*>)?|init[?!]?|subscript|case\s+\w+)\s*\(")
PARAMETER = re.compile(r"[(,]\s*(?:@\w+\s+)*(\w+)(?:\s+(\w+))?\s*:")


@functools.cache
def writers():
    """Each table's writer, as Shared/Persistence/README.md names it: | folder | `table`, … | `Type` | what |."""
    table = {}
    readme = pathlib.Path(__file__).resolve().parent.parent / STORES / "README.md"
    for line in readme.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and re.fullmatch(r"`\w+`", cells[2]):
            table.update((name, cells[2].strip("`")) for name in re.findall(r"`(\w+)`", cells[1]))
    return table


def check_tables(path, text):
    if path != SCHEMA and not (path.startswith(MIGRATIONS) and path.endswith(".sql")):
        return
    for match in re.finditer(r"((?:^--.*\n)*)^\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)(?!\w|\s+PARTITION\s+OF)",
                             text, re.MULTILINE):
        table, line = match[2], line_of(text, match.start(2))
        if table not in writers():
            yield Finding(path, line, f"{table} has no writer: name one in the table of {STORES}README.md")
        elif path == SCHEMA and not re.search(rf"Written\s+by\s+{writers()[table]}\.", match[1].replace("\n--", "")):
            yield Finding(path, line, f"the comment of {table} does not end with its writer: Written by {writers()[table]}.")


def check_writers(path, text, code):
    if not path.startswith(("Services/", "Shared/")) or not WRITE.search(text):
        return
    for match in WRITE.finditer(code_only(text, keeps_strings=True)):
        table, line = match[1], line_of(text, match.start())
        if table is None:
            yield Finding(path, line, "write the table's name out, so that its writer can be found")
        elif table in writers() and (path, table) not in ADVICE:
            writer, found = writers()[table], type_around(code, match.start())
            if not path.startswith(STORES):
                yield Finding(path, line, f"{table} is written in {STORES} only, by {writer}")
            elif found != writer and found not in WRITERS_OF_ALL and (table, found) not in OTHER_WRITERS:
                yield Finding(path, line, f"{table} is written by {writer} only ({STORES}README.md), not by {found}")


def type_around(code, position):
    """The outermost type whose declaration or extension holds `position`."""
    found = None
    for match in TOP_LEVEL_TYPE.finditer(code, 0, position):
        found = match[1]
    return found


def check_accounts(path, text, code):
    if path.startswith(CORE) and not path.startswith(tuple(ACCOUNT_EDGES)):
        for match in ACCOUNT_TEXT.finditer(code):
            yield Finding(path, line_of(code, match.start()),
                          f"{match[1]} is a String: an account is an `Account` but at the edges (HTTP, rows, messages)")


def check_foundation(path, text, code):
    if path.startswith("Shared/PurchaseModel/"):
        for match in re.finditer(r"\bimport[ \t]+(?:(?:struct|class|enum|protocol|func|var|let|typealias)[ \t]+)?(\w+)",
                                 code):
            if match[1] != "Foundation":
                yield Finding(path, line_of(code, match.start()), f"PurchaseModel imports {match[1]}: it has rules and "
                                                                  "nouns, and nothing but Foundation under it")


def check_words(path, text, code):
    if not path.startswith(CORE):
        return
    for name, position in sorted(declared_names(code), key=lambda declared: declared[1]):
        parts = [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
        for part in parts:
            if part in WORDS and name not in NAMED_STANDING:
                yield Finding(path, line_of(code, position), f"{name}: instead of `{part}` say {WORDS[part]}")


def declared_names(code):
    """Names of types, functions, properties, cases and parameters, with their places."""
    for match in DECLARED.finditer(code):
        group = 1 if match[1] else 2
        for name in re.finditer(r"\w+", match[group]):
            yield name[0], match.start(group) + name.start()
    for match in SIGNATURE.finditer(code):
        end = closing(code, match.end() - 1)
        for parameter in PARAMETER.finditer(code, match.end() - 1, end):
            for group in (1, 2):
                if parameter[group]:
                    yield parameter[group], parameter.start(group)


def closing(code, position):
    """Where the parenthesis that opens at `position` is closed."""
    depth = 0
    for match in re.compile(r"[()]").finditer(code, position):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.start()
    return len(code)
