"""What the rules of `deploy/house-rules` have in common: findings, and Swift without its comments and strings."""

import functools
import re


class Finding:
    """One broken rule."""

    def __init__(self, path, line, message):
        self.path, self.line, self.message = path, line, message

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


# --- Swift, without comments and strings ------------------------------------------------------------------------------

BEGIN = re.compile(r'//|/\*|(#*)("""|")')  # Of a comment or a string literal.
COMMENT_BOUND = re.compile(r"/\*|\*/")
BEGIN_OR_PARENTHESIS = re.compile(BEGIN.pattern + r"|[()]")


@functools.cache
def code_only(text, keeps_strings=False):
    """The text with comments and string literals blanked, every line and column where it was."""
    output, position = [], 0
    while match := BEGIN.search(text, position):
        end = skip_from(text, match)
        skipped = text[match.start():end]
        is_kept = keeps_strings and match[2]
        output += [text[position:match.start()], skipped if is_kept else blanked(skipped)]
        position = end
    return "".join(output) + text[position:]


def blanked(text):
    return "\n".join(" " * len(line) for line in text.split("\n"))


def skip_from(text, match):
    """Where the comment or string literal ends that begins with this match of BEGIN."""
    if match[2]:
        return skip_string(text, match.end(), match[1], match[2])
    if match[0] == "//":
        end = text.find("\n", match.start())
        return len(text) if end < 0 else end
    depth = 0
    for bound in COMMENT_BOUND.finditer(text, match.start()):
        depth += 1 if bound[0] == "/*" else -1
        if depth == 0:
            return bound.end()
    return len(text)


@functools.cache
def string_bounds(hashes, quote):
    """What ends a string literal, or escapes in it. A line's end is the end of one of a line: it is none after all (a quote in a
    regular expression)."""
    return re.compile(f"({quote}{hashes})|({re.escape(chr(92))}{hashes})" + ("|\n" if quote == '"' else ""))


def skip_string(text, position, hashes, quote):
    """Past the closing quote; an interpolation is skipped with the strings inside it."""
    while match := string_bounds(hashes, quote).search(text, position):
        if match[1]:
            return match.end()
        if not match[2]:
            return match.start()
        position = match.end()
        position = skip_parentheses(text, position) if text.startswith("(", position) else position + 1
    return len(text)


def skip_parentheses(text, position):
    depth = 0
    while match := BEGIN_OR_PARENTHESIS.search(text, position):
        if match[0] in "()":
            position, depth = match.end(), depth + (1 if match[0] == "(" else -1)
            if depth == 0:
                return position
        else:
            position = skip_from(text, match)
    return len(text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1
