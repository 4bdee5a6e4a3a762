"""Expansion: which words of a conversation make its newest question stand alone.

A word counts by where a person said it (in the first question, in the newest, in the one that opened the topic) and by
how rare it is among the documents. Words that only an answer had come behind all of these: where answers are passages,
they would find the same passages again. `bench/understanding.py` measures it.
"""

import math
import re
from collections.abc import Mapping, Sequence

from threadkeep.conversation.message import Message, Role
from threadkeep.text.stems import stem
from threadkeep.text.stop_words import BY_LANGUAGE, STOP_WORDS, language_of
from threadkeep.text.words import DENSE, SPOKEN, query_terms, searchable

TURNS = 6
"""How many of the newest questions, with their answers, words are taken from."""
MOST_CHARACTERS = 4_000
"""How much of one message is looked at."""
MOST_CANDIDATES = 100
WEIGHTS: Mapping[str, float] = {"first": 1.03, "newest": 0.48, "opening": 0.89, "only_answered": -1.0}
"""What each adds to the logarithm of how much a word counts. `first` and `opening` name the topic."""
ONE_TOPIC = 12
"""In how many questions the first one still names the topic."""
UNKNOWN_RARITY = 0.5
"""How rare a word is taken to be, where the documents cannot be asked."""
RARE = 0.4
"""From here on a word says by itself what a question is about."""

_SAYING_NOTHING = """don doesn didn isn aren wasn won couldn shouldn ve ll re one ones yes ok okay oh thanks thank sorry
hello hi want need show give find get make use used using good best really much many way thing things lot bit
s t d m"""
_SMALL = frozenset(_SAYING_NOTHING.split())
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
# In Japanese what names something is written in Katakana or Han; endings and particles are neither.
_JAPANESE_NAMES = re.compile("[\u30a1-\u30fa\u30fc]{2,}|[\u3400-\u9fff]+")
_KOREAN_PARTICLES = tuple("은는이가을를에의도로와과")

Candidates = Mapping[str, float]


def candidates(question: str, history: Sequence[Message], opening: int | None = None) -> Candidates:
    """Return the words that were said before, as they were written, with how much each counts for where it was said.

    Words of the question are left out. `opening` is the place of the question that opened the topic.
    """
    left_out = content_stems(question)
    weights = {
        written: math.exp(sum(WEIGHTS[sign] for sign in signs))
        for key, (written, signs) in said_before(history, opening).items()
        if key not in left_out
    }
    return {word: weights[word] for word in sorted(weights, key=lambda word: -weights[word])[:MOST_CANDIDATES]}


def said_before(history: Sequence[Message], opening: int | None = None) -> dict[str, tuple[str, set[str]]]:
    """Return the words of the newest turns and of those that name the topic, by stem, as they were written, with the
    signs of where they were said."""
    found: dict[str, tuple[str, set[str]]] = {}
    asked = [place for place, message in enumerate(history) if message.role is Role.USER]
    first = asked[0] if asked and len(asked) <= ONE_TOPIC else None
    age = 0
    for place in reversed(range(len(history))):
        message = history[place]
        if message.role in (Role.USER, Role.ASSISTANT) and (age < TURNS or place in (first, opening)):
            is_asked = message.role is Role.USER
            shown = {"first": place == first, "opening": place == opening, "newest": is_asked and not age}
            for key, written in _content_words(searchable(message)[:MOST_CHARACTERS]).items():
                signs = found.setdefault(key, (written, {"only_answered"}))[1]
                if is_asked:
                    signs -= {"only_answered"}
                    signs |= {name for name, is_shown in shown.items() if is_shown}
        age += message.role is Role.USER
    return found


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that say something."""
    return frozenset(_content_words(text[:MOST_CHARACTERS]))


def choose(words: Candidates, rarity: Mapping[str, float], limit: int) -> tuple[str, ...]:
    """Return the words that say most, the best first. A word that no document has would find nothing."""
    rare = {word: rarity.get(word, UNKNOWN_RARITY) for word in words}
    worth = {word: weight * rare[word] for word, weight in words.items()}
    known = [word for word in words if rare[word] < 1.0 and worth[word] > 0]
    return tuple(sorted(known, key=lambda word: -worth[word])[:limit])


def shared_words(question: str, history: Sequence[Message]) -> dict[str, Role]:
    """Return the words of the question that were said before, with who said them: a person's word goes first."""
    asked = _content_words(question[:MOST_CHARACTERS])
    said: dict[str, Role] = {}
    for message in history[-2 * TURNS :]:
        if message.role in (Role.USER, Role.ASSISTANT):
            for key in content_stems(searchable(message)):
                said[key] = Role.USER if Role.USER in (message.role, said.get(key)) else message.role
    return {word: said[key] for key, word in asked.items() if key in said}


def _content_words(text: str) -> dict[str, str]:
    """Return the stems of the words that say something, with the words that they stand for, as they were written."""
    spoken = SPOKEN.findall(text.replace("_", " "))
    stop_words = STOP_WORDS | _SMALL | BY_LANGUAGE[language_of({word.lower() for word in spoken})]
    is_japanese = _KANA.search(text) is not None
    found: dict[str, str] = {}
    for spelled in spoken:
        parts = _parts(spelled, is_japanese)
        for word in parts:
            if word not in stop_words and (len(word) > 1 or not word.isascii()):
                found.setdefault(stem(word), spelled if len(parts) == 1 and not DENSE.search(spelled) else word)
    return found


def _parts(spelled: str, is_japanese: bool) -> list[str]:
    """Return the words in something written without spaces; pairs of signs where nothing tells them apart."""
    if spelled.isascii():
        return [spelled.lower()]
    if is_japanese:
        return _JAPANESE_NAMES.findall(spelled) + [part for part in DENSE.sub(" ", spelled).lower().split() if part]
    if _HANGUL.search(spelled):
        return [spelled[:-1] if len(spelled) > 2 and spelled.endswith(_KOREAN_PARTICLES) else spelled]
    return query_terms(spelled)
