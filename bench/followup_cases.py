"""The conversations that follow-ups are measured on: our own, which are shipped, and public ones, which are not."""

import json
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from threadkeep.conversation.message import Message, Role
from threadkeep_retrieval.base import Document

OWN = Path(__file__).parent / "followups"
SWITCHES = 15
"""After how many foreign histories each first question of the public data is asked."""

FITTED_PARTS = (1, 2, 3, 4, 5)
"""The parts of `turns.jsonl` that weights were fitted on."""
NEW_PARTS = (6,)
"""Those that nothing was fitted on. They were measured before anything was corrected; the docs have that number."""


@dataclass(frozen=True)
class Case:
    """A question after a history, and the passages that answer it."""

    question: str
    history: tuple[Message, ...]
    gold: frozenset[str]
    kind: str = ""


@dataclass(frozen=True)
class Judged:
    """A question after a history, and whether a person had to rewrite it."""

    question: str
    history: tuple[Message, ...]
    needs_context: bool


def is_check(id: str) -> bool:
    """Whether a conversation is in the half that nothing is fitted to."""
    return blake2b(id.encode(), digest_size=1).digest()[0] % 2 == 1


def own_cases() -> list[Case]:
    """Return the conversations that are shipped."""
    return [
        Case(row["question"], tuple(map(Message.model_validate, row["history"])), frozenset(row["gold"]), row["kind"])
        for row in _read(OWN / "conversations.jsonl")
    ]


def own_judged() -> list[Judged]:
    """Return the same conversations, for whether they need context."""
    return [
        Judged(row["question"], tuple(map(Message.model_validate, row["history"])), row["needs_context"])
        for row in _read(OWN / "conversations.jsonl")
    ]


def judged_in(language: str) -> list[Judged]:
    """Return questions in a language, half of them follow-ups. They are ours."""
    rows = [row for row in _read(OWN / "languages.jsonl") if row["language"] == language]
    return [
        Judged(row["question"], (Message(role=Role.ASSISTANT, content=row["before"]),), row["needs_context"])
        for row in rows
    ]


def turns_in(language: str, parts: Collection[int]) -> list[Judged]:
    """Return questions in a language after a whole turn, of some parts; each part was written at another time."""
    return [
        Judged(question, _messages(list(zip(("user", "assistant"), row["history"], strict=True))), needs_context)
        for row in _read(OWN / "turns.jsonl")
        if row["language"] == language and row["part"] in parts
        for name, needs_context in (("follow_ups", True), ("alone", False))
        for question in row[name]
    ]


def translated() -> dict[str, tuple[list[Case], list[Document]]]:
    """Return the same small conversations and passages in each language; of the kind "switch" are changes of topic."""
    found = {}
    for row in _read(OWN / "translated.jsonl"):
        name = row["language"]
        cases = [
            Case(
                each["question"],
                _messages(list(zip(("user", "assistant"), each["history"], strict=True))),
                frozenset({f"{name}/{each['gold']}"}),
                "switch" if each["switches"] else "follow-up",
            )
            for each in row["cases"]
        ]
        found[name] = cases, [Document(id=f"{name}/{key}", text=text) for key, text in row["passages"].items()]
    return found


def languages() -> list[str]:
    """Return the languages that there are questions in."""
    return list(dict.fromkeys(row["language"] for row in _read(OWN / "languages.jsonl")))


def own_documents() -> list[Document]:
    """Return the passages that the shipped conversations are about."""
    return [Document(id=row["id"], title=row["title"], text=row["text"]) for row in _read(OWN / "passages.jsonl")]


def public_cases(folder: Path) -> list[Case]:
    """Return the questions of MTRAG-UN, first questions included."""
    rows = _read(folder / "mtragun_dev_queries.jsonl")
    return [Case(row["q"], _messages(row["history"]), frozenset(row["gold"])) for row in rows]


def public_documents(folder: Path) -> list[Document]:
    """Return the passages of MTRAG-UN."""
    return [Document(id=row["id"], text=row["text"]) for row in _read(folder / "mtragun_dev_passages.jsonl")]


def switched(cases: Sequence[Case]) -> list[Case]:
    """Return each first question after the history of some other conversations."""
    chance, later = random.Random(1), [case for case in cases if case.history]
    return [
        Case(first.question, other.history, first.gold)
        for first in cases
        if not first.history
        for other in chance.sample(later, min(SWITCHES, len(later)))
    ]


def judged_by_people(folder: Path, year: str, switches: int) -> list[Judged]:
    """Return the questions of one year of CAsT that have a history, and first questions after foreign histories."""
    rows = [row for row in _read(folder / "cast_2019_2020.jsonl") if row["ds"].startswith(f"cast{year}")]
    later = [row for row in rows if row["history"]]
    alone = [row for row in rows if not row["history"] and _is_unchanged(row)]
    chance = random.Random(2)
    found = [Judged(row["q"], _messages(row["history"]), not _is_unchanged(row)) for row in later]
    for first in alone:
        others = chance.sample([row for row in later if row["conv"] != first["conv"]], switches)
        found += [Judged(first["q"], _messages(row["history"]), False) for row in others]
    return found


def people_rewrites(folder: Path, year: str) -> list[tuple[str, str, str, tuple[Message, ...]]]:
    """Return conversation, question, rewrite and history of the questions of one year that people rewrote."""
    rows = [row for row in _read(folder / "cast_2019_2020.jsonl") if row["ds"].startswith(f"cast{year}")]
    return [
        (str(row["conv"]), row["q"], row["rw"], _messages(row["history"]))
        for row in rows
        if row["history"] and not _is_unchanged(row)
    ]


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _is_unchanged(row: Mapping[str, str]) -> bool:
    return row["q"].strip() == row["rw"].strip()


def _messages(history: Sequence[Sequence[str]]) -> tuple[Message, ...]:
    return tuple(Message(role=Role(role), content=text) for role, text in history)
