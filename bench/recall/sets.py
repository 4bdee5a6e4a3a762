"""What recall is measured on: long conversations, and questions at their end with the messages that they are about.

Nobody has marked the evidence in the public data, so it is derived, which the docstring of each set tells. Most sets
have two halves, by conversations or by topics: settings are chosen on the first (`tuning`), figures told of the other.
"""

import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from bench.texts import turns
from threadkeep.conversation.message import Message, Role
from threadkeep.text.stems import stem
from threadkeep.text.stop_words import STOP_WORDS
from threadkeep.text.words import words_in_order

_VERBS = (
    ("painting", "painted"),
    ("planning", "planned"),
    ("selling", "sold"),
    ("repairing", "repaired"),
    ("copying", "copied"),
)
_THINGS = ("boat", "garden", "violin", "camera", "bicycle", "kitchen")
_PLACES = ("Bergen", "Lisbon", "Kyoto", "Quito", "Tartu", "Cork")
_MONTHS = ("January", "March", "May", "July", "October")
_FRIENDS = ("Ines", "Paul", "Olga", "Matti", "Rosa", "Karim", "Lena", "Tomas")
_DAYS = ("Monday", "Tuesday", "Thursday", "Friday", "Saturday", "Sunday")
_HERE = Path(__file__).parent
_ROOM = (2_000, 4_000, 8_000)


class Case(NamedTuple):
    """A question, and which messages of the joined conversation it is about."""

    question: str
    evidence: tuple[str, ...]


class Set(NamedTuple):
    """A long conversation and the questions asked at its end."""

    name: str
    log: tuple[Message, ...]
    cases: tuple[Case, ...]
    budgets: tuple[int, ...] = _ROOM
    """How much room the model has. The conversations differ in length, so what is a small room does too."""
    times: tuple[datetime, ...] = ()
    """When each message was said; none where all of it is imported at once."""


def passages_set(folder: Path, *, tuning: bool) -> Set:
    """MTRAG-UN: a question is about the two messages of its conversation that are nearest to its gold passages.

    A question of fewer than two words that say something is left out: nothing tells which conversation it belongs to.
    """
    rows = _read(folder / "mtragun_dev_queries.jsonl")
    texts = {row["id"]: row["text"] for row in _read(folder / "mtragun_dev_passages.jsonl")}
    cases = []
    for row in _half(rows, tuning=tuning):
        if len(row["history"]) >= 4 and len(stems(row["q"])) >= 2:
            gold = Counter(stems(" ".join(texts[id] for id in row["gold"] if id in texts)))
            said = [text for _, text in row["history"]]
            nearest = sorted(said, key=lambda text: -_cosine(Counter(stems(text)), gold))[:2]
            cases.append(Case(row["q"], tuple(nearest)))
    return Set("MTRAG-UN", _joined(rows), tuple(cases))


def rewrites_set(folder: Path, *, tuning: bool) -> Set:
    """CAsT: a human rewrite is about the earlier turns that first said the words which the human put in."""
    rows = _read(folder / "cast_2019_2020.jsonl")
    cases = []
    for row in _half(rows, tuning=tuning):
        new = stems(row["rw"]).keys() - stems(row["q"]).keys()
        said = [text for role, text in row["history"] if role == "user"]
        first = [next((text for text in said if word in stems(text)), None) for word in new]
        if evidence := tuple(dict.fromkeys(text for text in first if text)):
            cases.append(Case(row["rw"], evidence))
    return Set("CAsT, human rewrites", _joined(rows), tuple(cases), (500, 1_000, 2_000))


def generated_set() -> Set:
    """Facts told in between chat text, with a reply; asked for in other forms of their words. Made up, by rule."""
    dice, source = random.Random(4), turns(seed=4)
    log, cases = list[Message](), list[Case]()
    for (verb, past), thing, place in dice.sample(list(product(_VERBS, _THINGS, _PLACES)), 60):
        told = f"By the way, we {past} the {thing} in {place}, on a day in {dice.choice(_MONTHS)}."
        reply = f"Noted. That sounds like something to remember, number {len(cases)}."
        for _ in range(dice.randint(10, 30)):
            log += next(source)
        log += (Message(role=Role.USER, content=told), Message(role=Role.ASSISTANT, content=reply))
        cases.append(Case(f"Who helped with {verb} {thing}s in {place}?", (told, reply)))
    log += [message for _ in range(100) for message in next(source)]
    return Set("generated facts", tuple(log), tuple(cases))


class Topic(NamedTuple):
    """Something that one of two people tells the other, from `personal.txt`: its lines, each with whether the other one
    says it, what is remarked later, and the questions with the places of the lines that answer them."""

    lines: tuple[tuple[bool, str], ...]
    remarks: tuple[str, ...]
    questions: tuple[tuple[str, tuple[int, ...]], ...]


