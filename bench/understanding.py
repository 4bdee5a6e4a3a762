"""What each rule of understanding is worth, on questions that are kept from fitting: recall, follow-ups, the guard.

Run it with `python -m bench.understanding [--quick] [folder]`. One table a part: the rule, what switching it off
changes with an interval of 95 % (the questions drawn again and again), and lines. The questions of every set are in
two halves, by a hash of the conversation (`is_check`) or by topics (`bench/recall/sets.py`); this looks at the check
halves only. The weights of signs are older than this division and saw both.
"""

import argparse
import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

from bench.followup_cases import (
    OWN,
    Case,
    Judged,
    is_check,
    judged_by_people,
    judged_in,
    languages,
    people_rewrites,
    public_cases,
    public_documents,
    switched,
    turns_in,
)
from bench.followup_rivals import LastTurn, words_only
from bench.followups import LIMIT, READ, SHARED, ndcg, needs_context
from bench.recall.__main__ import cached, outcomes
from bench.recall.sets import Set, passages_set, personal_set
from bench.report import Report
from threadkeep.llm.base import Delta, Model, Request, Stopped, Text
from threadkeep.store.sqlite import search as sqlite_search
from threadkeep.text import search, words
from threadkeep_integrations.local import load_local
from threadkeep_retrieval import expansion, model_rewriter, words_rewriter
from threadkeep_retrieval.base import Query, Retriever, Rewriter
from threadkeep_retrieval.hybrid import HybridIndex
from threadkeep_retrieval.model_rewriter import ModelRewriter, flaw, unknown
from threadkeep_retrieval.routing import follow_up
from threadkeep_retrieval.routing import languages as in_languages
from threadkeep_retrieval.words_rewriter import NeedsContext, WordsRewriter, always

DRAWN = 500
SOURCES = Path(__file__).parents[1] / "src"
PARTS = {
    "context": "threadkeep/context",
    "text": "threadkeep/text",
    "retrieval": "threadkeep_retrieval",
    "routing": "threadkeep_retrieval/routing",
}
MOST_LINES = 4_500
SMALL_SAMPLE = 6
"""How many questions the small embedded model is asked, which takes seconds for each."""
FOREIGN = ("Zanzibar", "Kowalski", "Nakamura", "Quixeramobim")
"""Names that nobody said in the public conversations."""


def interval(values: Sequence[float]) -> str:
    """Return the mean, and between which values it lies when the questions are drawn again."""
    dice = random.Random(1)
    means = sorted(mean(dice.choices(values, k=len(values))) for _ in range(DRAWN))
    return f"{mean(values):+.3f} [{means[DRAWN // 40]:+.3f}, {means[-DRAWN // 40]:+.3f}]"


def lines(folder: str) -> int:
    """Return how many lines the modules and the lists of a folder have; those of routing are its own row."""
    found = (path for path in (SOURCES / folder).rglob("*") if path.suffix in (".py", ".toml", ".sql"))
    own = [path for path in found if ("routing" in path.parts) == folder.endswith("routing")]
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own)


@contextmanager
def without(*changes: tuple[object, str, Any]) -> Iterator[None]:
    """Switch a rule off: give names of modules other values for a while."""
    patches = [patch.object(*change) for change in changes]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


class Proof:
    """One row for each thing that must be true: before, now with an interval, the goal."""

    def __init__(self, report: Report) -> None:
        self.report, self.rows = report, list[list[str]]()

    def hold(
        self, what: str, before: str, values: Sequence[float], *, at_most: float | None = None, at_least: float = 0.0
    ) -> None:
        """Hold the mean of some values against its goal."""
        now = interval(values) if len(values) > 1 else f"{values[0]:,.3f}".removesuffix(".000")
        self.rows.append([what, before, now, f"{at_most:,}, at most" if at_most is not None else f"{at_least:,}"])
        self.report.bar(what, mean(values), at_most=at_most, at_least=at_least)


