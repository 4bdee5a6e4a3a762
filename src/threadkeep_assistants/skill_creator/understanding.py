"""What a person said, read by rules: what a message wants, an answer as the value of a part, and the parts that free
words tell about. Phrases are looked up or cut off at the front, never searched for by patterns that could run away."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from threadkeep_assistants.skill_creator.fields import FIELDS, MAX_DESCRIPTION, NEEDED, Field, name_error, phrases, slug

MAX_READ = 8_000
"""Characters of a message that are looked at; nobody describes a skill with more."""
MAX_PURPOSE, MAX_ITEMS, MAX_ITEM = 2_000, 30, 400


@dataclass(frozen=True, slots=True)
class Intent:
    """What a message wants: `yes` or `no` (with what stands behind), `skip`, `decide all`, a command,
    `change`, `add` or `clear` of the part `key`, `asks`, `said` (an answer), or `nothing` that could be one."""

    name: str
    text: str = ""
    key: str = ""


class Unusable(Exception):
    """A text cannot be the value of a part; the message says why, to the person."""


_PHRASES = {
    "yes": "y|yes|yep|yeah|ok|okay|sure|fine|right|correct|perfect|great|good|that's right|sounds good|looks good|👍",
    "no": "n|no|nope|nah|wrong|not really|not quite|not yet|that's wrong|👎",
    "skip": "skip|skip it|skip this|pass|next|none|nothing|n/a|not needed|no thanks|i don't need any|you decide"
    "|you choose|up to you|whatever|i don't know|not sure",
    "decide all": "you decide everything|you decide all of it|you decide the rest|you choose everything",
    "status": "/status|status|where are we|what's missing|what is missing|what do you know|progress",
    "help": "/help|help|?|??|???|what can you do|how does this work|cancel|stop|never mind|continue|go on|hi|hello|hey"
    "|hi there|hello there|thanks|thank you",
    "back": "/back|back|go back|undo|previous",
    "restart": "/restart|restart|start over|start again|start from scratch|forget everything",
    "write": "/write|write|write it|write the skill|generate it|go|go ahead|do it|that's all|i'm done|done|ready",
    "again": "/retry|retry|try again|try it again|again|once more",
    "template": "/template|template|use the template|without the model",
    "asks": "why|what|huh|explain|i don't understand|what do you mean",
}
_INTENTS = {phrase: name for name, cell in _PHRASES.items() for phrase in phrases(cell)}
_WORDS = sorted(((word, part.key) for part in FIELDS for word in part.words), key=lambda pair: -len(pair[0]))
_ARTICLES = phrases("the|its|my|our|this|all|any|a|an|another|one more|some|more")
_POLITE = phrases("please|can you|could you|can we|i want to|i'd like to|let's|actually|wait|also")
_NAMING = phrases("call it|name it|rename it|rename the skill")
_VERBS = {
    "change": phrases("change|edit|update|set|fix|correct|replace|rename|redo|rewrite|go back to"),
    "add": phrases("add|include|append"),
    "clear": phrases("remove|drop|delete|clear|no|without"),
}
_TO = phrases("to|into|should be|is now|is|are|:|=")
_ASKING = frozenset(phrases("what|why|how|who|which|where|is|are|do|does|did|should|may|will"))
_HELLO = phrases("hi|hello|hey|there|please|so|well|ok|um|maybe|perhaps|i guess")
_LEADS = _HELLO + phrases(
    "i want|i need|i'd like|i would like|we need|can you|could you|it|should|must|can|will|something|to|that|which|,|:"
    "|helps me|help me|helps us|help us"
)
_BULLET = re.compile(r"\s{0,20}(?:[-*•+]|\(?\d{1,2}[.):])\s")
_ORDER = re.compile(r"(?:^|[,;.]? )(?:and )?(?:first|then|next|finally|lastly)\b,? | ?(?:->|→) ?", re.IGNORECASE)
_TOOL = re.compile(r"[A-Za-z_][\w.:*/-]{0,63}(?:\([^()\n]{1,80}\))?")
_SCRIPT = re.compile(r"([a-z0-9_-]{1,40}\.(?:py|sh))\b[ :,(-]{0,5}(.*)", re.IGNORECASE)
_NEEDS = re.compile(r"(?:^|,? )(?:it |and )?needs? a script ", re.IGNORECASE)
_NAMED = re.compile(r",? ?\b(?:called|named) (?:[\"'`]([^\"'`]{2,64})[\"'`]|([\w-]{2,64}))", re.IGNORECASE)


def read(text: str) -> Intent:
    """Return what a message wants."""
    said = _straight(text)
    plain = " ".join(said.lower().split()).strip(' .!,;…*_`"')
    polite = plain.removeprefix("please ").removesuffix(" please").removesuffix(" thanks").rstrip(" ,?") or plain
    name = _INTENTS.get(plain) or _INTENTS.get(polite) or ("" if is_text(said) else "nothing")
    if about := Intent(name) if name else _about_part(said.rstrip(" .!?")):
        return about
    first, *rest = re.split(r"[,.;:!]|\bbut\b", said, maxsplit=1)
    answer = _INTENTS.get(first.strip().lower())
    if answer in ("yes", "no") and rest and is_text(rest[0]):
        further = cut(rest[0], ("but", "and", "rather"))
        return Intent(answer, "" if _INTENTS.get(further.lower().rstrip(".!")) == answer else further)
    is_question = said.endswith("?") and cut(said.lower(), _HELLO).split(" ", 1)[0] in _ASKING
    return Intent("asks" if is_question else "said", said)


def cut(text: str, leads: Iterable[str]) -> str:
    """Return a text without the phrases that stand at its beginning, however many and in whatever order."""
    text = text.strip(" ,.")
    while found := next((phrase for phrase in leads if _begins(text, phrase)), None):
        text = text[len(found) :].lstrip(" ,.!")
    return text


def _begins(text: str, phrase: str) -> bool:
    behind = text[len(phrase) : len(phrase) + 1]
    is_word_over = not phrase[-1].isalpha() or not (behind.isalnum() or behind in ("-", "'"))
    return is_word_over and text[: len(phrase)].lower() == phrase


def _straight(text: str) -> str:
    return text[:MAX_READ].translate(str.maketrans("’‘“”", "''\"\"")).strip()  # noqa: RUF001 - as phones write


def _about_part(text: str) -> Intent | None:
    """Return what shall be changed, added or left out; words that only begin so are no such wish."""
    said = cut(text, _POLITE)
    if (named := cut(said, _NAMING)) != said:
        return Intent("change", cut(named, ("to",)), "skill_name")
    name = next((name for name, verbs in _VERBS.items() if any(_begins(said, verb) for verb in verbs)), "")
    bare = cut(cut(said, _VERBS.get(name, ())), _ARTICLES)
    word, key = next((pair for pair in _WORDS if _begins(bare, pair[0])), ("", ""))
    behind = bare[len(word) :].strip(" ,.")
    if not key or (name == "clear" and behind not in ("", "needed")) or (not name and not behind):
        return None
    if name == "clear" or not behind:
        return Intent(name, key=key)
    # "Steps are taken" is no wish to change the steps, "the steps are: a, b" is one.
    links = (*_TO, "that", "for") if name else _TO[2:] if said != bare else _TO[-2:]
    value = cut(behind, links)
    return Intent(name or "change", value, key) if value != behind else None


def understood(text: str) -> dict[str, Any]:
    """Return the parts that free words tell about, by rules."""
    words = " ".join(_straight(text).split())
    found: dict[str, Any] = {}
    if (name := _NAMED.search(words)) and name_error(called := slug(name[1] or name[2])) is None:
        found["skill_name"] = called
    for sentence in re.split(r"(?<=[.!?]) ", _NAMED.sub("", words)):
        before, *behind = _NEEDS.split(sentence, maxsplit=1)
        if scripts := _scripts(behind[0]) if behind else []:
            found["scripts_needed"] = scripts
        if "purpose" not in found and (purpose := _purpose_in(before)):
            found = {"purpose": purpose, **found}
    return found


def _purpose_in(sentence: str) -> str | None:
    """Return the purpose that a sentence tells, without what people say before it."""
    said = sentence.strip(" ,.:;!?-")
    at = said.lower().find("skill")
    is_named = 0 <= at < 80 and said[at + 5 : at + 6] in ("", " ", ",", ":")
    said = cut(said[at + 5 :] if is_named else said, _LEADS).removesuffix(" please").rstrip(" ,")
    if _begins(said, "for") or _begins(said, "about"):
        said = f"help with {said.partition(' ')[2]}"
    return base_form(inner(said))[:MAX_PURPOSE] if is_text(said, words=2) and said.lower() not in _INTENTS else None


def value_of(field: Field, text: str) -> Any:
    """Return the value that a text gives to a part. Raises Unusable."""
    text = _straight(text)
    value: Any = _READERS.get(field.key, _items)(text)
    if field.key == "skill_name" and (error := name_error(value)):
        raise Unusable(error)
    if field.key == "description" and len(value) > MAX_DESCRIPTION:
        raise Unusable(f"A description has at most {MAX_DESCRIPTION} characters; this one has {len(value)}.")
    if not value or (field.key != "skill_name" and not is_text(text, words=2 if field.key in NEEDED else 1)):
        raise Unusable("I could not find an answer in that; a few more words may help.")
    return value


def _items(text: str) -> list[str]:
    """Return the parts of an answer that are apart by lines, bullets, semicolons or quotation marks."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        return _kept(_BULLET.sub("", line, count=1) for line in lines)
    quoted = re.findall(r'"([^"]{3,400})"', text)
    return _kept(quoted if len("".join(quoted)) > len(text) / 2 else text.split(";"))


