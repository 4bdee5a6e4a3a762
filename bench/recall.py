"""How much of what a question is about reaches the model, once the conversation is longer than the model's room.

Run it with `python -m bench.recall [--quick] [folder]`. Conversations are joined into one long one, and each question
is asked at its end, through the engine, so that what it is about lies far back. The folder holds public data, which is
not shipped (`../shared/data/followups` by default); where it is missing, only generated facts are asked for. Nobody
has marked the evidence in these data, so it is derived, which the docstring of each set tells.
"""

import argparse
import asyncio
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import timedelta
from itertools import pairwise, product
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from bench.followups import SHARED
from bench.report import Report
from bench.texts import turns
from threadkeep.context.base import Policy, Window
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.conversation.scope import LOCAL
from threadkeep.llm.base import Delta, Model, Request, Stopped, Text, Used
from threadkeep.retrieval.embeddings import WordLlamaEmbeddings, unit
from threadkeep.runtime import open_conversations, open_store
from threadkeep.store.values import Append
from threadkeep.text.stems import stem
from threadkeep.text.stop_words import STOP_WORDS
from threadkeep.text.words import words_in_order
from threadkeep.turn.assistant import Assistant

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
BATCH = 500
REPLAYED = 150
WARM = 20
"""How many turns are held again, and how many of them fill the window before anything is measured."""
LONG = 100_000
SHOWN = 80
"""By how many of its first characters a message is recognised in a context."""


class Case(NamedTuple):
    """A question, and which messages of the joined conversation it is about."""

    question: str
    evidence: tuple[str, ...]


class Set(NamedTuple):
    """A joined conversation and the questions asked at its end."""

    name: str
    log: tuple[Message, ...]
    cases: tuple[Case, ...]
    budgets: tuple[int, ...]
    """How much room the model has. The conversations differ in length, so what is a small room does too."""


