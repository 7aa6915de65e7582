"""The pages of the reference that are made from the sources: settings, reasons, problems, files."""

import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = "deploy/site/pages/"
MADE = "This page is made by `deploy/site/reference --write` out of {sources}. Change those, and not this page."
PROCESSES = {
    "ReceiptIntake": "receipt-intake", "VerificationWorker": "verification-worker", "Fulfillment": "fulfillment",
    "Notification": "notification", "Console": "console", "CountersignTool": "countersign", "AppStoreSimulator": "app-store-simulator",
}
TOOLS = ("CountersignTool", "AppStoreSimulator")  # They have no settings of their own, and say which of the services' they use.
SHARED_SETTINGS = ["Shared/EventProcessing/KafkaSettings.swift", "Shared/EventProcessing/PostgresSettings.swift",
                   "Shared/EventProcessing/WebhookSettings.swift", "Shared/TrustedRootSettings/TrustedRootSettings.swift"]
ROOT_USES = "Shared/TrustedRootSettings/RootUse.swift"
GROUPS = {"webhooks", "postgres", "console"}
EVERY = "every service"
REASONS = "Shared/PurchaseModel/Reasons"
STATUSES = {  # By the names that swift-http-types has for them.
    "badRequest": "400", "unauthorized": "401", "forbidden": "403", "notFound": "404", "methodNotAllowed": "405",
    "requestTimeout": "408", "conflict": "409", "gone": "410", "contentTooLarge": "413", "unsupportedMediaType": "415",
    "unprocessableContent": "422", "tooManyRequests": "429", "internalServerError": "500", "serviceUnavailable": "503",
}
PROBLEMS = "Services/ReceiptIntake/HTTP/ProblemKind+List.swift"
VERDICTS = PAGES + "outcomes.md"
FILES = [
    ("The apps file", "Shared/ServiceRuntime/AppsFile.swift", "`COUNTERSIGN_APPS_FILE`: which apps are served, and who may call for them."),
    ("The catalogue", "Shared/ServiceRuntime/Catalogue/CatalogueFile.swift",
     "`COUNTERSIGN_CATALOGUE_FILE`: what each product grants. [The guide](catalogue.md) has a table of the fields."),
    ("The webhooks file", "Shared/ServiceRuntime/WebhooksFile.swift",
     "`COUNTERSIGN_WEBHOOKS_FILE`: where webhooks go. [The guide](webhooks.md) says what an endpoint sees."),
    ("The people file", "Services/Console/People/PeopleFile.swift",
     "`COUNTERSIGN_CONSOLE_PEOPLE_FILE`: who has which role in the [console](../../../Services/Console/README.md#roles)."),
]


def pages():
    """What each made page says, by its path in the repository."""
    return {PAGES + "settings.md": settings_page(), PAGES + "reasons.md": reasons_page(), PAGES + "problems.md": problems_page(),
            PAGES + "files.md": files_page()}


def read(path):
    return (ROOT / path).read_text()


# --- settings -----------------------------------------------------------------------------------------------------------

def settings_page():
    lines = ["# Settings", "", MADE.format(sources="the calls that read them"), "",
             "Every process reads environment variables. A YAML file (`COUNTERSIGN_CONFIG`) may have them, too:",
             "`COUNTERSIGN_HTTP_PORT` is `http: {port: …}` there, and a variable wins over the file. A secret `X` may be given as `X_FILE`, the",
             "path of a file that holds it. A mistake ends the process at its start: one sentence in the log, exit code 64.", "",
             "| service | variable | meaning | default |", "|---|---|---|---|"]
    lines += [f"| {process} | {names} | {meaning} | {default} |" for process, names, meaning, default in all_settings()]
    return named_files("\n".join(lines) + "\n")


def named_files(text):
    """The types that sources name, as links to the page of their files."""
    for name, anchor in [("AppsFile", "the-apps-file"), ("CatalogueFile", "the-catalogue"), ("WebhooksFile", "the-webhooks-file"),
                         ("PeopleFile", "the-people-file")]:
        text = text.replace(f", see `{name}`", f" ([fields](files.md#{anchor}))")
    return text


def all_settings():
    """(service, names, meaning, default) of every setting, in the order in which the sources read them."""
    for row in tables(read("Shared/ServiceRuntime/README.md")):
        yield EVERY, row[0], row[1], row[2]
    for service, key, names, meaning, default in service_settings():
        yield PROCESSES[service], names, meaning, default
    for folder in TOOLS:
        for source in sorted((ROOT / "Services" / folder).rglob("*.swift")):
            for names, users in tables(re.sub(r"^\s*/// ?", "", source.read_text(), flags=re.MULTILINE)):
                yield PROCESSES[folder], names, f"used by: {users}", ""


# A call that reads a setting: of the reader, or of a function that is given the reader and the key, or a use of roots.
READ = re.compile(r'(?:\b(?:\w*[sS]ettings)\.(?P<how>\w+)\(|\bSelf\.\w+\(\s*settings,)\s*"(?P<key>[a-z][a-z0-9_.]*)"'
                  r'(?P<rest>[^\n]*(?:\n[^\n]*)?)|\(settings, for: \.(?P<use>\w+)\)')
DEFAULT = re.compile(r"\bdefault: ((?:[^(),]|\([^()]*(?:\([^()]*\)[^()]*)*\))+)")