def _short_items(text: str) -> list[str]:
    """Return the parts of an answer whose parts are a few words each: commas are between them too."""
    found = _items(text)
    return found if len(found) != 1 else _kept(re.split(r",(?: and )?| and ", found[0]))


def _steps(text: str) -> list[str]:
    """Return steps in their order: "first ..., then ..., finally ..."."""
    found = _items(text)
    found = _kept(_ORDER.split(found[0])) if len(found) == 1 else found
    return found if len(found) != 1 else _kept(found[0].split(","))


def _nested(text: str) -> list[dict[str, Any]]:
    """Return capabilities with their details, which stand behind a colon."""
    told = [item.partition(":") for item in (_items if {";", ":", "\n"} & set(text) else _short_items)(text)]
    named = [(cut(name, ("it", "should", "can", "must", "also")), details) for name, _, details in told]
    return [{"name": name, "details": _short_items(details)} for name, details in named if name]


def _scripts(text: str) -> list[dict[str, str]]:
    """Return scripts with the names of their files and what they are for."""
    found: dict[str, dict[str, str]] = {}
    for item in _items(text):
        name, said = given.groups() if (given := _SCRIPT.match(item)) else ("", item)
        purpose = cut(said.rstrip(")"), phrases("yes|it needs|a|one|script|scripts|that|which|to|for"))
        stem = slug(" ".join(purpose.split()[:4]), 40).replace("-", "_")
        name = name.lower() or f"{stem}.py"
        found |= {name: {"name": name, "purpose": purpose or name}} if stem or given else {}
    return list(found.values())


