"""Rules of `deploy/house-rules` for documents: links that lead somewhere, pages that are of today, translations that keep up."""

import functools
import pathlib
import re
import subprocess
import sys
import urllib.parse

from house_rules_swift import Finding, line_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "deploy" / "site"))
import reference_pages  # noqa: E402 (found only from here on)

LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
# What a document may name: variables, alerts, and commands of the tool.
VARIABLE = re.compile(r"\bCOUNTERSIGN_[A-Z0-9_]*[A-Z0-9](?:_?…|_X\b)?")
ALERT = re.compile(r"`(Countersign[A-Z]\w+)`")
COMMAND = re.compile(r"(?:^ *|`|[|;$(&] )countersign ([a-z][a-z-]+)", re.MULTILINE)
NAMED = re.compile(r"\b(?:COUNTERSIGN_[A-Z0-9_]+|Countersign[A-Z]\w+)")
DECLARED_COMMAND = re.compile(r'commandName: "([a-z-]+)"|aliases: \["([a-z-]+)"')
TRANSLATION = re.compile(r"(.+)\.(zh|ko)\.md")


def check_links(path, text):
    """A relative link of a document leads to a file or folder of the repository, its anchor to a heading there."""
    if not path.endswith(".md"):
        return
    plain = without_code(text)
    for match in LINK.finditer(plain):
        problem = None if ELSEWHERE.match(match[1]) else broken(path, text, match[1])
        if problem:
            yield Finding(path, line_of(plain, match.start(1)), f"the link {match[1]}: {problem}")


def broken(path, text, link):
    """What is wrong with a relative link; nothing where it leads somewhere."""
    target, _, anchor = urllib.parse.unquote(link).partition("#")
    page = (ROOT / path).parent / target if target else ROOT / path
    if not page.exists():
        return "there is no such file"
    if ROOT not in page.resolve().parents and page.resolve() != ROOT:
        return "it leads out of the repository"
    if page.is_dir():
        page = page / "README.md"
    if anchor and (page.suffix != ".md" or not page.exists()):
        return "only a document has such a place"
    if anchor and anchor not in (anchors(text) if not target else anchors_of(page.resolve())):
        return f"there is no heading #{anchor}"
    return None


@functools.cache
def anchors_of(page):
    return anchors(page.read_text())


def anchors(text):
    """The names of a document's headings, as code forges make them."""
    found, counts = set(), {}
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", without_code(text, inline=False), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        counts[name] = counts.get(name, -1) + 1
        found.add(name if counts[name] == 0 else f"{name}-{counts[name]}")
    return found


def without_code(text, inline=True):
    """The text with what stands in fences, and in backquotes, blanked; lines stay where they were."""
    text = re.sub(r"^( *)(```|~~~).*?^\1\2[^\n]*$", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), text) if inline else text


def check_documented(path, text):
    """A document names only variables and alerts that a source has, and commands that the tool has."""
    if not path.endswith(".md"):
        return
    names, commands = named_in_sources()
    if not names:
        return  # A copy without git.
    for match in VARIABLE.finditer(text):
        name = match[0]
        is_group = name.endswith(("…", "_X"))
        if not (name in names or is_group and any(known.startswith(name.removesuffix("_X").rstrip("…_")) for known in names)):
            yield Finding(path, line_of(text, match.start()), f"no source has the variable {name}")
    for match in ALERT.finditer(text):
        if match[1] not in names:
            yield Finding(path, line_of(text, match.start()), f"nothing here is called {match[1]}")
    for match in COMMAND.finditer(text):
        if match[1] not in commands:
            yield Finding(path, line_of(text, match.start()), f"the tool has no command {match[1]}")


@functools.cache
def named_in_sources():
    """Variables and other names that files other than documents have, and the first words of the tool's commands."""
    names, commands = set(), {"help"}
    listing = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"], check=False, capture_output=True)
    for name in listing.stdout.decode().split("\0"):
        path = ROOT / name
        if not name or name.endswith(".md") or not path.is_file():
            continue
        text = path.read_text(errors="replace")
        names.update(NAMED.findall(text))
        # A stack's environment has an address of each of its ports.
        names.update(f"COUNTERSIGN_{port}_URL" for port in re.findall(r'"([A-Z_]+)_PORT"', text))
        if name.startswith("Services/CountersignTool/"):
            commands.update(word for pair in DECLARED_COMMAND.findall(text) for word in pair if word)
    if names:
        names.update(re.findall(r"COUNTERSIGN_[A-Z0-9_]+", made()[reference_pages.PAGES + "settings.md"]))
    return names, commands


def check_made(path, text):
    """A page of the reference says what the sources say."""
    if path.startswith(reference_pages.PAGES) and path in made() and made()[path] != text:
        yield Finding(path, 1, "it is not what the sources say: deploy/site/reference --write")


@functools.cache
def made():
    return reference_pages.pages()


def check_translations(path, text):
    """A translation has the same commands and answers as the page that it was made from."""
    match = TRANSLATION.fullmatch(path)
    if not match:
        return
    original = (ROOT / f"{match[1]}.md").read_text()
    if fences(text) != fences(original):
        yield Finding(path, 1, f"its commands and answers are not those of {match[1]}.md")


def fences(text):
    return re.findall(r"^```.*?^```$", text, re.DOTALL | re.MULTILINE)
