"""Phrases that begin with a verb, turned so that they fit into a sentence: "turns x", "turn x", "turning x"."""

import re

_KEPT = {"does": "do", "goes": "go", "has": "have", "is": "be", "uses": "use"}
_NO_VERBS = frozenset({"the", "a", "an", "my", "our", "all", "any", "this", "that", "these"})
_NOUNS = ("ss", "us", "is", "ous")


def base_form(phrase: str) -> str:
    """Return the phrase with its verb as in "to turn x"; one that begins with "turning" becomes "help with"."""
    verb, _, rest = phrase.strip().partition(" ")
    lower = verb.lower()
    if lower.endswith("ing") and not lower.endswith("thing") and len(lower) > 5 and rest:
        return f"help with {lower} {rest}".strip()
    return f"{_base(lower)} {rest}".strip() if rest else _base(lower)


def third_person(phrase: str) -> str:
    """Return the phrase with its verb as in "it turns x"."""
    verb, _, rest = base_form(phrase).partition(" ")
    return f"{_third(verb)} {rest}".strip()


def sentence(text: str) -> str:
    """Return a text that begins with a capital and ends with a stop."""
    text = text.strip()
    if not text:
        return ""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?…" else f"{text}."


def inner(text: str) -> str:
    """Return a sentence as a part of another: without its stop, its first word not a capital unless it is a name."""
    text = text.strip().rstrip(".!; ")
    first = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if first[1:].islower() or first == "A" else text


def is_text(text: str, words: int = 1) -> bool:
    """Whether there are so many words in it; dashes, smileys and a key that got stuck are none."""
    found = [word for word in re.findall(r"[^\W\d_][\w'’-]*", text) if len(set(word.lower())) > 1 or len(word) == 1]  # noqa: RUF001 - as phones write
    return len(found) >= words


def _base(verb: str) -> str:
    if verb in _KEPT:
        return _KEPT[verb]
    if verb in _NO_VERBS or verb.endswith(_NOUNS) or not verb.endswith("s"):
        return verb
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1]


def _third(verb: str) -> str:
    if verb in _NO_VERBS or not verb.isalpha():
        return verb
    if verb in ("do", "go") or verb.endswith(("ss", "sh", "ch", "x", "zz")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return {"have": "has", "be": "is"}.get(verb, f"{verb}s")
