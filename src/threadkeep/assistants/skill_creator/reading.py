"""An answer as the value of a part: a name, a text, a list; or why it cannot be one, in words for the person."""

import re
from dataclasses import dataclass
from typing import Any

from threadkeep.assistants.skill_creator.fields import Field, Kind
from threadkeep.assistants.skill_creator.listing import items, nested, short_items, steps
from threadkeep.assistants.skill_creator.naming import name_error, slug
from threadkeep.assistants.skill_creator.phrasing import is_text, sentence

LONGEST_PURPOSE = 2_000
LONGEST_DESCRIPTION = 1_024
LONGEST_NAME = 80
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
    name = slug(text.strip(" .`\"'"))
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