class Recorder(Model):
    """Answers with a word, or with what was answered once, and keeps the last request."""

    name = "recorder"
    is_scripted = True
    seen: tuple[Message, ...] = ()

    def __init__(self, budget: int, answers: Iterable[str] = ()) -> None:
        self.window = budget * 4 // 3
        self._answers = iter(answers)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer."""
        self.seen = request.messages
        yield Text(next(self._answers, "ok"))
        yield Used(Usage(input_tokens=sum(map(count_tokens, request.messages)), output_tokens=1))
        yield Stopped("stop")


def passages_set(folder: Path) -> Set:
    """MTRAG-UN: a question is about the two messages of its conversation that are nearest to its gold passages.

    A question of fewer than two words that say something is left out: nothing tells which conversation it belongs to.
    """
    rows = _read(folder / "mtragun_dev_queries.jsonl")
    texts = {row["id"]: row["text"] for row in _read(folder / "mtragun_dev_passages.jsonl")}
    longest = {row["conv"]: row for row in sorted(rows, key=lambda row: len(row["history"]))}
    cases = []
    for row in rows:
        if len(row["history"]) >= 4 and len(_stems(row["q"])) >= 2:
            gold = Counter(_stems(" ".join(texts[id] for id in row["gold"] if id in texts)))
            said = [text for _, text in row["history"]]
            nearest = sorted(said, key=lambda text: -_cosine(Counter(_stems(text)), gold))[:2]
            cases.append(Case(row["q"], tuple(nearest)))
    return Set("MTRAG-UN", _joined([row["history"] for row in longest.values()]), tuple(cases), (2_000, 4_000, 8_000))


def rewrites_set(folder: Path) -> Set:
    """CAsT: a human rewrite is about the earlier turns that first said the words which the human put in."""
    rows = _read(folder / "cast_2019_2020.jsonl")
    longest = {(row["ds"], row["conv"]): row for row in sorted(rows, key=lambda row: len(row["history"]))}
    cases = []
    for row in rows:
        new = _stems(row["rw"]).keys() - _stems(row["q"]).keys()
        said = [text for role, text in row["history"] if role == "user"]
        first = [next((text for text in said if word in _stems(text)), None) for word in new]
        if evidence := tuple(dict.fromkeys(text for text in first if text)):
            cases.append(Case(row["rw"], evidence))
    return Set(
        "CAsT, human rewrites", _joined([row["history"] for row in longest.values()]), tuple(cases), (500, 1_000, 2_000)
    )


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
    return Set("generated facts", tuple(log), tuple(cases), (2_000, 4_000, 8_000))


def _joined(histories: Sequence[Sequence[Sequence[str]]]) -> tuple[Message, ...]:
    shuffled = random.Random(3).sample(list(histories), len(histories))
    return tuple(Message(role=Role(role), content=text) for history in shuffled for role, text in history)


def _stems(text: str) -> Counter[str]:
    return Counter(stem(word) for word in words_in_order(text) if word not in STOP_WORDS)


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    both = sum(one[word] * other[word] for word in one.keys() & other.keys())
    return both / (math.hypot(*one.values()) * math.hypot(*other.values()) or 1)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def share_seen(case: Case, texts: Sequence[str]) -> float:
    """Return how much of the evidence stands in what a model was shown."""
    shown = " ".join(" ".join(texts).split())
    return mean(" ".join(text.split())[:SHOWN] in shown for text in case.evidence)


async def engine(data: Set, budget: int, *, recall: bool) -> tuple[float, float, float]:
    """Ask through the engine; return the share of evidence shown, of the room used, and the milliseconds of a turn."""
    model, shares, used, times = Recorder(budget), [], [], []
    assistant = Assistant(name="bench", policy=Policy(window=Window.FULL, recall=recall))
    store = await open_store("memory:")
    async with await open_conversations(store, [assistant], model=model) as conversations:
        for case in data.cases:
            chat = await conversations.create(title="bench")
            for start in range(0, len(data.log), BATCH):
                await store.append(LOCAL, chat.id, Append(bodies=data.log[start : start + BATCH]))
            started = time.perf_counter()
            await (await chat.send(case.question)).answer()
            times.append(time.perf_counter() - started)
            shares.append(share_seen(case, [message.content for message in model.seen]))
            used.append(sum(map(count_tokens, model.seen)) / budget)
            await store.delete(LOCAL, chat.id)
            await store.purge(timedelta(0))
    return mean(shares), mean(used), mean(times) * 1000


async def cached(data: Set, budget: int, *, recall: bool) -> float:
    """Hold a part of the conversation again; return how much of each request is the beginning of the one before."""
    said = [each for each in pairwise(data.log) if each[0].role is Role.USER and each[1].role is Role.ASSISTANT]
    model = Recorder(budget, [answer.content for _, answer in said])
    assistant = Assistant(name="bench", policy=Policy(window=Window.FULL, recall=recall))
    same = size = 0
    before = ""
    async with await open_conversations("memory:", [assistant], model=model) as conversations:
        chat = await conversations.create(title="bench")
        for number, (question, _) in enumerate(said[:REPLAYED]):
            await (await chat.send(question.content)).answer()
            now = "\x1e".join(f"{message.role}\x1f{message.content}" for message in model.seen)
            if number >= WARM:
                same, size = same + _common(before, now), size + len(now)
            before = now
    return same / size


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


async def processor_time(data: Set, folder: Path) -> float:
    """Return the median of the milliseconds of processor time that recall takes in 100,000 messages on SQLite."""
    model, source, times = Recorder(4_000), turns(seed=9), list[float]()
    store = await open_store(f"sqlite:///{folder}/recall.db")
    ways = {True: "recalling", False: "forgetting"}
    assistants = [Assistant(name=ways[way], policy=Policy(window=Window.FULL, recall=way)) for way in ways]
    async with await open_conversations(store, assistants, model=model) as conversations:
        chats = {way: await conversations.create(assistant=name) for way, name in ways.items()}
        for chat in chats.values():
            for _ in range(LONG // BATCH):
                bodies = tuple(message for _ in range(BATCH // 2) for message in next(source))
                await store.append(LOCAL, chat.id, Append(bodies=bodies))
        for case in data.cases[::3]:
            took = {}
            for way, chat in chats.items():
                started = time.process_time()
                await (await chat.send(case.question)).answer()
                took[way] = time.process_time() - started
            times.append(took[True] - took[False])
    return median(times) * 1000


class Rival:
    """Fills the whole room with the messages that are nearest to the question, one by one."""

    def __init__(self, log: Sequence[Message]) -> None:
        self._texts = list(dict.fromkeys(message.content for message in log))
        self._sizes = [count_tokens(Message(role=Role.USER, content=text)) for text in self._texts]

    def filled(self, scores: Sequence[float], budget: int) -> list[str]:
        """Return the best texts that fit."""
        chosen = []
        for place in sorted(range(len(scores)), key=lambda place: -scores[place]):
            if self._sizes[place] <= budget:
                budget -= self._sizes[place]
                chosen.append(self._texts[place])
        return chosen

    def share(self, data: Set, scored: Sequence[Sequence[float]], budget: int) -> float:
        """Return the share of evidence shown, given for each question how near each text is."""
        cases = zip(data.cases, scored, strict=True)
        return mean(share_seen(case, self.filled(scores, budget)) for case, scores in cases)

    def by_words(self, data: Set) -> list[list[float]]:
        """Return how near texts are by BM25 over plural-less words."""
        texts = [_stems(text) for text in self._texts]
        held = Counter(word for text in texts for word in text)
        average = mean(text.total() for text in texts)
        rarity = {word: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for word, count in held.items()}
        return [
            [
                sum(
                    rarity[word] * text[word] * 2.2 / (text[word] + 1.2 * (0.25 + 0.75 * text.total() / average))
                    for word in asked & text.keys()
                )
                for text in texts
            ]
            for asked in (_stems(case.question).keys() for case in data.cases)
        ]

    async def by_vectors(self, data: Set) -> list[list[float]]:
        """Return how near texts are by the bundled word vectors."""
        embeddings = WordLlamaEmbeddings()
        texts = np.array([unit(each) or [0.0] * 256 for each in await embeddings.embed(self._texts)])
        asked = np.array(
            [unit(each) or [0.0] * 256 for each in await embeddings.embed([c.question for c in data.cases])]
        )
        scores: list[list[float]] = (asked @ texts.T).tolist()
        return scores


async def compare(report: Report, data: Set) -> None:
    """Show every way at every budget."""
    rival, budgets = Rival(data.log), data.budgets
    scores = {"BM25 alone": rival.by_words(data), "vectors alone": await rival.by_vectors(data)}
    rows = [
        [name, *(f"{rival.share(data, found, budget):.3f}" for budget in budgets)] for name, found in scores.items()
    ]
    ours = {budget: await engine(data, budget, recall=True) for budget in budgets}
    window = [f"{(await engine(data, budget, recall=False))[0]:.3f}" for budget in budgets]
    rows = [["the window alone", *window], *rows, ["ours", *(f"{ours[budget][0]:.3f}" for budget in budgets)]]
    rows += [["ours: share of the room used", *(f"{ours[budget][1]:.2f}" for budget in budgets)]]
    rows += [["ours: milliseconds a turn", *(f"{ours[budget][2]:.1f}" for budget in budgets)]]
    shares = [f"{await cached(data, budget, recall=True):.2f}" for budget in budgets]
    alone = [f"{await cached(data, budget, recall=False):.2f}" for budget in budgets]
    rows += [["ours: unchanged beginning of a request", *shares], ["the same without recall", *alone]]
    size = sum(map(count_tokens, data.log))
    title = (
        f"{data.name}: {len(data.cases)} questions after {len(data.log):,} messages ({size:,} tokens), evidence shown"
    )
    report.table(title, ["", *(f"{budget:,} tokens" for budget in budgets)], rows)
    report.bar(
        "the share of the room that is used, at the least", min(used for _, used, _ in ours.values()), at_least=0.9
    )


async def main() -> None:
    """Run everything that there is data for."""
    parser = argparse.ArgumentParser(description="How much of what a question is about reaches the model.")
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED, help="public data, see the docs")
    parser.add_argument("--quick", action="store_true", help="a sixth of the questions")
    chosen = parser.parse_args()
    report = Report(sys.stdout)
    report.title("Recall, without a model")
    sets = [generated_set()]
    if (chosen.folder / "mtragun_dev_queries.jsonl").is_file():
        sets += [passages_set(chosen.folder), rewrites_set(chosen.folder)]
    else:
        report.note(f"{chosen.folder} has no public data to measure on: only generated facts were asked for")
    for data in sets:
        some = data._replace(cases=data.cases[::6]) if chosen.quick else data
        await compare(report, some)
    with TemporaryDirectory() as place:
        took = await processor_time(generated_set(), Path(place))
    report.bar(f"milliseconds of processor time in {LONG:,} messages on SQLite, median", took, at_most=25)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
