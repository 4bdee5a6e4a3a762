"""The front matter of SKILL.md: the small part of YAML that skills need, written and read back exactly.

A line is `key: value`; a value is plain, or quoted as in JSON where YAML would read a plain one otherwise, or a list or
block (`>` or `|`) on the indented lines that follow. Anything else is an error, which is better than a guess.
"""

import json
import re

from threadkeep.errors import InvalidValue

FENCE = "---"
_LINE = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9_-]*):(?:[ \t]+(?P<value>.*))?")
_PLAIN = re.compile(r"[A-Za-z][^:#\n\"'\[\]{}&*!|>%@`\\]*")
_NOT_TEXT = frozenset({"true", "false", "yes", "no", "null", "on", "off", "y", "n"})

FrontMatter = dict[str, str | list[str]]


def with_front_matter(fields: dict[str, str], body: str) -> str:
    """Return a document that begins with these fields."""
    lines = [f"{key}: {_scalar(value)}" for key, value in fields.items()]
    return "\n".join([FENCE, *lines, FENCE, "", body.strip("\n"), ""])


def parted(document: str) -> tuple[FrontMatter, str]:
    """Return the fields and the body of a document. Raises InvalidValue that says in which line what is wrong."""
    lines = document.split("\n")
    if lines[0].rstrip() != FENCE:
        raise InvalidValue("The first line must be ---, the beginning of the front matter.")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise InvalidValue("The front matter has no end: a line --- is missing.")
    return _fields(lines[1:end]), "\n".join(lines[end + 1 :]).strip("\n")


def _fields(lines: list[str]) -> FrontMatter:
    found: FrontMatter = {}
    at = 0
    while at < len(lines):
        line, number = lines[at], at + 2
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            raise InvalidValue(f"Line {number} of the front matter is not of the form key: value.")
        if match["key"] in found:
            raise InvalidValue(f"The front matter has {match['key']} twice.")
        indented = _indented(lines, at)
        at += len(indented)
        found[match["key"]] = _value(match["value"] or "", indented, number)
    return found


def _indented(lines: list[str], at: int) -> list[str]:
    end = at
    while end < len(lines) and (lines[end].startswith((" ", "\t")) or (lines[end].startswith("- "))):
        end += 1
    return lines[at:end]


def _value(text: str, below: list[str], number: int) -> str | list[str]:
    text = text.strip()
    if text in (">", "|", ">-", "|-"):
        return (" " if text[0] == ">" else "\n").join(line.strip() for line in below)
    if below and not text and all(line.strip().startswith("- ") for line in below):
        return [_plain(line.strip()[2:].strip(), number) for line in below]
    if below:
        raise InvalidValue(f"Line {number} of the front matter is followed by lines that do not belong to it.")
    return _plain(text, number)


def _plain(text: str, number: int) -> str:
    if text.startswith('"'):
        try:
            value = json.loads(text)
        except ValueError:
            raise InvalidValue(f"Line {number} of the front matter has quotation marks that do not match.") from None
        return str(value)
    if text.startswith("'"):
        if len(text) < 2 or not text.endswith("'") or "'" in text[1:-1].replace("''", ""):
            raise InvalidValue(f"Line {number} of the front matter has quotation marks that do not match.")
        return text[1:-1].replace("''", "'")
    if text[:1] in set("[]{}&*!|>%@`") or ": " in text or text.endswith(":") or " #" in text:
        raise InvalidValue(f"Line {number} of the front matter must be put in quotation marks.")
    return text


def _scalar(value: str) -> str:
    """Return a value as every YAML reader takes it for the same text."""
    is_plain = _PLAIN.fullmatch(value) and value == value.strip() and value.lower() not in _NOT_TEXT
    return value if is_plain else json.dumps(value, ensure_ascii=False)
