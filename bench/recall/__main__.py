"""How much of what a question is about reaches the model, once the conversation is longer than the model's room.

Run it with `python -m bench.recall [--quick] [folder]`. Each question is asked at the end of a long conversation
(`sets.py`), through the engine, so that what it is about lies far back. The folder holds public data, which is not
shipped (`../shared/data/followups` by default); where it is missing, only what is made up is asked for.
"""

import argparse
import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime
from itertools import count, cycle, pairwise
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from bench.followups import SHARED
from bench.recall.sets import Case, Set, generated_set, passages_set, personal_set, rewrites_set, stems
from bench.report import Report
from bench.store import settle
from bench.texts import turns
from threadkeep.context.base import Policy, Window
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.conversation.scope import LOCAL
from threadkeep.llm.base import CallPart, Delta, Model, Request, Stopped, Text, Used
from threadkeep.runtime import open_conversations, open_store
from threadkeep.store.values import Append, Import
from threadkeep.text.words import content_words, words_in_order
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_retrieval.embeddings import WordLlamaEmbeddings, unit

BATCH = 500
REPLAYED = 110
WARM = 20
"""How many turns are held again, and how many of them fill the window before anything is measured."""
LONG = 100_000
SHOWN = 80
"""By how many of its first characters a message is recognised in a context."""


