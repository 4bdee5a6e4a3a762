"""What a person said about themselves, found by simple patterns: the memory of the demo model.

It is no memory of its own: facts are read anew from the context of each request, so they are exactly as durable as the
conversation.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_TITLE = r"(?:Dr|Mr|Mrs|Ms|Prof|St)"
_SENTENCE = re.compile(r"(?<=[.!?;])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)(?<!\bSt\.)\s+|\n+")
"""Between two sentences; the stop of a title ends none."""
_QUESTION = re.compile(
    r"^\W*(?:(?:and|so|but|ok|hey|hi|hello)\W+)*"
    r"(?:what|who|where|when|which|why|how|whose|do|does|did|can|could|is|are|am|will|would|tell me)\b",
    re.IGNORECASE,
)
_ASKED_BEHIND = re.compile(r",\s+(?:what|who|where|when|which|why|how|can|could|do|does|is|are)\b", re.IGNORECASE)
_END = r"(?P<value>[^.!?;\n]+?(?:\.\d[^.!?;\n]*?)*)(?=,? (?:and|but) (?:my|i|i'm)\b|[.!?;\n]|$)"
# A name is read once and has at most eight words: "I'm", too, begins with a capital letter.
_PROPER = rf"(?:{_TITLE}\. )?\w[\w'’-]*+(?: [A-Z][\w'’-]*+){{0,7}}+"  # noqa: RUF001 - as phones write
_NAME = re.compile(
    rf"\b(?:(?i:my name(?: is|['’]s)|i am called|i['’]m called) (?P<value>{_PROPER})"  # noqa: RUF001 - as above
    r"|(?i:call me) (?P<nick>[A-Z][\w'’-]*))"  # noqa: RUF001 - as above
)
_CALLED = re.compile(rf"\b(?:I am|I'm|i'm) (?P<value>(?=[A-Z]){_PROPER})(?P<nick>)(?=\s*(?:[.!,;]|$|and\b))")
_MINE = re.compile(rf"\bmy (?P<subject>[a-z][\w '-]{{1,40}}?) (?P<is>is|are|was) {_END}", re.IGNORECASE)
_DOES = re.compile(
    r"\bi (?P<subject>live|work|come|study|like|love|prefer|hate|speak|own|have|need|want|play|drive|use|was born"
    rf"|am (?:from|allergic to|interested in|afraid of|good at)) {_END}",
    re.IGNORECASE,
)
_REMEMBER = re.compile(rf"\b(?:remember|note|keep in mind|don't forget)(?: that)?[ :,]+{_END}", re.IGNORECASE)

_SWAPS = {"i": "you", "me": "you", "my": "your", "mine": "yours", "am": "are", "i'm": "you're", "myself": "yourself"}
_SPELLINGS = {"favorite": "favourite", "color": "colour", "center": "centre", "called": "name", "named": "name"}
_EMPTY = re.compile(
    r"a|am|an|and|are|at|be|been|did|do|does|for|from|had|has|have|i|in|is|it|me|my|of|on|or|please|remember|said|say|tell"
    r"|that|the|there|this|to|told|was|we|were|what|when|where|which|who|will|with|you|your|about|again|know|\w"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a person told: `subject` is what it is about, `text` tells it back to them."""

    subject: str
    value: str
    text: str


def facts_in(said: Iterable[str]) -> dict[str, Fact]:
    """Return the facts in what a person said, by subject, in order; what was said later counts."""
    facts: dict[str, Fact] = {}
    for text in said:
        for sentence in _SENTENCE.split(text):
            told = _without_question(sentence)
            if not told.rstrip().endswith("?") and not _QUESTION.match(told):
                for fact in _facts_of(told):
                    facts.pop(fact.subject, None)
                    facts[fact.subject] = fact
    return facts


def _without_question(sentence: str) -> str:
    """Return what comes before a question that ends the sentence: "My name is Ada, can you remember that?"."""
    text = sentence.rstrip()
    if not text.endswith("?"):
        return sentence
    asked = _ASKED_BEHIND.search(text, max(text.rfind("."), text.rfind("!")) + 1)
    return text[: asked.start()] if asked else sentence


def fact_about(question: str, facts: dict[str, Fact]) -> Fact | None:
    """Return the fact that a question asks for: the one that shares more than half of its words."""
    asked = _words(question)
    best = max(facts.values(), key=lambda fact: len(asked & _words(fact.text)), default=None)
    return best if best and len(asked & _words(best.text)) * 2 > len(asked) else None


def _facts_of(sentence: str) -> Iterator[Fact]:
    """Yield what one sentence tells. A thing to remember is taken as it stands."""
    if match := _REMEMBER.search(sentence):
        told = _told_back(match["value"])
        yield next(_personal_facts(match["value"]), Fact(told.casefold(), told, told))
        return
    yield from _personal_facts(sentence)


def _personal_facts(sentence: str) -> Iterator[Fact]:
    """Yield names, possessions ("my ... is ...") and habits ("I live in ...")."""
    if match := _NAME.search(sentence) or _CALLED.search(sentence):
        name = match["value"] or match["nick"]
        yield Fact("name", name, f"your name is {name}")
    for match in _MINE.finditer(sentence):
        subject, value = _plain(match["subject"]), match["value"].strip()
        if subject != "name":
            yield Fact(subject, value, f"your {match['subject']} {match['is']} {_told_back(value)}")
    for match in _DOES.finditer(sentence):
        verb, value = match["subject"].lower(), _told_back(match["value"].strip())
        spoken = re.sub("^am ", "are ", re.sub("^was ", "were ", verb))
        yield Fact(f"{verb} {value}".casefold() if _MANY.fullmatch(verb) else verb, value, f"you {spoken} {value}")


_MANY = re.compile("like|love|hate|speak|own|have|need|want|play|use")
"""Verbs of which several facts are true at once."""


def _told_back(text: str) -> str:
    """Return a person's words as they are told back: "my" becomes "your"."""
    return re.sub(r"[\w']+", lambda word: _SWAPS.get(word[0].lower(), word[0]), text.strip())


def _plain(text: str) -> str:
    return re.sub(r"\w+", lambda word: _SPELLINGS.get(word[0], word[0]), text.lower())


def _words(text: str) -> set[str]:
    """Return the words that carry a meaning, without the s of a plural or a third person."""
    words = re.findall(r"\w+", _plain(text))
    return {word.removesuffix("s") for word in words if not _EMPTY.fullmatch(word)}
