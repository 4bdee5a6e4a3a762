"""Follow-up detection: does the newest question need the conversation before it to be understood?

With a history it does, unless it clearly stands alone; a change of topic stands alone. `languages` sees the signs of
other languages than English, and weighs them by itself. The signs of an English question are weighed with small
numbers: fitted on conversations of 2019 (TREC CAsT) and rounded, except for places, beginnings, fragments and "which"
alone: those conversations have too few of them, so they were set by hand. `bench/followups.py` measures them all.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from threadkeep.conversation.message import Message, Role
from threadkeep.text.stems import stem
from threadkeep.text.stop_words import BY_LANGUAGE, fold_accents, language_of
from threadkeep.text.words import fold, searchable, words
from threadkeep_retrieval.routing import languages
from threadkeep_retrieval.routing.signs import Wording, stems
from threadkeep_retrieval.routing.vocabulary import COURTESIES

WEIGHTS: Mapping[str, float] = {
    "points_back": 4.0,
    "names_a_place": 4.0,
    "nothing_specific": 2.5,
    "begins_as_follow_up": 2.0,
    "one_specific": 1.0,
    "definite": 0.9,
    "fragment": 1.2,
    "bare_which": 1.5,
    "goes_on": 0.6,
    "bare_general": 0.4,
}
BIAS = -1.0

_WHY = {
    "points_back": "it points back with a pronoun",
    "names_a_place": "it names a place in something shown before",
    "nothing_specific": "it names nothing by itself",
    "begins_as_follow_up": "it begins as a continuation",
    "may_point": "it may point back",
    "one_specific": "it names little by itself",
    "definite": "it speaks of something as known",
    "fragment": "it is no whole sentence",
    "bare_which": "it asks which, and does not say of what",
    "takes_up": "it takes up a word of an answer",
    "asks_whether": "it asks whether something is so, and names little",
    "goes_on": "it compares with something said before",
    "bare_general": "it leaves open what it belongs to",
}
_LATIN = re.compile("[a-zà-ÿ]", re.IGNORECASE)
_OTHER_SCRIPT = re.compile("[\u0370-\u1cff\u3040-\ud7ff]")
NEWEST = 12
"""How many messages before the question are looked at."""
MOST_CHARACTERS = 4_000
"""How much of one text is looked at."""
CLEARLY_LONG, CLEARLY_MANY = 60, 6
"""From how many characters, or words, on a question in an unknown language names what it is about."""
SMALL_WORD = 3
"""How many letters a word has at most that says nothing in most languages."""
LEAST_WORDS, MOST_WORDS, COMMON = 8, 200, 0.12
"""How many words tell whether a language is known, and how many of them are common in a known one."""
MOST_THANKS = 80
_THANKS = re.compile(
    r"\W*(?:\w+\W+){0,2}?(?:thanks|thank|danke|dank|merci|gracias|grazie|obrigad[oa]|bedankt|dziekuje|dzieki|tack|tesekkurler"
    r"|dekuji|спасибо|благодарю|谢谢|謝謝|感谢|ありがとう|감사|고마워|고맙|شكرا|धन्यवाद|शुक्रिया)"
)
_GOES_ON = re.compile(
    r"[?\uff1f\u061f]|\b(?:and|but|und|aber|et|mais|y|pero|e|ma|mas|en|maar|и|\u0430|но|what|how|which|show|tell|zeig|sag)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """Whether a question needs context, and why; `shared` are words of it that name something said before."""

    needs_context: bool
    why: str
    shared: tuple[str, ...] = ()


def follow_up(question: str, history: Sequence[Message]) -> FollowUp:
    """Judge a question, given what was said before it, oldest first."""
    messages = [message for message in history[-NEWEST:] if message.role in (Role.USER, Role.ASSISTANT)]
    texts = [searchable(message)[:MOST_CHARACTERS] for message in messages]
    if not any(text.strip() for text in texts):
        return FollowUp(needs_context=False, why="it is the first question")
    question = question[:MOST_CHARACTERS]
    wording = Wording(question)
    if (wording.words and COURTESIES.issuperset(wording.words)) or _is_thanks(question):
        return FollowUp(needs_context=False, why="it is a courtesy")
    known = stems(texts)
    shared = tuple(wording.written[at] for at in wording.specific if stem(wording.words[at]) in known)
    asked, answered = (
        [text for message, text in zip(messages, texts, strict=True) if message.role is role]
        for role in (Role.USER, Role.ASSISTANT)
    )
    weights, bias = languages.WEIGHTS, languages.BIAS
    shown = (
        None if (is_unknown := _is_unknown([question, *texts[-2:]])) else languages.signs_in(question, asked, answered)
    )
    if shown is not None:
        shared = shared or _shared_pairs(question, texts)
    elif is_unknown or not _LATIN.search(question):
        return _in_another_language(question, texts)
    else:
        weights, bias, shown = WEIGHTS, BIAS, list(wording.signs())
    if bias + sum(weights[sign] for sign in shown) > 0:
        strongest = max(shown, key=lambda sign: weights[sign])
        return FollowUp(needs_context=True, why=_WHY[strongest], shared=shared)
    why = "it names what it is about" if shared else "it stands alone, with words that are new here"
    return FollowUp(needs_context=False, why=why, shared=shared)


def _is_thanks(question: str) -> bool:
    """Whether a person thanks and asks for nothing: "Vielen Dank, das hat geholfen!"."""
    thanks = _THANKS.match(fold_accents(question.lower()))
    return thanks is not None and not _GOES_ON.search(question[thanks.end() :]) and len(question) <= MOST_THANKS


def _is_unknown(texts: Sequence[str]) -> bool:
    """Whether texts in Latin letters are in a language without lists: too few of their words are common in any."""
    spoken = [word for text in texts for word in fold(text)][:MOST_WORDS]
    common = sum(word in BY_LANGUAGE[language_of(spoken)] for word in spoken)
    is_latin = not any(map(_OTHER_SCRIPT.search, texts)) and not all(map(str.isascii, texts))
    return is_latin and len(spoken) >= LEAST_WORDS and common < COMMON * len(spoken)


def _in_another_language(question: str, texts: Sequence[str]) -> FollowUp:
    """Judge a question whose language has no lists here: it stands alone if it says nothing known, and is long or has
    a name that is new."""
    shared, said = _shared_pairs(question, texts), " ".join(texts).lower()
    if not any(sign.isalnum() for sign in question):
        return FollowUp(needs_context=True, why="it names nothing by itself")
    names = [word for word in question.split()[1:] if word[:1].isupper() and word[:4].lower() not in said]
    is_long = len(question) >= CLEARLY_LONG or len(question.split()) >= CLEARLY_MANY
    if not names and (any(len(word) > SMALL_WORD for word in shared) or not is_long):
        return FollowUp(needs_context=True, why="it may go on with what was said before", shared=shared)
    return FollowUp(needs_context=False, why="it stands alone, with words that are new here")


def _shared_pairs(question: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a question as they are indexed, pairs of signs in dense scripts, that were said before."""
    return tuple(sorted(words(question) & frozenset().union(*map(words, texts))))
