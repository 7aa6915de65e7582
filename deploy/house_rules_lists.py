"""Rules of `deploy/house-rules` for what has to stand in more than one place: settings, migrations, releases, stories."""

import functools
import pathlib
import re

from house_rules_swift import Finding, code_only, line_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIGRATION = re.compile(r"Shared/Persistence/Migrations/(\d{4})_(\w+)\.sql")
EMBEDDED = "Shared/Persistence/SchemaFile/SchemaFile.c"
MIGRATOR = "Shared/Persistence/Migrations/Migrator.swift"
RELEASED = "Tests/FulfillmentTests/ReleasedSchemas/"
UPGRADES = "Tests/FulfillmentTests/UpgradeTests.swift"
STORIES = "Tests/Stories/"
BACKEND_STORIES = "Tests/EndToEndTests/BackendStoriesTests.swift"
SETTING = re.compile(r'\bsettings\.(string|requiredString|int|bool|duration|choice|stringList|secret|requiredSecret|'
                     r'fileText|requiredFileText|listenAddress)\(\s*"([a-z][a-z0-9_.]*)"')


def check_settings(path, text, code):
    """A setting that a service reads stands in a table of its folder, as a key or as a variable."""
    if not path.startswith("Services/") or not SETTING.search(text):
        return
    service = path.split("/")[1]
    for match in SETTING.finditer(code_only(text, keeps_strings=True)):
        if plain_setting(match[2]) + ("_host" if match[1] == "listenAddress" else "") not in documented_settings(service):
            yield Finding(path, line_of(text, match.start()),
                          f"the setting {match[2]} stands in no table: add a row in {service}'s Configuration.swift")


@functools.cache
def documented_settings(service):
    """What the tables of a service's folder name: keys, or variables, whose underscores may be a key's dots."""
    names = set()
    for page in (ROOT / "Services" / service).rglob("*"):
        if page.suffix in (".swift", ".md"):
            for row in re.findall(r"^\s*(?:///\s*)?\|(.*)$", page.read_text(), re.MULTILINE):
                names.update(plain_setting(name) for name in re.findall(r"`([\w.]+)`", row))
    return names


def plain_setting(name):
    return name.lower().removeprefix("countersign_").replace(".", "_")


def check_migrations(path, text):
    """A migration is compiled in, and applied under its own number and name."""
    match = MIGRATION.fullmatch(path)
    if path.startswith("Shared/Persistence/Migrations/") and path.endswith(".sql") and not match:
        yield Finding(path, 1, "a migration is named NNNN_what_it_does.sql")
    elif match:
        number, name = match.groups()
        applied = rf'version: {int(number)}, name: "{name}",\s*sql: .*migration_{number}\(\)'
        missing = [] if f'#embed "../Migrations/{number}_{name}.sql"' in read(EMBEDDED) else [EMBEDDED]
        missing += [] if re.search(applied, read(MIGRATOR)) else [MIGRATOR]
        if missing:
            yield Finding(path, 1, f"a migration is compiled in by SchemaFile.c and applied by Migrator.swift, with its "
                                   f"number and name; it is missing in {' and '.join(missing)}")


def check_releases(path, text):
    """An upgrade from each version that was released is tested: all in the changelog but the one that it begins with."""
    if path != "deploy/CHANGELOG.md":
        return
    versions = list(re.finditer(r"^## \[?([\w.-]+)", text, re.MULTILINE))
    for match in versions[1:]:
        if not (ROOT / RELEASED / f"{match[1]}.sql").exists() or f'name: "{match[1]}"' not in read(UPGRADES):
            yield Finding(path, line_of(text, match.start()), f"no upgrade from {match[1]} is tested: copy its schema.sql to "
                                                              f"{RELEASED}{match[1]}.sql, and name it in {UPGRADES}")


def check_stories(path, text):
    """A story is in the table of its folder; one that talks to the backend is played with the backend, too."""
    if not (path.startswith(STORIES) and path.endswith(".yaml")):
        return
    name = path.removeprefix(STORIES).removesuffix(".yaml")
    if f"`{name}`" not in read(STORIES + "README.md"):
        yield Finding(path, 1, f"it is missing in the table of {STORIES}README.md")
    if re.search(r"^\s*- backend:", text, re.MULTILINE) and f'"{name}"' not in read(BACKEND_STORIES):
        yield Finding(path, 1, f"it talks to the backend, and {BACKEND_STORIES} does not play it")


@functools.cache
def read(path):
    return (ROOT / path).read_text()
