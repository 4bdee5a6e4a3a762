"""Answers as lists: lines, bullets and numbers, or one line with semicolons, commas or "then" between the parts."""

import re
from typing import Any

MOST_ITEMS = 30
LONGEST_ITEM = 400
_BULLET = re.compile(r"^\s*(?:[-*•–+]|\(?\d{1,2}[.):]|step \d{1,2}[:.)]?)\s+", re.IGNORECASE)  # noqa: RUF001 - as people type
_QUOTED = re.compile(r"[\"“]([^\"“”]{3,})[\"”]")
_ORDER = re.compile(
    r"(?:^|[,;.]?\s+(?:and\s+)?|[,;]\s*)(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|next|afterwards|after that|then"
    r"|finally|lastly)\b,?\s+"
    r"|\s*(?:->|=>|→)\s*",
    re.IGNORECASE,
)
_IT = re.compile(
    r"^\s*(?:it|the skill)\s+(?:(?:should|can|must|will)\s+)?(?:also\s+)?(?:be able to\s+)?", re.IGNORECASE
)
_AND = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+and\s+")


def items(text: str) -> list[str]:
    """Return the parts of an answer that are apart by lines, bullets, semicolons or quotation marks."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        return _kept([_BULLET.sub("", line) for line in lines])
    quoted = _QUOTED.findall(text)
    if quoted and len("".join(quoted)) > len(text) / 2:
        return _kept(quoted)
    return _kept(_BULLET.sub("", text).split(";"))


def short_items(text: str) -> list[str]:
    """Return the parts of an answer whose parts are a few words each: commas are between them too."""
    found = items(text)
    return found if len(found) > 1 else _kept(_AND.split(found[0])) if found else []


def steps(text: str) -> list[str]:
    """Return steps in their order: "first ..., then ..., finally ..."."""
    found = items(text)
    if len(found) > 1 or not found:
        return found
    ordered = _kept(_ORDER.split(found[0]))
    return ordered if len(ordered) > 1 else _kept(re.split(r"\s*,\s*(?:and\s+)?", found[0]))


def nested(text: str) -> list[dict[str, Any]]:
    """Return capabilities with their details: an indented bullet belongs to the one above, a colon begins a list."""
    if ";" not in text and "\n" not in text and ":" not in text:
        return [_capability(item) for item in short_items(text)]
    if "\n" not in text:
        return [_capability(item) for item in items(text)]
    found: list[dict[str, Any]] = []
    margin: int | None = None
    for line in text.splitlines():
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        margin = indent if margin is None else margin
        item = _BULLET.sub("", line).strip()
        if indent > margin and found:
            found[-1]["details"] += _kept([item])
        else:
            found.append(_capability(item))
    return [capability for capability in found if capability["name"]][:MOST_ITEMS]


def _capability(item: str) -> dict[str, Any]:
    name, _, details = _IT.sub("", item, count=1).partition(":")
    return {"name": name.strip().rstrip(".")[:LONGEST_ITEM], "details": short_items(details) if details.strip() else []}


def _kept(parts: list[str]) -> list[str]:
    """Return the parts that say something, each once, within bounds."""
    clean = [" ".join(part.split()).strip(' ,;"“”').rstrip(".")[:LONGEST_ITEM] for part in parts]
    return list(dict.fromkeys(part for part in clean if any(letter.isalnum() for letter in part)))[:MOST_ITEMS]