def personal_set(names: tuple[str, str], messages: int, *, tuning: bool) -> Set:
    """Two people who talk for months, in sittings; asked in other words for what one of them told once. Made up.

    Both tell of nearly the same things, so what tells them apart is who spoke, and when. The halves have no topic in
    common.
    """
    dice = random.Random(messages)
    topics = _topics()[0 if tuning else 1 :: 2]
    told = [(topic, at) for topic in topics for at in (0, 1) if at == 0 or dice.random() < 0.7]
    dice.shuffle(told)
    sittings = max(20, messages // 40)
    when = datetime(2023, 1, 7, 18, tzinfo=UTC)
    log, times, cases = list[Message](), list[datetime](), list[Case]()
    small_talk = _small_talk(names, dice)
    by_month: dict[tuple[str, str], list[str]] = {}
    for sitting in range(sittings):
        when += timedelta(days=dice.randint(1, 2 * 270 // sittings + 1), minutes=dice.randint(-300, 300))
        said = list[tuple[int, str]]()
        for topic, teller in told[sitting::sittings]:
            for _ in range(dice.randint(1, 4)):
                said += next(small_talk)
            slots = _slots(dice)
            lines = [(teller ^ is_other, line.format(**slots)) for is_other, line in topic.lines]
            texts = [f"{names[who]}: {line}" for who, line in lines]
            said += lines + [(teller, dice.choice(topic.remarks)) for _ in range(dice.randint(0, 2))]
            who = {"s": names[teller], "o": names[1 - teller]}
            cases += [Case(text.format(**who), tuple(texts[at] for at in at)) for text, at in topic.questions]
            by_month.setdefault((names[teller], f"{when:%B}"), []).append(texts[0])
        while len(said) < messages // sittings:
            remark = dice.choice(dice.choice(topics).remarks)
            said += next(small_talk) if dice.random() < 0.6 else [(dice.randrange(2), remark)]
        roles = (Role.USER, Role.ASSISTANT)
        log += [Message(role=roles[who], content=f"{names[who]}: {text}") for who, text in said]
        times += [when + timedelta(minutes=minute) for minute in range(len(said))]
    cases += [
        Case(f"What news did {name} tell in {month}?", tuple(texts))
        for (name, month), texts in by_month.items()
        if 1 < len(texts) <= 3
    ]
    return Set(f"personal chats of {names[0]} and {names[1]}", tuple(log), tuple(cases), _ROOM, tuple(times))


def _topics() -> list[Topic]:
    blocks = (_HERE / "personal.txt").read_text(encoding="utf-8").strip().split("\n\n")
    found = []
    for block in blocks:
        lines = [(line[0], line[2:]) for line in block.splitlines()]
        asked = [text.rsplit(" | ", 1) for sign, text in lines if sign == "?"]
        found.append(
            Topic(
                tuple((sign == "<", text) for sign, text in lines if sign in "<>"),
                tuple(text for sign, text in lines if sign == "~"),
                tuple((text, tuple(map(int, places.split()))) for text, places in asked),
            )
        )
    return found


def _slots(dice: random.Random) -> dict[str, str]:
    return {
        "place": dice.choice(_PLACES),
        "friend": dice.choice(_FRIENDS),
        "day": dice.choice(_DAYS),
        "number": str(dice.randint(12, 98)),
    }


def _small_talk(names: tuple[str, str], dice: random.Random) -> Iterator[list[tuple[int, str]]]:
    """Return exchanges without end: one says something, the other answers. Each begins, says something and ends."""
    lines = (_HERE / "small_talk.txt").read_text(encoding="utf-8").splitlines()
    parts = [[line[2:] for line in lines if line[0] == sign] for sign in "=-+"]
    while True:
        first = dice.randrange(2)
        yield [
            (
                who,
                "{} {}. {}".format(*map(dice.choice, parts)).format(o=names[1 - who], **_slots(dice)),
            )
            for who in (first, 1 - first)
        ]


def _half(rows: Sequence[dict[str, Any]], *, tuning: bool) -> list[dict[str, Any]]:
    """Return the questions of every second conversation."""
    order = {conv: place for place, conv in enumerate(dict.fromkeys(map(_conversation, rows)))}
    return [row for row in rows if order[_conversation(row)] % 2 == (not tuning)]


def _conversation(row: dict[str, Any]) -> tuple[Any, ...]:
    return row.get("ds"), row["conv"]


def _joined(rows: Sequence[dict[str, Any]]) -> tuple[Message, ...]:
    longest = {_conversation(row): row["history"] for row in sorted(rows, key=lambda row: len(row["history"]))}
    shuffled = random.Random(3).sample(list(longest.values()), len(longest))
    return tuple(Message(role=Role(role), content=text) for history in shuffled for role, text in history)


def stems(text: str) -> Counter[str]:
    """Return the words of a text that say something, without the endings of plurals, and how often each is there."""
    return Counter(stem(word) for word in words_in_order(text) if word not in STOP_WORDS)


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    both = sum(one[word] * other[word] for word in one.keys() & other.keys())
    return both / (math.hypot(*one.values()) * math.hypot(*other.values()) or 1)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
