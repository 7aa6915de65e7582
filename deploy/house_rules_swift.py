"""What the rules of `deploy/house-rules` have in common: findings, and Swift without its comments and strings."""

import re


class Finding:
    """One broken rule."""

    def __init__(self, path, line, message):
        self.path, self.line, self.message = path, line, message

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


# --- Swift, without comments and strings ------------------------------------------------------------------------------

def code_only(text, keeps_strings=False):
    """The text with comments and string literals blanked, every line and column where it was."""
    output, position = [], 0
    while position < len(text):
        end = skip_from(text, position)
        if end == position:
            output.append(text[position])
            position += 1
        else:
            is_kept = keeps_strings and not text.startswith("/", position)
            output.append(text[position:end] if is_kept else re.sub(r"[^\n]", " ", text[position:end]))
            position = end
    return "".join(output)


def skip_from(text, position):
    """Where the comment or string literal that begins at `position` ends; `position` itself when none begins."""
    if text.startswith("//", position):
        end = text.find("\n", position)
        return len(text) if end < 0 else end
    if text.startswith("/*", position):
        depth = 0
        for match in re.compile(r"/\*|\*/").finditer(text, position):
            depth += 1 if match[0] == "/*" else -1
            if depth == 0:
                return match.end()
        return len(text)
    match = re.compile(r'(#*)("""|")').match(text, position)
    return skip_string(text, match.end(), match[1], match[2]) if match else position


def skip_string(text, position, hashes, quote):
    """Past the closing quote; an interpolation is skipped with the strings inside it."""
    close, escape = quote + hashes, "\\" + hashes
    while position < len(text):
        if text.startswith(close, position):
            return position + len(close)
        if text.startswith(escape, position):
            position += len(escape)
            if text.startswith("(", position):
                position = skip_parentheses(text, position)
            else:
                position += 1
        elif text[position] == "\n" and quote == '"':
            return position  # Not a string after all (a quote in a regular expression).
        else:
            position += 1
    return position


def skip_parentheses(text, position):
    depth = 0
    while position < len(text):
        end = skip_from(text, position)
        if end > position:
            position = end
            continue
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
        if depth == 0:
            break
    return position


def line_of(text, position):
    return text.count("\n", 0, position) + 1
