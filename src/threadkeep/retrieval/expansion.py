"""Expansion: which words of a conversation make its newest question stand alone.

A word counts by where it was said (a person's question more than an answer, the newest more than the older ones, those
that open the conversation or the topic more again) and by how rare it is among the documents. The numbers were measured
with `bench/followups.py`; `bench/train_expansion.py` fits what an opening counts to the words that people put in.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from threadkeep.conversation.message import Message, Role
from threadkeep.text.stems import stem
from threadkeep.text.stop_words import STOP_WORDS
from threadkeep.text.words import searchable, words_in_order

TURNS = 6
"""How many of the newest questions, with their answers, words are taken from."""
MOST_CHARACTERS = 4_000
"""How much of one message is looked at."""
MOST_CANDIDATES = 200
USER_DECAY = 0.6
ANSWER_SHARE = 0.3
ANSWER_DECAY = 0.5
FIRST = 0.5
OPENING = 0.4
"""How much more a word counts that the first question has, or the newest one that stood alone: they name the topic."""
ONE_TOPIC = 12
"""In how many questions the first one still names it."""
UNKNOWN_RARITY = 0.5
"""How rare a word is taken to be, where the documents cannot be asked."""
RARE = 0.4
"""From here on a word says by itself what a question is about."""

_SAYING_NOTHING = """don doesn didn isn aren wasn won couldn shouldn ve ll re one ones yes ok okay oh thanks thank sorry
hello hi want need show give find get make use used using good best really much many way thing things lot bit
s t d m"""
_SMALL = frozenset(_SAYING_NOTHING.split())
_SPOKEN = re.compile(r"[^\W_]+")

Candidates = Mapping[str, float]


def candidates(
    question: str, history: Sequence[Message], excluded: Collection[str] = (), opening: int | None = None
) -> Candidates:
    """Return the words that were said before, as they were written, with how much each counts for where it was said.

    Words of the question, and excluded ones (as stems), are left out. `opening` is the place of the question that
    opened the topic.
    """
    weights: dict[str, float] = {}
    written: dict[str, str] = {}
    left_out = {*content_stems(question), *excluded}
    extra, age = _openings(history, opening), 0
    for place in reversed(range(len(history))):
        message = history[place]
        if age >= TURNS and place not in extra:
            continue
        share = USER_DECAY**age if message.role is Role.USER else ANSWER_SHARE * ANSWER_DECAY**age
        share += extra[place]
        if message.role in (Role.USER, Role.ASSISTANT):
            for key, word in _content_words(searchable(message)[:MOST_CHARACTERS]).items():
                if key not in left_out:
                    weights[key] = weights.get(key, 0.0) + share
                    written.setdefault(key, word)
        age += message.role is Role.USER
    best = sorted(weights, key=lambda key: -weights[key])[:MOST_CANDIDATES]
    return {written[key]: weights[key] for key in best}


def _openings(history: Sequence[Message], opening: int | None) -> Counter[int]:
    """Return how much more the questions count that name the topic, by their places."""
    asked = [place for place, message in enumerate(history) if message.role is Role.USER]
    first = {asked[0]: FIRST} if asked and len(asked) <= ONE_TOPIC else {}
    return Counter(first) + Counter({} if opening is None else {opening: OPENING})


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that say something."""
    return frozenset(_content_words(text[:MOST_CHARACTERS]))


def choose(words: Candidates, rarity: Mapping[str, float], limit: int) -> tuple[str, ...]:
    """Return the words that say most, the best first. A word that no document has would find nothing."""
    worth = {word: weight * rarity.get(word, UNKNOWN_RARITY) for word, weight in words.items()}
    known = [word for word in words if rarity.get(word, UNKNOWN_RARITY) < 1.0 and worth[word] > 0]
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
    """Return stems with the words that they stand for, as they were written; dense scripts by pairs of signs."""
    found: dict[str, str] = {}
    for written in _SPOKEN.findall(text):
        parts = words_in_order(written)
        for word in parts:
            if word not in STOP_WORDS and word not in _SMALL and (len(word) > 1 or not word.isascii()):
                found.setdefault(stem(word), written if len(parts) == 1 else word)
    return found
