"""What can be understood from free words without a model: a purpose, a name, signs, steps, examples, scripts, tools."""

import re
from collections.abc import Callable
from typing import Any

from threadkeep_assistants.skill_creator.fields import BY_KEY
from threadkeep_assistants.skill_creator.naming import name_error, slug
from threadkeep_assistants.skill_creator.phrasing import base_form, inner, is_text
from threadkeep_assistants.skill_creator.reading import (
    LONGEST_PURPOSE,
    Unusable,
    items,
    nested,
    scripts,
    short_items,
    steps,
    value_of,
)

MOST_READ = 8_000
"""Characters of a message that the rules look at."""
_LEAD = re.compile(
    r"^(?:(?:hi|hello|hey|good (?:morning|afternoon|evening))\b[ ,!.]*(?:there\b[ ,!.]*)?)?"
    r"(?:(?:please|so|well|ok(?:ay)?|um+|hmm+)[ ,]+)*"
    r"(?:(?:i(?:'d| would|'m| am)?|we(?:'d| would)?|let'?s|can (?:you|we)|could (?:you|we)|help me(?: to)?|let me)\s+)?"
    r"(?:(?:just )?(?:want|need|like|love|wish|have|looking for|thinking (?:of|about)|am looking for"
    r"|going)\s+)?(?:to\s+)?(?:have\s+)?(?:an idea (?:for|of)\s+)?"
    r"(?:(?:create|make|build|write|generate|develop|design|set up|get|have|creating|making|building|it should be"
    r"|it'?s|it is)\s+)?(?:me\s+|us\s+)?"
    r"(?:an?|the|my|our|some|one|this|new)?\s*(?:new\s+)?(?:[\w-]+\s+)?skill\b(?:,)?"
    r"(?:\s+(?:called|named)\s+(?:[\"“`'][^\"”`']+[\"”`']|[\w-]+))?,?"
    r"\s*(?:(?:that|which|to|who|and|where it|should|can|will|must|would|is (?=for\b)|is to|is supposed to"
    r"|so that it|it)\b[ ,:]*)*",
    re.IGNORECASE,
)
_IT = re.compile(
    r"^(?:please |well,? )*(?:(?:it|the skill|this skill|this)\s+(?:should|shall|must|will|would|can|could|is (?:to"
    r"|supposed to))?(?:\s+be able to)?|(?:i|we)(?:'d| would)? (?:want|need|like)"
    r" (?:it|something|it to|one)(?: that| to| which)*|(?:something|one)(?: that| which| to)?|(?:i|we)(?:'d"
    r"| would)? (?:want|need|like)(?: to)?|help (?:me|us)(?: to)?|to)\s+",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"^(?:(?:maybe|perhaps|hm+|um+|well|so|but|ok(?:ay)?|please|not sure"
    r"|i (?:dunno|don't know|guess|think|suppose))\b[ ,.]*)+"
    r"|^(?:can|could|would|will) you (?:please )?|,? (?:maybe|perhaps|i guess|i think|or so|or something)$",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"(?:,?\s*(?:and\s+)?(?:it\s+)?(?:should be|is|to be))?,?\s*\(?\b(?:called|named)\s+[\"“`']?[\w-]+[\"”`']?\)?"
)
_NAME = re.compile(
    r"\b(?:called|named|call it|name it|name is|name should be|name:)\s+(?:[\"“`'](?P<quoted>[^\"”`']{2,64})[\"”`']"
    r"|(?P<plain>[\w-]{2,64}))",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:use (?:it|this)|used|(?:is|it's)(?: for)?(?= when)|should (?:run|start|trigger|be used|kick in)"
    r"|triggers?(?: it)?|it (?:runs|starts|applies))\b[^.]*?"
    r"\b(?:when(?:ever)?|if|as soon as|every time|on)\s+(?P<when>.+)|^\s*when(?:ever)?\s+(?P<begin>[^,]+)$",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"\b(?:for example|for instance|e\.g\.|an example(?: is| would be)?|examples?:"
    r"|example prompts?:)[,:]?\s*(?P<rest>.+)",
    re.IGNORECASE,
)
_STEPS = re.compile(r"\b(?:first(?:ly)?\b.*\bthen\b|steps(?: are)?:|the workflow(?: is)?:)", re.IGNORECASE)
_FIRST = re.compile(r"^(?:(?:we|i|you|it) (?:\w+ly |always |should |must )*)?(.*?),? first,?(?= then\b)", re.IGNORECASE)
_SCRIPT = re.compile(
    r"\b(?:needs?|with|using|wants?|requires?|include)\s+(?:an?|the|one)?\s*(?:small |python "
    r"|shell )*scripts?\s+(?:that|which|to|for)\s+(?P<rest>.+)",
    re.IGNORECASE,
)
_NO_SCRIPTS = re.compile(r"\b(?:no|without(?: any)?)\s+scripts?\b", re.IGNORECASE)
_TOOLS = re.compile(
    r"\b(?i:(?:only|may) uses?|allowed tools(?: are)?:?|limited to"
    r"|with the tools?:?)\s+(?:the tools?\s+)?(?P<rest>[A-Z][\w]*(?:(?:,\s*|\s+and\s+)[A-Z]\w*)*)"
)
_TOPICS = re.compile(
    r"\b(?:references?|reference (?:topics?|pages?))\s+(?:on|about|for|to|are|:)\s*(?P<rest>.+)", re.IGNORECASE
)
_ONLY_NAME = re.compile(
    r"^(?:please |and )*(?:call|name|it(?:'s| is| should be) (?:called|named)|(?:its|the) name)", re.IGNORECASE
)
_TOLD: tuple[tuple[re.Pattern[str], str, Callable[[str], list[Any]]], ...] = (
    (_EXAMPLE, "examples", items),
    (_WHEN, "triggers", items),
    (_NO_SCRIPTS, "scripts_needed", lambda _: []),
    (_SCRIPT, "scripts_needed", scripts),
    (_TOOLS, "allowed_tools", short_items),
    (_TOPICS, "reference_topics", short_items),
)
"""What a sentence is about, by a pattern whose group holds the part itself."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])|\n+")
_FOR_ME = re.compile(r"^helps? (?:me|us|people|you|users)(?: (?:to|with))? ", re.IGNORECASE)
_KIND = re.compile(r"(?:an?|the|my|our|some) (?P<kind>[\w -]{3,60}) skill", re.IGNORECASE)
_IS_TALK = re.compile(
    r"(?:hi|hello|hey|good (?:morning|day|evening|afternoon)|how are you|thank you|thanks|what is (?:this|that)"
    r"|who are you)\b.{0,30}"
    r"|(?:i )?(?:want|need|would like|'d like)?(?: to)? ?(?:create|make|build|write|get|start)? ?(?:an?|the|my"
    r"|some)? ?(?:new )?skills?(?: please)?"
    r"|(?:can|could) you help(?: me)?.{0,20}|help me.{0,5}|let'?s (?:go|start|begin).{0,10}"
)


def understood(text: str) -> dict[str, Any]:
    """Return the parts that a free text tells about."""
    text = text[:MOST_READ].strip()
    found: dict[str, Any] = {}
    left: list[str] = []
    if name := _named(text):
        found["skill_name"] = name
    body, bullets = _bullets(text)
    for said in filter(None, map(str.strip, _SENTENCE.split(body))):
        parts, before = _told_by(said)
        found |= {key: value for key, value in parts.items() if key not in found}
        if not parts or "skill" in before.lower():
            left.append(before)
    if bullets:
        key = "workflow_steps" if re.match(r"\s*(?:\d|step)", bullets, re.IGNORECASE) else "capabilities"
        found.setdefault(key, steps(bullets) if key == "workflow_steps" else nested(bullets))
    purpose = next((clean for said in left if (clean := purpose_in(said))), None)
    return {"purpose": purpose, **found} if purpose else found


def purpose_in(said: str) -> str | None:
    """Return the purpose that a sentence tells, without what people say before it."""
    bare = said.strip(" ,.:;!?-")
    bare = _LEAD.sub("", bare, count=1).strip(" ,.:;!-") if "skill" in said.lower() else bare
    bare = _IT.sub("", _HEDGE.sub("", bare), count=1).strip(" ,.:;!?-")
    # "summarise notes (called note-taker)": the name is not part of what it does.
    bare = _CALLED.sub("", bare).strip(" ,")
    bare = re.sub(r",?\s+please$", "", _FOR_ME.sub("", bare, count=1))
    bare = re.sub(r"^(?:for|about)\s+", "help with ", bare, flags=re.IGNORECASE)
    if kind := _KIND.fullmatch(bare):
        bare = f"help with {kind['kind']}"
    if not is_text(bare, words=2) or _IS_TALK.fullmatch(bare.lower()):
        return None
    value = value_of(BY_KEY["purpose"], bare[:LONGEST_PURPOSE])
    return None if isinstance(value, Unusable) else base_form(inner(value))


def _named(text: str) -> str | None:
    found = _NAME.search(text)
    name = slug(found["quoted"] or found["plain"]) if found else ""
    return name if name and name_error(name) is None else None


def _told_by(said: str) -> tuple[dict[str, Any], str]:
    """Return the parts that one sentence is about, and what it says before; none if it may be the purpose."""
    for pattern, key, read in _TOLD:
        if found := pattern.search(said):
            value = read(next((text for text in found.groups() if text), ""))
            return {key: value}, re.sub(r"[,;]?\s*(?:\b(?:and|it|which|that)\b\s*)*$", "", said[: found.start()])
    if _STEPS.search(said):
        # "Apologise first, then explain": what comes first stands before the word.
        told = _FIRST.sub(r"\1,", said)
        told = told if told != said else re.sub(r"^.*?(?=\bfirst)|^.*?:", "", said, count=1, flags=re.IGNORECASE)
        return {"workflow_steps": steps(told)}, ""
    if _NAME.search(said) and _ONLY_NAME.match(said) and (name := _named(said)):
        return {"skill_name": name}, ""
    return {}, said


def _bullets(text: str) -> tuple[str, str]:
    """Return the prose and the bullets of a text apart."""
    lines = text.splitlines()
    is_bullet = [re.match(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+\S", line) is not None for line in lines]
    prose = "\n".join(line for line, marked in zip(lines, is_bullet, strict=True) if not marked)
    return prose, "\n".join(line for line, marked in zip(lines, is_bullet, strict=True) if marked)