async def ablated(
    report: Report,
    title: str,
    rules: Mapping[str, Sequence[tuple[object, str, Any]]],
    measure: Callable[[], Awaitable[list[float]]],
) -> list[float]:
    """Show what switching off each rule changes; return what is measured with all of them."""
    whole, rows = await measure(), []
    for name, changes in rules.items():
        with without(*changes):
            found = await measure()
        rows.append([name, interval([one - all_ for one, all_ in zip(found, whole, strict=True)])])
    report.table(f"{title}: {len(whole)} questions, {mean(whole):.3f}", ["switched off", "changes by"], rows)
    return whole


async def recall(proof: Proof, folder: Path, step: int) -> None:
    """Measure recall with 4,000 tokens, each question as the first, and how much of a request stays the same."""
    bars = {500: ("1.00", 0.95), 2_500: (".90", 0.92), 6_000: (".71", 0.88)}
    sets = {personal_set(("Mira", "Jonas"), size, tuning=False): bar for size, bar in bars.items()}
    if (folder / "mtragun_dev_queries.jsonl").is_file():
        sets[passages_set(folder, tuning=False)] = (".75", 0.8)
    asked = [data._replace(cases=data.cases[::step], budgets=(4_000,)) for data in sets]

    async def measure(some: Sequence[Set] = asked) -> list[float]:
        return [outcome.shown for data in some for (found,) in [await outcomes(data, recall=True)] for outcome in found]

    def alone(word: str, language: str) -> tuple[str, ...]:
        return (word,)

    rules: dict[str, Sequence[tuple[object, str, Any]]] = {
        "neighbours": [(search, "NEIGHBOURS", ())],
        "forms of words": [(words, "forms", alone)],
        "who said it": [(search, "SPEAKER_SHARE", 0.0)],
        "when it was said": [(search, "DATE_SHARE", 0.0)],
        "what very many hold says nothing": [(search, "RELATED", 10**9), (sqlite_search, "RELATED", 10**9)],
        "scores of all that hold a word spread": [(search, "SPREAD", 100)],
    }
    await ablated(proof.report, "Recall, evidence shown", rules, measure)
    for data, (before, bar) in zip(asked, sets.values(), strict=True):
        what = f"recall with 4,000 tokens, {len(data.log):,} messages"
        proof.hold(what, before, await measure([data]), at_least=bar)
    found = [document.text for document in public_documents(folder)] if len(sets) > len(bars) else []
    for results in (found[:0], found[::7]) if found else ():
        for budget, bar in ((2_000, 0.75), (8_000, 0.9)):
            share = await cached(asked[-1], budget, recall=True, results=results)
            what = f"unchanged beginning of a request{', with tools' * bool(results)}, {budget:,} tokens"
            proof.hold(what, ".30" if results and budget == 2_000 else "", [share], at_least=bar)


