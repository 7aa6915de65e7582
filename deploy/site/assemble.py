"""Lays out the repository's documents for mkdocs: one folder, in which every relative link leads to a page or to a source as text."""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = "deploy/site/pages/"
LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)
MARKER = re.compile(r"([-*+]|\d+\.) +")
FENCE = re.compile(r"```|~~~")


def main(target):
    """Makes the folder anew."""
    shutil.rmtree(target, ignore_errors=True)
    listing = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"], check=True, capture_output=True)
    names = {name for name in listing.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    documents = {name: place(name) for name in names if name.endswith(".md")}
    sources = set()
    for name, page in documents.items():
        text = (ROOT / name).read_text()
        # The first page has a list of where to go in itself.
        head = "---\nhide: [navigation]\n---\n\n" if page == "index.md" else ""
        write(target / page, head + indented(linked(text, name, page, documents, names, sources)))
    for name in sources:
        (target / source(name)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target / source(name))
    shutil.copy(ROOT / "deploy" / "site" / "site.css", target / "site.css")
    print(f"assemble: {len(documents)} documents, {len(sources)} sources that they point to")


def place(name):
    """Where a document is in the site: pages of the site at its top; no folder begins with a dot, or mkdocs would leave it out."""
    if name == "README.md":
        return "index.md"
    return name.removeprefix(PAGES).removeprefix(".")


def source(name):
    """Where a file that is no document is, with an ending that a browser shows."""
    return f"source/{name.removeprefix('.')}{'' if name.endswith('.png') else '.txt'}"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def linked(text, name, page, documents, names, sources):
    """The text with its links as they are in the site."""
    def link(match):
        label, address = match[1], match[2]
        if ELSEWHERE.match(address):
            return match[0]
        path, _, anchor = address.partition("#")
        found = (ROOT / name).parent.joinpath(path).resolve().relative_to(ROOT).as_posix()
        found = found if found in names else f"{found}/README.md".removeprefix("./")
        if found in documents:
            return f"{label}({relative(documents[found], page)}{'#' + anchor if anchor else ''})"
        if found in names:
            sources.add(found)
            return f"{label}({relative(source(found), page)})"
        return label[1:-1]  # A folder without a document.
    parts = re.split(r"(^ *```.*?^ *```[^\n]*$|`[^`\n]*`)", text, flags=re.DOTALL | re.MULTILINE)
    # A label may have code in it, so links are looked for with the code in place, and code alone is left alone.
    kept = []

    def keep(part):
        kept.append(part)
        return f"\0{len(kept) - 1}\0"
    plain = "".join(keep(part) if number % 2 else part for number, part in enumerate(parts))
    return re.sub(r"\0(\d+)\0", lambda match: kept[int(match[1])], LINK.sub(link, plain))


def relative(found, page):
    up = page.count("/")
    return "../" * up + found


def indented(text):
    """Lists as mkdocs wants them: four columns for each level, and an empty line before the first item."""
    lines, levels, fence = [], [], None
    for line in text.splitlines():
        stripped = line.lstrip(" ")
        columns = len(line) - len(stripped)
        if not fence:
            while stripped and levels and columns < levels[-1]:
                levels.pop()
            if MARKER.match(stripped) and not levels and lines and lines[-1].strip():
                lines.append("")
        depth, base = len(levels), levels[-1] if levels else 0
        lines.append(" " * (4 * depth + max(0, columns - base)) + stripped if stripped else "")
        if FENCE.match(stripped):
            fence = None if fence else stripped[:3]
        elif not fence and (marker := MARKER.match(stripped)):
            levels.append(columns + len(marker[0]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
