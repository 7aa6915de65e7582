"""The pages of the reference that are made from the sources: settings, reasons, problems, files."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = "deploy/site/pages/"
MADE = "This page is made by `deploy/site/reference --write` out of {sources}. Change those, and not this page."
PROCESSES = {
    "ReceiptIntake": "receipt-intake", "VerificationWorker": "verification-worker", "Fulfillment": "fulfillment",
    "Notification": "notification", "CountersignTool": "countersign", "AppStoreSimulator": "app-store-simulator",
}
EVERY = "every service"
TABLE_HEADS = {"variable", "key"}
REASONS = "Shared/PurchaseModel/Reasons"
PROBLEMS = "Services/ReceiptIntake/Pages/ProblemPage+List.swift"
VERDICTS = PAGES + "outcomes.md"
FILES = [
    ("The apps file", "Shared/ServiceRuntime/AppsFile.swift", "`COUNTERSIGN_APPS_FILE`: which apps are served, and who may call for them."),
    ("The catalogue", "Shared/ServiceRuntime/Catalogue/CatalogueFile.swift",
     "`COUNTERSIGN_CATALOGUE_FILE`: what each product grants. [The guide](catalogue.md) has a table of the fields."),
    ("The webhooks file", "Shared/ServiceRuntime/WebhooksFile.swift",
     "`COUNTERSIGN_WEBHOOKS_FILE`: where webhooks go. [The guide](webhooks.md) says what an endpoint sees."),
]


def pages():
    """What each made page says, by its path in the repository."""
    return {PAGES + "settings.md": settings_page(), PAGES + "reasons.md": reasons_page(), PAGES + "problems.md": problems_page(),
            PAGES + "files.md": files_page()}


def read(path):
    return (ROOT / path).read_text()


# --- settings -----------------------------------------------------------------------------------------------------------

def settings_page():
    lines = ["# Settings", "", MADE.format(sources="the tables beside the code that reads them"), "",
             "Every process reads environment variables. A YAML file (`COUNTERSIGN_CONFIG`) may have them, too:",
             "`COUNTERSIGN_HTTP_PORT` is `http: {port: …}` there, and a variable wins over the file. A secret `X` may be given as `X_FILE`, the",
             "path of a file that holds it. A mistake ends the process at its start: one sentence in the log, exit code 64.", "",
             "| service | variable | meaning | default |", "|---|---|---|---|"]
    lines += [f"| {process} | {names} | {meaning} | {default} |" for process, names, meaning, default in all_settings()]
    return named_files("\n".join(lines) + "\n")


def named_files(text):
    """The types that sources name, as links to the page of their files."""
    for name, anchor in [("AppsFile", "the-apps-file"), ("CatalogueFile", "the-catalogue"), ("WebhooksFile", "the-webhooks-file")]:
        text = text.replace(f", see `{name}`", f" ([fields](files.md#{anchor}))")
    return text


def all_settings():
    """(service, names, meaning, default) of every row of every table of settings, in the order of the sources."""
    for row in tables(read("Shared/ServiceRuntime/README.md")):
        yield EVERY, variables(row[0]), row[1], row[2]
    for folder, process in PROCESSES.items():
        sources = sorted((ROOT / "Services" / folder).rglob("*.swift"))
        for source in sorted(sources, key=lambda path: path.name != "Configuration.swift"):
            for row in tables(re.sub(r"^\s*/// ?", "", source.read_text(), flags=re.MULTILINE)):
                # A row that stands for another table, whose rows are there themselves.
                if "_…`" not in row[0]:
                    yield process, variables(row[0]), row[1], row[2]


def tables(text):
    """Name, meaning and default of the rows of tables whose first column is called variable or key."""
    head = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells
        elif head[0] in TABLE_HEADS and "`" in cells[0]:
            # The retention's table, whose numbers are days, and those of tools, which have no defaults.
            words = {"what goes": "days until these go, or `none`: ", "used by": "used by: "}.get(head[1], "")
            yield cells[0], words + cells[1], cells[2] if len(cells) > 2 else ""


def variables(cell):
    """Keys as variables: `http.port` is `COUNTERSIGN_HTTP_PORT`."""
    def variable(match):
        name = match[1]
        return f"`{name}`" if name.startswith(("COUNTERSIGN_", "…")) else f"`COUNTERSIGN_{name.upper().replace('.', '_')}`"
    return re.sub(r"`([\w.…]+)`", variable, cell)


# --- reasons ------------------------------------------------------------------------------------------------------------

def reasons_page():
    refused, unknown = verdict_reasons()
    lines = ["# Reasons", "", MADE.format(sources=f"`{REASONS}` and the verifier's table"), "",
             "The member `reason` of an answer, of an event (`data.reason`), of log lines and of metrics. A program may rely on the word. The",
             "sentence in `detail` is for people and may change. Later versions add reasons.", "",
             "Which state each has, and whether the app may finish, is in the",
             "[table of outcomes](outcomes.md#the-answer-to-a-genuine-proof).", "",
             "## All", "", "| reason | meaning | what the operator does |", "|---|---|---|"]
    lines += [f"| `{word}` | {meaning} | {remedy} |" for word, meaning, remedy in sorted(all_reasons())]
    lines += ["", "## Refused by verification", "", "The proof cannot become genuine by itself. The same post has it judged again, with growing intervals, because another version or",
              "setting may have another result.", "",
              "| reason | of | what is wrong |", "|---|---|---|"]
    lines += [f"| `{word}` | {', '.join(kinds)} | {'; '.join(what)} |" for word, (kinds, what) in refused]
    lines += ["", "## Not known yet", "", "The app gets `received`. Countersign tries again until the proof is genuine or rejected.", "",
              "| reason | of | what happened |", "|---|---|---|"]
    lines += [f"| `{word}` | {', '.join(kinds)} | {'; '.join(what)} |" for word, (kinds, what) in unknown]
    return "\n".join(lines) + "\n"


TEXT = r'"""\n(?:.*\n)*?\s*"""|"[^"\n]*"'


def all_reasons():
    """(word, meaning, what the operator does) of every row of the table in the sources."""
    words = dict(re.findall(r'static let (\w+) = ReasonCode\(rawValue: "(\w+)"\)', read(REASONS + "/ReasonCode.swift")))
    for source in sorted((ROOT / REASONS).glob("Reason+*.swift")):
        text = source.read_text()
        constants = {name: plain(value) for name, value in re.findall(rf"private static let (\w+) =\s*({TEXT})", text)}
        for name, word, meaning, rest in re.findall(rf'^ {{8}}Reason\(\s*(?:\.(\w+)|named: "(\w+)"),\s*({TEXT})((?:,\s*\w+:\s*(?:{TEXT}|\w+))*)\)', text, re.MULTILINE):
            told = [(kind, constants.get(value) or plain(value)) for kind, value in re.findall(rf",\s*(\w+):\s*({TEXT}|\w+)", rest)]
            yield words.get(name, word), plain(meaning), "; ".join(f"{kind}: {remedy}" for kind, remedy in told if kind != "because")


def plain(literal):
    """The text of a literal of Swift, of one line or of several."""
    return re.sub(r"\s*\\?\n\s*", " ", literal.strip('"')).strip()


def verdict_reasons():
    """Of the worker's table of verdicts: what is rejected, and what is unknown, by reason."""
    found = {"rejected": {}, "unknown": {}}
    for line in read(VERDICTS).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[2] in found and cells[3].startswith("`"):
            kinds, what = found[cells[2]].setdefault(cells[3].strip("`"), ([], []))
            kinds += [cells[0]] if cells[0] not in kinds else []
            what += [cells[1]] if cells[1] not in what else []
    return sorted(found["rejected"].items()), sorted(found["unknown"].items())