@functools.cache
def service_settings():
    """(service, key, names, meaning, default) of what the services read; what several read stands in a shared module."""
    found = []
    for service in PROCESSES:
        if service in TOOLS:
            continue
        own = sorted((ROOT / "Services" / service).rglob("*.swift"), key=lambda path: (path.name != "Configuration.swift", path))
        texts = {path: path.read_text() for path in own}
        # A shared function counts where the service calls it, or another that calls it.
        for shared in SHARED_SETTINGS:
            for name, text in shared_functions(shared, "\n".join(texts.values())):
                found += [(service, *row) for row in read_calls(text, ROOT / shared)]
        for path, text in texts.items():
            for row in read_calls(text, path):
                # What a service itself says goes before what the shared module says.
                same = [place for place, other in enumerate(found) if other[:2] == (service, row[0])]
                found[same[0] if same else len(found):(same[0] + 1) if same else len(found)] = [(service, *row)]
    return found


def shared_functions(path, caller):
    """The functions of a shared reader that a service's text calls, with those that they call."""
    text, owner = read(path), pathlib.Path(path).stem
    functions = dict(re.findall(r"(?ms)^    (?:package |private )?static (?:func|var) (\w+).*?$(.*?)(?=^    \})", text))
    wanted = [name for name in functions if re.search(rf"\b{owner}\.{name}\b", caller)]
    for name in wanted:
        wanted += [other for other in functions if other not in wanted and re.search(rf"\b{other}\(", functions[name])]
    return [(name, functions[name]) for name in functions if name in wanted]


def read_calls(text, path):
    """(key, names, meaning, default) of each call that has a comment above it: that says what the setting means."""
    lines = text.splitlines()
    for match in READ.finditer(text):
        above = text.count("\n", 0, match.start())
        comment = []
        while above > 0 and lines[above - 1].strip().startswith("// "):
            above -= 1
            comment.insert(0, lines[above].strip().removeprefix("// "))
        meaning, _, default = " ".join(comment).partition(" Default: ")
        if not meaning:
            continue
        key, rest = match["key"] or re.search(rf'case \.{match["use"]}: "([a-z_.]+)"', read(ROOT_USES))[1], match["rest"] or ""
        names = variable(key)
        if match["how"] == "listenAddress":
            names = f"{variable(key + '.host')}, {variable(key + '.port')}"
            default = "127.0.0.1, " + re.search(r"port: (\d+)", rest)[1]
        elif not default and (match["how"] or "").startswith("required"):
            default = "required"
        elif not default:
            written = DEFAULT.search(rest)
            default = "none" if not written else evaluated(written[1].strip(), path)
        yield key, names, variables(meaning), variables(default)


def evaluated(text, path):
    """The default that an expression of Swift stands for: a number of seconds, days or things, a word, or the name of one of these."""
    number = re.fullmatch(r"(?:Duration)?\.(seconds|milliseconds|days)\((.*)\)", text)
    if number:
        value = evaluated(number[2], path)
        return value if number[1] != "milliseconds" else f"{float(value) / 1000:g}"
    if re.fullmatch(r"[\d_. *<]+", text):
        return f"{eval(text.replace('_', '')):.12g}"  # Digits and operators alone.
    if literal := re.fullmatch(r'"([^"]*)"', text):
        return f"`{literal[1]}`"
    if re.fullmatch(r"true|false|(?:[A-Z]\w*)?\.[a-z]\w*", text) and not definition(text, path):
        return f"`{text.rpartition('.')[2]}`"
    return evaluated(definition(text, path), path)


def definition(name, path):
    """What a constant or a property is declared as, in the same file or in that of its type."""
    owner, _, last = name.rpartition(".")
    owner = owner.rpartition(".")[0] or owner
    paths = [path] + [found for folder in ("Services", "Shared") for found in sorted((ROOT / folder).rglob("*.swift"))
                      if owner[:1].isupper() and re.search(rf"\b(?:struct|enum|class|actor) {re.escape(owner.split('.')[0])}\b", found.read_text())]
    for source in paths:
        if match := re.search(rf"\b(?:let|var) {last}(?:: [^=\n]+)? = ([^\n]+)$", source.read_text(), re.MULTILINE):
            return match[1].strip()
    return None


def tables(text):
    """Names, meaning and default of the rows of tables whose first column is called variable."""
    head = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells
        elif head[0] == "variable" and "`" in cells[0]:
            yield cells


def variable(key):
    return f"`COUNTERSIGN_{key.upper().replace('.', '_')}`"


def variables(text):
    """The keys of a text as variables: `postgres.url_file` is `COUNTERSIGN_POSTGRES_URL_FILE`."""
    return re.sub(r"`([a-z_]+(?:\.[a-z_]+)+)`", lambda match: variable(match[1]) if match[1].split(".")[0] in GROUPS else match[0], text)


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
             "Problems of receipt-intake are RFC 9457 documents. Programs read their `code`; their `type` is `/problems/<code>`, relative to its address,",
             "where a page says the same as this table.", "", "| status | code | meaning | what to do |", "|---|---|---|---|"]
    rows = re.findall(r'ProblemKind\(\s*"([a-z-]+)",\s*\.(\w+),\s*(?:also: \.(\w+),\s*)?"[^"\n]*",\s*'
                      r'meaning:\s*((?:"[^"\n]*"[\s+]*)+),\s*remedy:\s*((?:"[^"\n]*"[\s+]*)+)\)', read(PROBLEMS))
    found = []
    for code, status, also, *texts in rows:
        meaning, remedy = ("".join(re.findall(r'"([^"\n]*)"', text)) for text in texts)
        statuses = [STATUSES[name] for name in (status, also) if name]
        found.append((statuses, f"| {', '.join(statuses)} | `{code}` | {meaning} | {remedy} |", code))
    lines += [line for _, line, _ in sorted(found, key=lambda row: (row[0], row[2]))]
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