def written() -> Mapping[str, str]:
    """Return what was written by reading the conversations, before anything was measured."""
    rows = map(json.loads, (OWN / "rewrites.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["conversation"]: row["rewrite"] for row in rows}


async def gains(cases: Sequence[Case], rewriter: Rewriter, index: Retriever, *, last: bool = False) -> list[float]:
    """Return nDCG@5 of each question; `last` puts last what the model reads in the history anyway."""
    found = []
    for case in cases:
        asked = await rewriter.rewrite(case.question, case.history)
        passages = await index.search(Query(text=asked.text, words=asked.words), limit=READ)
        if last:
            shown = "\n".join(message.content for message in case.history)
            passages = sorted(passages, key=lambda passage: passage.text in shown)
        found.append(ndcg(list(dict.fromkeys(passage.id for passage in passages))[:LIMIT], case.gold))
    return found


def way(bare: Sequence[float], ours: Sequence[float], best: Sequence[float]) -> str:
    """Return how much of the way from the bare question to a person's rewrite we go, with an interval."""
    dice, places = random.Random(1), range(len(bare))
    drawn = [places, *(dice.choices(places, k=len(places)) for _ in range(DRAWN))]
    shares = [
        mean(ours[at] - bare[at] for at in each) / max(1e-3, mean(best[at] - bare[at] for at in each)) for each in drawn
    ]
    low, *_, high = sorted(shares[1:])[DRAWN // 40 : -DRAWN // 40]
    return f"{shares[0]:.2f} [{low:.2f}, {high:.2f}]"


class Replayed(Model):
    """Plays a model that rewrites as people did, and says of what nobody rewrote that it stands alone."""

    name = "replayed"

    def __init__(self, rewrites: Mapping[str, str]) -> None:
        self._rewrites = rewrites

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer."""
        yield Text(self._rewrites.get(request.messages[-1].content.rpartition("Last question: ")[2], "ALONE"))
        yield Stopped("stop")


async def rewriting(proof: Proof, folder: Path, step: int) -> None:
    """Measure rewriting on MTRAG-UN, whose answers are no passages: by words, and by a model that plays people."""
    rewrites, documents, cases = written(), public_documents(folder), public_cases(folder)
    ids = [json.loads(line)["conv"] for line in (folder / "mtragun_dev_queries.jsonl").read_text().splitlines()]
    chosen = [(case, rewrites[id]) for case, id in zip(cases, ids, strict=True) if case.history and id in rewrites]
    chosen, changed = chosen[::step], switched(cases)[::step]
    later, best = [case for case, _ in chosen], [Case(text, (), case.gold) for case, text in chosen]
    hybrid, rows, report = HybridIndex.open(), [], proof.report
    played = Replayed({case.question[:1_500]: text for case, text in chosen})
    await hybrid.add(documents)
    for name, index in (("full text", await words_only(documents)), ("hybrid", hybrid)):
        ours = WordsRewriter(index, needs_context)
        alone = await gains(changed, LastTurn(), index)
        for who, rewriter in (("words", ours), ("a model that plays people", ModelRewriter(played, ours, index))):
            for last in (False, True):
                ways = ((later, LastTurn()), (later, rewriter), (best, LastTurn()))
                three = [await gains(cases_, each, index, last=last) for cases_, each in ways]
                title = f"{name}, {who}{', what was quoted comes last' * last}"
                rows.append([title, *(f"{mean(each):.3f}" for each in three), way(*three)])
                if who == "words":
                    share = float(way(*three).partition(" ")[0])
                    what = f"way to a rewrite by reading, {name}{', quoted last' * last}"
                    proof.rows.append(
                        [what, ".03 to .22" if not last else ".16 to .60", way(*three), ".55" if last else ".45"]
                    )
                    report.bar(what, share, at_least=0.55 if last else 0.45)
            kept = await gains(changed, rewriter, index)
            lost = [before - now for before, now in zip(alone, kept, strict=True)]
            proof.hold(f"lost at a change of topic, {name}, {who}", ".05 to .07", lost, at_most=0.01)
    few, ours, local = slice(0, SMALL_SAMPLE), WordsRewriter(hybrid, needs_context), load_local("local")
    with without((model_rewriter, "can_rewrite", lambda _: True)):
        small = ModelRewriter(local, ours, hybrid, patience=60)
        ways = ((later[few], LastTurn()), (later[few], small), (best[few], LastTurn()))
        three = [await gains(cases_, each, hybrid) for cases_, each in ways]
    await local.close()
    words_alone = mean(await gains(later[few], ours, hybrid))
    title = f"hybrid, the small embedded model, the first {SMALL_SAMPLE} (words: {words_alone:.3f})"
    rows.append([title, *(f"{mean(each):.3f}" for each in three), way(*three)])
    columns = ["MTRAG-UN, check half, nDCG@5", "the question alone", "ours", "rewritten by reading", "way"]
    report.table(f"Follow-ups: {len(later)} questions", columns, rows)
    shares = expansion.WEIGHTS
    weights = {f"word: {name}": [(expansion, "WEIGHTS", {**shares, name: 0.0})] for name in shares}
    rules: dict[str, Sequence[tuple[object, str, Any]]] = {
        **weights,
        "places in lists": [(words_rewriter, "meant", lambda *_: ())],
    }
    both = [*later, *changed]

    async def measure(judge: NeedsContext = needs_context) -> list[float]:
        return await gains(both, WordsRewriter(hybrid, judge), hybrid)

    judged = await ablated(report, "Rewriting, after a change of topic too", rules, measure)
    changes = [one - other for one, other in zip(await measure(always), judged, strict=True)]
    report.note(f"words are always added, whatever is judged: {interval(changes)}")
    await hybrid.close()


async def judging(report: Report, folder: Path) -> None:
    """Measure whether a follow-up is seen: English by CAsT, the others by our own questions."""

    def right(cases: Sequence[Judged]) -> list[float]:
        return [follow_up.follow_up(each.question, each.history).needs_context == each.needs_context for each in cases]

    others = [each for name in languages() for each in (*judged_in(name), *turns_in(name, range(1, 7)))]
    sets = {"the others": (in_languages, [each for each in others if is_check(each.question)])}
    if (folder / "cast_2019_2020.jsonl").is_file():
        cast = [each for year in ("19", "20") for each in judged_by_people(folder, year, 3)]
        english = [each for each in cast if is_check(each.history[0].content if each.history else each.question)]
        sets["English"] = (follow_up, english)
    for name, (module, cases) in sets.items():
        rules = {sign: [(module, "WEIGHTS", {**module.WEIGHTS, sign: 0.0})] for sign in module.WEIGHTS}

        async def measure(some: Sequence[Judged] = cases) -> list[float]:
            return right(some)

        await ablated(report, f"Is it a follow-up, {name}, right", rules, measure)


async def guard(proof: Proof, folder: Path) -> None:
    """Measure what is taken of a model's query: rewrites by reading, and the same with a key word swapped for a name,
    in small letters, that nobody said; and people's rewrites of CAsT, for which there are no documents."""
    dice, rewrites, refused, taken = random.Random(3), written(), list[float](), list[float]()
    ids = [json.loads(line)["conv"] for line in (folder / "mtragun_dev_queries.jsonl").read_text().splitlines()]
    index = await words_only(public_documents(folder))

    async def refuses(query: str, case: Case) -> bool:
        said = [message.content for message in case.history]
        return flaw(query, case.question, said) is not None or bool(
            await unknown(query, "\n".join((case.question, *said)), index)
        )

    for case, id in zip(public_cases(folder), ids, strict=True):
        if case.history and id in rewrites:
            words_ = [word for word in rewrites[id].split() if len(word) > 4]
            swapped = rewrites[id].replace(dice.choice(words_ or [""]), dice.choice(FOREIGN).lower())
            refused.append(await refuses(rewrites[id], case))
            taken.append(not await refuses(swapped, case))
    await index.close()
    people = [
        flaw(rewrite, question, [message.content for message in history]) is not None
        for conversation, question, rewrite, history in people_rewrites(folder, "19")
        if is_check(conversation)
    ]
    proof.hold("people's rewrites refused, CAsT 2019", "0 to .02", people, at_most=0.02)
    proof.hold("rewrites by reading refused, MTRAG-UN", "", refused, at_most=0.02)
    proof.hold("a key word swapped for a foreign name, taken", ".74 to .88", taken, at_most=0.2)


async def main() -> None:
    """Run everything that there is data for."""
    parser = argparse.ArgumentParser(description="What each rule of understanding is worth.")
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED, help="public data, see the docs")
    parser.add_argument("--quick", action="store_true", help="a third of the questions")
    chosen = parser.parse_args()
    report, step = Report(sys.stdout), 3 if chosen.quick else 1
    report.title("Understanding, rule by rule")
    proof = Proof(report)
    sizes = {name: lines(folder) for name, folder in PARTS.items()}
    report.table("Lines", [*sizes, "all"], [[*map(str, sizes.values()), str(sum(sizes.values()))]])
    proof.hold("lines of context, text, retrieval and routing", "6,077", [sum(sizes.values())], at_most=MOST_LINES)
    await judging(report, chosen.folder)
    if (chosen.folder / "mtragun_dev_queries.jsonl").is_file():
        await guard(proof, chosen.folder)
        await rewriting(proof, chosen.folder, step)
    else:
        report.note(f"{chosen.folder} has no public data to measure on: only what is shipped was measured")
    await recall(proof, chosen.folder, step)
    report.table("All of it", ["", "before", "now", "goal"], proof.rows)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
