"""Rules of `deploy/house-rules` for what has to stand in more than one place: settings, migrations, releases, stories."""

import functools
import pathlib
import re
import sys

from house_rules_swift import Finding, code_only, line_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "deploy" / "site"))
import reference_pages  # noqa: E402 (found only from here on)

MIGRATION = re.compile(r"Shared/Persistence/Migrations/(\d{4})_(\w+)\.sql")
EMBEDDED = "Shared/Persistence/SchemaFile/SchemaFile.c"
MIGRATOR = "Shared/Persistence/Migrations/Migrator.swift"
RELEASED = "Tests/FulfillmentTests/ReleasedSchemas/"
UPGRADES = "Tests/FulfillmentTests/UpgradeTests.swift"
STORIES = "Tests/Stories/"
BACKEND_STORIES = "Tests/EndToEndTests/BackendStoriesTests.swift"
def check_settings(path, text, code):
    """A setting that is read has a comment at one of its reads, which says on the page of settings what it means."""
    service = path.split("/")[1] if path.startswith("Services/") else None
    # Tools read what services read.
    known = {key for owner, key, *_ in reference_pages.service_settings() if service in (owner, *reference_pages.TOOLS)}
    for match in reference_pages.READ.finditer(code_only(text, keeps_strings=True)) if service else []:
        if match["key"] and match["key"] not in known:
            yield Finding(path, line_of(text, match.start()), f"what the setting {match['key']} means says no comment above it")


def check_migrations(path, text):
    """A migration is compiled in, and applied under its own number and name."""
    match = MIGRATION.fullmatch(path)
    if path.startswith("Shared/Persistence/Migrations/") and path.endswith(".sql") and not match:
        yield Finding(path, 1, "a migration is named NNNN_what_it_does.sql")
    elif match:
        number, name = match.groups()
        applied = rf'version: {int(number)}, name: "{name}",\s*compatibleFrom: \d+,\s*sql: .*migration_{number}\(\)'
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