def _tools(text: str) -> list[str]:
    names = [cut(item, ("only", "just", "the")).strip("`") for item in _short_items(text)]
    return names if all(map(_TOOL.fullmatch, names)) else []


_READERS = {
    "purpose": lambda text: " ".join(text.split()).rstrip(".")[:MAX_PURPOSE],
    "skill_name": lambda text: slug(text, MAX_READ),
    "description": lambda text: sentence_of(" ".join(text.replace("<", "").replace(">", "").split())),
    "capabilities": _nested,
    "workflow_steps": _steps,
    "triggers": lambda text: _kept(cut(item, phrases("use it|whenever|when|if")) for item in _items(text)),
    "reference_topics": _short_items,
    "scripts_needed": _scripts,
    "allowed_tools": _tools,
}


def _kept(parts: Iterable[str]) -> list[str]:
    """Return the parts that say something, each once, within bounds."""
    clean = [" ".join(part.split()).strip(' ,;"').rstrip(".")[:MAX_ITEM] for part in parts]
    return list(dict.fromkeys(part for part in clean if any(map(str.isalnum, part))))[:MAX_ITEMS]


def is_text(text: str, words: int = 1) -> bool:
    """Whether there are so many words in it; dashes, smileys and a key that got stuck are none."""
    found = re.findall(r"[^\W\d_][\w'-]*", text[:MAX_READ])
    return sum(len(word) == 1 or len(set(word.lower())) > 1 for word in found) >= words


def base_form(phrase: str) -> str:
    """Return the phrase with its verb as in "to turn x"; one that begins with "turning" becomes "help with"."""
    verb, _, rest = phrase.strip().partition(" ")
    if verb.endswith("ing") and len(verb) > 5 and rest:
        return f"help with {verb} {rest}"
    endings = {"does": "do", "goes": "go", "ies": "y", "sses": "ss", "shes": "sh", "ches": "ch", "ss": "ss", "s": ""}
    ending = next((ending for ending in endings if verb.endswith(ending)), "")
    return f"{verb.removesuffix(ending)}{endings.get(ending, '')} {rest}".strip()


def sentence_of(text: str) -> str:
    """Return a text that begins with a capital and ends with a stop."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".")


def inner(text: str) -> str:
    """Return a sentence as a part of another: without its stop, its first word not a capital unless it is a name."""
    text = text.strip().rstrip(".!; ")
    first = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if first[1:].islower() or first == "A" else text