# --- problems -----------------------------------------------------------------------------------------------------------

def problems_page():
    lines = ["# Problems", "", MADE.format(sources=f"`{PROBLEMS}`"), "",
             "Problems of receipt-intake are RFC 9457 documents of type `/problems/<slug>`, relative to its address, where a page says the same as this",
             "table. Compare the whole type, or its last part.", "", "| status | type | meaning | what to do |", "|---|---|---|---|"]
    rows = re.findall(r'ProblemPage\(\s*"([a-z-]+)",\s*((?:\d+,\s*)+)meaning:\s*((?:"[^"\n]*"[\s+]*)+),\s*remedy:\s*((?:"[^"\n]*"[\s+]*)+)\)',
                      read(PROBLEMS))
    for slug, statuses, *texts in sorted(rows, key=lambda row: (re.findall(r"\d+", row[1]), row[0])):
        meaning, remedy = ("".join(re.findall(r'"([^"\n]*)"', text)) for text in texts)
        lines.append(f"| {', '.join(re.findall(r'[0-9]+', statuses))} | `{slug}` | {meaning} | {remedy} |")
    return "\n".join(lines) + "\n"


# --- files --------------------------------------------------------------------------------------------------------------

def files_page():
    lines = ["# Files", "", MADE.format(sources="the comments of the types that read the files"), "",
             "Three YAML files. The services read them again within seconds when they change. A mistake in one changes nothing: what it said before",
             "stays in use, the log names the line, and `countersign_settings_file_mistaken` or `countersign_catalogue_mistaken` is 1. A field that is",
             "not known is a mistake. `countersign init` writes all three; `app add`, `key create` and `webhooks add` add to them."]
    for title, path, sentence in FILES:
        lines += ["", f"## {title}", "", sentence, "", "```yaml", *example(path), "```"]
    return "\n".join(lines) + "\n"


def example(path):
    """The YAML in the comment of the type."""
    block = re.search(r"^/// ```yaml\n(.*?)^/// ```$", read(path), re.DOTALL | re.MULTILINE)
    return [re.sub(r"^/// ?", "", line) for line in block[1].splitlines()]
