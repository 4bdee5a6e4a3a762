"""An answer as the value of a part: a name, a text, a list of lines, bullets or words with "then" between them; or why
it cannot be one, in words for the person."""

import re
from dataclasses import dataclass
from typing import Any

from threadkeep_assistants.skill_creator.fields import Field, Kind
from threadkeep_assistants.skill_creator.naming import name_error, slug
from threadkeep_assistants.skill_creator.phrasing import is_text, sentence

LONGEST_PURPOSE = 2_000
LONGEST_DESCRIPTION = 1_024
LONGEST_NAME = 200
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
_TOOL = re.compile(r"[A-Za-z_][\w.:*/-]{0,63}(?:\([^()\n]{1,80}\))?")
_ARTICLE = re.compile(
    r"^(?:(?:it )?(?:needs|yes|one|we need|i need)[,:]? )?(?:an?|the|one)? ?(?:small |python "
    r"|shell )*scripts? (?:that|which|to|for) ",
    re.IGNORECASE,
)
_SCRIPT_NAME = re.compile(
    r"^[`\"]?(?P<name>[a-z0-9_\-]{1,40}\.(?:py|sh))[`\"]?\s*(?:[:,(-]\s*)?(?:(?:that|which|to"
    r"|for) )?(?P<purpose>.*?)\)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a text cannot be the value of a part."""

    why: str


def value_of(field: Field, text: str) -> Any | Unusable:
    """Return the value that a text gives to a part."""
    if not is_text(text) and field.kind is not Kind.NAME:
        return Unusable("I could not find words in that.")
    match field.kind:
        case Kind.NAME:
            return _name(text)
        case Kind.TEXT:
            return _purpose(text) if field.key == "purpose" else _description(text)
        case Kind.LIST:
            return _list(field.key, text)
        case Kind.NESTED:
            return nested(text) or Unusable("I could not find a capability in that.")
        case Kind.SCRIPTS:
            return scripts(text) or Unusable("I could not find out what the script should do.")
        case Kind.TOOLS:
            return _tools(text)


def scripts(text: str) -> list[dict[str, str]]:
    """Return scripts with the names of their files and what they are for."""
    found = [_script(item) for item in items(text)]
    named = {script["name"]: script for script in found if script is not None}
    return list(named.values())


def _name(text: str) -> str | Unusable:
    if len(text) > LONGEST_NAME:
        return Unusable("That is too long for a name; a few words are best.")
    name = slug(text.strip(" .`\"'"), LONGEST_NAME)
    error = name_error(name)
    return Unusable(error) if error else name


def _purpose(text: str) -> str | Unusable:
    if not is_text(text, words=2):
        return Unusable("That is rather short; a whole sentence tells me more.")
    return " ".join(text.split()).rstrip(".")[:LONGEST_PURPOSE]


def _description(text: str) -> str | Unusable:
    text = " ".join(text.split())
    if not is_text(text, words=2):
        return Unusable("That is rather short for a description.")
    if len(text) > LONGEST_DESCRIPTION:
        return Unusable(f"A description has at most {LONGEST_DESCRIPTION} characters; this one has {len(text)}.")
    return sentence(text.replace("<", "").replace(">", ""))


def _list(key: str, text: str) -> list[str] | Unusable:
    found = {"workflow_steps": steps, "reference_topics": short_items}.get(key, items)(text)
    if key == "triggers":
        found = [re.sub(r"^(?:(?:use it )?when(?:ever)?|if) ", "", sign, flags=re.IGNORECASE) for sign in found]
    return found or Unusable("I could not find anything in that.")


def _tools(text: str) -> list[str] | Unusable:
    """Return names of tools: words with a capital or a sign in them, or all words of a plain list."""
    words = [part.strip(' .`"') for part in re.split(r"[,;\n]|\band\b|\bor\b", text)]
    names = [
        word.split(" ")[-1] if word.lower().startswith(("only ", "just ", "the ")) else word for word in words if word
    ]
    found = list(dict.fromkeys(name for name in names if _TOOL.fullmatch(name)))
    if len(found) < len(set(names)):
        # Among other words, a plain word is no name.
        found = [name for name in found if not name.islower()]
    return found or Unusable("I could not find names of tools in that, such as Read or Bash.")


def _script(item: str) -> dict[str, str] | None:
    given = _SCRIPT_NAME.match(item)
    if given:
        name = given["name"].lower().replace("-", "_")
        return {"name": name, "purpose": given["purpose"].strip() or name.rsplit(".", 1)[0].replace("_", " ")}
    purpose = _ARTICLE.sub("", item).strip(" .")
    stem = slug(" ".join(purpose.split()[:4]), 40).replace("-", "_")
    return {"name": f"{stem}.py", "purpose": purpose} if stem and is_text(purpose) else None


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