class Recorder(Model):
    """Answers with a word, or with what was answered once, and keeps the last request."""

    name = "recorder"
    is_scripted = True
    seen: tuple[Message, ...] = ()

    def __init__(self, budget: int, answers: Iterable[str] = (), *, cached_from: int = 0) -> None:
        self.window, self.cached_from = budget * 4 // 3, cached_from
        self._answers = iter(answers)
        self.requests = list[str]()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer; where there is a tool, ask it first."""
        self.seen = request.messages
        self.requests.append("\x1e".join(f"{message.role}\x1f{message.content}" for message in self.seen))
        calls = bool(request.tools) and self.seen[-1].role is not Role.TOOL
        name = f"call-{len(self.requests)}"
        yield CallPart(index=0, id=name, name="look_up", args="{}") if calls else Text(next(self._answers, "ok"))
        yield Used(Usage(input_tokens=sum(map(count_tokens, request.messages)), output_tokens=1))
        yield Stopped("tool_calls" if calls else "stop")


def share_seen(case: Case, texts: Sequence[str]) -> float:
    """Return how much of the evidence stands in what a model was shown."""
    shown = " ".join(" ".join(texts).split())
    return mean(" ".join(text.split())[:SHOWN] in shown for text in case.evidence)


class Outcome(NamedTuple):
    """What came of the questions of a set, in the mean: the share of evidence shown, of the room used, and how long."""

    shown: float
    used: float
    milliseconds: float


async def engine(data: Set, *, recall: bool, in_a_row: bool = False, cached_from: int = 0) -> list[Outcome]:
    """Ask through the engine; return what came of it with each budget, in the mean."""
    found = await outcomes(data, recall=recall, in_a_row=in_a_row, cached_from=cached_from)
    return [Outcome(*map(mean, zip(*each, strict=True))) for each in found]


async def outcomes(data: Set, *, recall: bool, in_a_row: bool = False, cached_from: int = 0) -> list[list[Outcome]]:
    """Ask through the engine; return what came of each question with each budget.

    Each question is asked as the first one, or all of them in a row: then most requests go on as the last one did.
    """
    model, found = Recorder(0, cached_from=cached_from), list[list[Outcome]]()
    assistant = Assistant(name="bench", policy=Policy(window=Window.FULL, recall=recall))
    store, days = await open_store("memory:"), data.times or (datetime(2023, 1, 1, tzinfo=UTC),) * len(data.log)
    async with await open_conversations(store, [assistant], model=model) as conversations:
        for budget in data.budgets:
            model.window = budget * 4 // 3
            entries = tuple(
                Entry(conversation=f"{budget}", seq=seq, parent=seq - 1 or None, created_at=at, body=message)
                for seq, at, message in zip(count(1), days, data.log, strict=False)
            )
            new = NewConversation(id=f"{budget}", title="bench", assistant="bench")
            await store.import_entries(LOCAL, Import(new=new, created_at=days[0], entries=entries, version=1))
            chat, each = await conversations.get(f"{budget}"), list[Outcome]()
            for case in data.cases:
                started = time.perf_counter()
                await (await chat.send(case.question, parent=None if in_a_row else len(entries))).answer()
                took = time.perf_counter() - started
                shown = share_seen(case, [message.content for message in model.seen])
                each.append(Outcome(shown, sum(map(count_tokens, model.seen)) / budget, took * 1000))
            found.append(each)
    return found


async def cached(data: Set, budget: int, *, recall: bool, results: Sequence[str] = ()) -> float:
    """Hold a part of the conversation again; return how much of each request is the beginning of the one before. With
    `results`, a tool looks something up for each question."""
    said = [each for each in pairwise(data.log) if each[0].role is Role.USER and each[1].role is Role.ASSISTANT]
    model = Recorder(budget, [answer.content for _, answer in said])
    found = cycle(results)

    @tool
    def look_up() -> str:
        """Look something up."""
        return next(found)

    tools = Registry([look_up] if results else [])
    assistant = Assistant(name="bench", policy=Policy(window=Window.FULL, recall=recall), tools=tools)
    async with await open_conversations("memory:", [assistant], model=model) as conversations:
        chat = await conversations.create(title="bench")
        for question, _ in said[:REPLAYED]:
            await (await chat.send(question.content)).answer()
    requests = model.requests[WARM - 1 :] if not results else model.requests[2 * WARM - 1 :]
    return sum(_common(*pair) for pair in pairwise(requests)) / sum(map(len, requests[1:]))


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
        # The index is made beside; its processor time is not that of recall.
        await settle(store)
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
            if scores[place] >= 0 and self._sizes[place] <= budget:
                budget -= self._sizes[place]
                chosen.append(self._texts[place])
        return chosen

    def share(self, data: Set, scored: Sequence[Sequence[float]], budget: int) -> float:
        """Return the share of evidence shown, given for each question how near each text is."""
        cases = zip(data.cases, scored, strict=True)
        return mean(share_seen(case, self.filled(scores, budget)) for case, scores in cases)

    def by_keywords(self, data: Set) -> list[list[float]]:
        """Return which texts hold a word of the question as it is, the newest first."""
        held = [set(words_in_order(text)) for text in self._texts]
        asked = [set(content_words(case.question)) for case in data.cases]
        return [[place if words & text else -1.0 for place, text in enumerate(held)] for words in asked]

    def by_evidence(self, data: Set) -> list[list[float]]:
        """Return the evidence first: no way of choosing messages can show more."""
        return [[float(text in case.evidence) for text in self._texts] for case in data.cases]

    def by_words(self, data: Set) -> list[list[float]]:
        """Return how near texts are by BM25 over plural-less words."""
        texts = [stems(text) for text in self._texts]
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
            for asked in (stems(case.question).keys() for case in data.cases)
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
    scores = {
        "a list of keywords, newest first": rival.by_keywords(data),
        "BM25 alone": rival.by_words(data),
        "vectors alone": await rival.by_vectors(data),
        "the evidence first: the most that is possible": rival.by_evidence(data),
    }
    rows = [
        [name, *(f"{rival.share(data, found, budget):.3f}" for budget in budgets)] for name, found in scores.items()
    ]
    # The window holds the newest messages, whatever the question is.
    evidence = tuple(text for case in data.cases for text in case.evidence)
    window = await engine(data._replace(cases=(Case(data.cases[0].question, evidence),)), recall=False)
    ours = await engine(data, recall=True)
    rows = [["the window alone", *(f"{each.shown:.3f}" for each in window)], *rows]
    rows += [["ours", *(f"{each.shown:.3f}" for each in ours)]]
    in_a_row = await engine(data, recall=True, in_a_row=True)
    rows += [["ours, one question after the other", *(f"{each.shown:.3f}" for each in in_a_row)]]
    in_a_row = await engine(data, recall=True, in_a_row=True, cached_from=Model.cached_from)
    rows += [["the same with a cache from 1,024 tokens on", *(f"{each.shown:.3f}" for each in in_a_row)]]
    rows += [["ours: share of the room used", *(f"{each.used:.2f}" for each in ours)]]
    rows += [["ours: milliseconds a turn", *(f"{each.milliseconds:.1f}" for each in ours)]]
    size = sum(map(count_tokens, data.log))
    title = (
        f"{data.name}: {len(data.cases)} questions after {len(data.log):,} messages ({size:,} tokens), evidence shown"
    )
    report.table(title, ["", *(f"{budget:,} tokens" for budget in budgets)], rows)
    report.bar("the share of the room that is used, at the least", min(each.used for each in ours), at_least=0.9)


async def compare_caches(report: Report, data: Set) -> None:
    """Show how much of a request a provider has in its cache when the conversation is held turn by turn."""
    bars = {2_000: 0.75, 8_000: 0.9}
    shares = {budget: await cached(data, budget, recall=True) for budget in bars}
    alone = [f"{await cached(data, budget, recall=False):.2f}" for budget in bars]
    rows = [["ours", *(f"{share:.2f}" for share in shares.values())], ["without recall", *alone]]
    title = f"{data.name}, held again: unchanged beginning of a request"
    report.table(title, ["", *(f"{budget:,} tokens" for budget in bars)], rows)
    for budget, bar in bars.items():
        report.bar(f"unchanged beginning with {budget:,} tokens", shares[budget], at_least=bar)


async def main() -> None:
    """Run everything that there is data for."""
    parser = argparse.ArgumentParser(description="How much of what a question is about reaches the model.")
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED, help="public data, see the docs")
    parser.add_argument("--quick", action="store_true", help="a sixth of the questions")
    parser.add_argument("--tuning", action="store_true", help="the half that settings are chosen on")
    chosen = parser.parse_args()
    report = Report(sys.stdout)
    report.title("Recall, without a model" + chosen.tuning * " (the half that settings are chosen on)")
    names = ("Nadia", "Tom") if chosen.tuning else ("Mira", "Jonas")
    sets = [generated_set(), *(personal_set(names, size, tuning=chosen.tuning) for size in (500, 2_500, 6_000))]
    if (chosen.folder / "mtragun_dev_queries.jsonl").is_file():
        passages = passages_set(chosen.folder, tuning=chosen.tuning)
        sets += [passages, rewrites_set(chosen.folder, tuning=chosen.tuning)]
        await compare_caches(report, passages)
    else:
        report.note(f"{chosen.folder} has no public data to measure on: only what is made up was asked for")
    await compare_caches(report, sets[1])
    for data in sets:
        step = 6 if chosen.quick else 1
        await compare(report, data._replace(cases=data.cases[::step]))
    with TemporaryDirectory() as place:
        took = await processor_time(generated_set(), Path(place))
    report.bar(f"milliseconds of processor time in {LONG:,} messages on SQLite, median", took, at_most=12)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
