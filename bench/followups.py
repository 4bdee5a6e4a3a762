"""How well follow-ups are understood: what is found for the newest question of a conversation, by several ways to ask.

Run it with `python -m bench.followups [--quick] [folder]`. The folder holds public data to develop on, which is not
shipped (`../shared/data/followups` by default); where it is missing, only our own conversations are measured.
"""

import argparse
import asyncio
import math
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from bench.followup_cases import (
    FITTED_PARTS,
    NEW_PARTS,
    Case,
    Judged,
    judged_by_people,
    judged_in,
    languages,
    own_cases,
    own_documents,
    own_judged,
    people_rewrites,
    public_cases,
    public_documents,
    switched,
    translated,
    turns_in,
)
from bench.followup_rivals import AllTurns, KeywordGate, LastTurn, RarestWords, VectorsOnly, words_only
from bench.keyword_list import mentions_reference
from bench.report import Report
from threadkeep.conversation.message import Message
from threadkeep_retrieval.base import Document, Query, Retriever, Rewriter
from threadkeep_retrieval.hybrid import HybridIndex
from threadkeep_retrieval.model_rewriter import flaw
from threadkeep_retrieval.routing.follow_up import follow_up
from threadkeep_retrieval.words_rewriter import WordsRewriter

SHARED = Path("../shared/data/followups")
LIMIT = 5
READ = 10
"""How many passages are asked for: a long document may be found by several of its passages."""
OURS = "ours, words"
MADE_UP = ("Zanzibar", "Kowalski", "4711")
"""What nobody said in the public conversations."""


class Score(NamedTuple):
    """What a way of asking found, and how long a turn took."""

    ndcg: float
    recall: float
    milliseconds: float


class Sides(NamedTuple):
    """The three indexes of the same documents."""

    words: Retriever
    vectors: Retriever
    hybrid: HybridIndex


def needs_context(question: str, history: Sequence[Message]) -> tuple[bool, str]:
    """Judge as the product does."""
    judged = follow_up(question, history)
    return judged.needs_context, judged.why


def ways(retriever: Retriever) -> dict[str, Rewriter]:
    """Return the ways to ask."""
    return {
        "last turn only": LastTurn(),
        "all user turns joined": AllTurns(),
        "last turn + 6 rarest words": RarestWords(retriever),
        "the same, by the keyword list": KeywordGate(retriever),
        OURS: WordsRewriter(retriever, needs_context),
    }


async def score(cases: Sequence[Case], rewriter: Rewriter, retriever: Retriever) -> Score:
    """Ask all questions in one way."""
    gains, recalls, times = [], [], []
    for case in cases:
        started = time.perf_counter()
        rewrite = await rewriter.rewrite(case.question, case.history)
        passages = await retriever.search(Query(text=rewrite.text, words=rewrite.words), limit=READ)
        times.append(time.perf_counter() - started)
        found = list(dict.fromkeys(passage.id for passage in passages))[:LIMIT]
        gains.append(ndcg(found, case.gold))
        recalls.append(len(case.gold.intersection(found)) / len(case.gold))
    return Score(mean(gains), mean(recalls), median(times) * 1000)


def ndcg(found: Sequence[str], gold: frozenset[str]) -> float:
    """Return how good a ranking is, from 0 to 1; the first place counts most."""
    best = sum(1 / math.log2(place + 2) for place in range(min(LIMIT, len(gold))))
    return sum(1 / math.log2(place + 2) for place, id in enumerate(found) if id in gold) / best


async def open_sides(documents: Sequence[Document]) -> Sides:
    """Index documents three times."""
    hybrid = HybridIndex.open()
    await hybrid.add(documents)
    vectors = VectorsOnly(documents, hybrid)
    await vectors.load()
    return Sides(await words_only(documents), vectors, hybrid)


async def compare(report: Report, title: str, cases: Sequence[Case], sides: Sides) -> dict[str, Score]:
    """Show every way with every index; return what each reached with the hybrid one."""
    rows, hybrid = [], {}
    for name in ways(sides.hybrid):
        scores = [await score(cases, ways(side)[name], side) for side in sides]
        hybrid[name] = scores[-1]
        cells = [f"{found.ndcg:.3f} / {found.recall:.3f}" for found in scores]
        rows.append([name, *cells, f"{scores[-1].milliseconds:.1f}"])
    columns = ["query", "full text", "vectors", "hybrid", "ms a turn (hybrid)"]
    report.table(f"{title}: {len(cases)} questions, nDCG@5 / recall@5", columns, rows)
    return hybrid


Judges = Callable[[Judged], bool]
JUDGES: Mapping[str, Judges] = {
    "always yes": lambda _: True,
    "the keyword list": lambda case: mentions_reference(case.question),
    "ours": lambda case: follow_up(case.question, case.history).needs_context,
}


def accuracies(judges_so: Judges, questions: Sequence[Judged]) -> tuple[float, float, float]:
    """Return how often a judge is right where context is needed, where it is not, and the mean of both."""
    needed = mean(judges_so(case) for case in questions if case.needs_context)
    alone = mean(not judges_so(case) for case in questions if not case.needs_context)
    return needed, alone, (needed + alone) / 2


def judge(report: Report, title: str, questions: Sequence[Judged]) -> float:
    """Show how well the need for context is seen; return our balanced accuracy."""
    found = {name: accuracies(judges_so, questions) for name, judges_so in JUDGES.items()}
    rows = [[name, *(f"{value:.3f}" for value in values)] for name, values in found.items()]
    columns = ["judge", "seen where needed", "left alone where not", "balanced accuracy"]
    report.table(f"{title}: {len(questions)} questions", columns, rows)
    return found["ours"][-1]


def judge_languages(report: Report) -> None:
    """Show the same for the other languages, by what is known of the questions."""
    rows, ours = [], []
    for language in languages():
        sets = judged_in(language), turns_in(language, FITTED_PARTS), turns_in(language, NEW_PARTS)
        found = [accuracies(JUDGES["ours"], questions)[-1] for questions in sets]
        listed = accuracies(JUDGES["the keyword list"], [case for questions in sets for case in questions])[-1]
        rows.append([language, f"{listed:.2f}", *(f"{value:.2f}" for value in found)])
        ours.append(accuracies(JUDGES["ours"], [case for questions in sets for case in questions])[-1])
    columns = ["language", "the keyword list, all", "ours: lists corrected", "weights fitted", "neither"]
    report.table("Needs context, other languages, balanced accuracy", columns, rows)
    report.bar("balanced accuracy, the worst of the languages, all questions", min(ours), at_least=0.8)


async def measure_own(report: Report) -> None:
    """Measure our own conversations."""
    cases, sides = own_cases(), await open_sides(own_documents())
    ours = (await compare(report, "Our own conversations", cases, sides))[OURS]
    for kind in sorted({case.kind for case in cases}):
        some = [case for case in cases if case.kind == kind]
        last = await score(some, LastTurn(), sides.hybrid)
        found = await score(some, ways(sides.hybrid)[OURS], sides.hybrid)
        report.note(f"{kind}, {len(some)}: nDCG@5 {found.ndcg:.3f} (last turn only {last.ndcg:.3f})")
    judge(report, "Needs context, our own", own_judged())
    judge_languages(report)
    report.bar("our own conversations, recall@5", ours.recall, at_least=0.9)
    await sides.hybrid.close()


async def measure_translated(report: Report) -> None:
    """Measure the same conversations in twelve languages: ours may find no less than the last turn alone."""
    parts = translated()
    sides = await open_sides([document for _, documents in parts.values() for document in documents])
    rows, lost = [], []
    for language, (cases, _) in parts.items():
        cells = []
        for side in (sides.words, sides.hybrid):
            for kind in ("follow-up", "switch"):
                some = [case for case in cases if case.kind == kind]
                last, ours = await score(some, LastTurn(), side), await score(some, ways(side)[OURS], side)
                cells.append(f"{last.ndcg:.2f} / {ours.ndcg:.2f}")
                lost.append(last.ndcg - ours.ndcg)
        rows.append([language, *cells])
    columns = ["language", "full text, follow-ups", "switches", "hybrid, follow-ups", "switches"]
    report.table("Twelve languages, 10 questions each, nDCG@5: last turn / ours", columns, rows)
    report.bar("lost against the last turn, the worst of the languages", max(lost), at_most=0.0)
    await sides.hybrid.close()


async def measure_public(report: Report, folder: Path, quick: bool) -> None:
    """Measure the public data."""
    cases, sides = public_cases(folder), await open_sides(public_documents(folder))
    later, changed = [case for case in cases if case.history], switched(cases)
    if quick:
        later, changed = later[::6], changed[::6]
    found = await compare(report, "MTRAG-UN, questions with a history", later, sides)
    await compare(report, "MTRAG-UN, first questions after a foreign history", changed, sides)
    balanced = {}
    for year, switches in (("19", 1), ("20", 1), ("19", 3), ("20", 3)):
        title = f"Needs a rewrite, CAsT 20{year}, {switches} switches of topic for each conversation"
        balanced[year, switches] = judge(report, title, judged_by_people(folder, year, switches))
    report.bar("MTRAG-UN, nDCG@5, hybrid", found[OURS].ndcg, at_least=0.82)
    for name, side in (("full text", sides.words), ("hybrid", sides.hybrid)):
        kept = await score(changed, LastTurn(), side), await score(changed, ways(side)[OURS], side)
        report.bar(f"lost after a switch of topic, {name}", kept[0].ndcg - kept[1].ndcg, at_most=0.01)
    report.bar("balanced accuracy, the worst of the four", min(balanced.values()), at_least=0.8)
    report.bar("milliseconds a turn, median: judge, rewrite, search", found[OURS].milliseconds, at_most=20)
    await sides.hybrid.close()


def measure_guard(report: Report, folder: Path) -> None:
    """Measure what is taken of a model's queries: those of people should be, and none of another conversation,
    nor one with a name or a number that nobody said."""
    chance, rows, refused = random.Random(3), [], []
    for year in ("19", "20"):
        own, foreign, made_up, rewrites = [], [], [], people_rewrites(folder, year)
        for conversation, question, rewrite, history in rewrites:
            said = [message.content for message in history]
            words = rewrite.split()
            at = chance.randrange(1, len(words)) if len(words) > 1 else 1
            for name in MADE_UP:
                made_up.append(flaw(" ".join([*words[:at], name, *words[at:]]), question, said) is not None)
            other = chance.choice([each for name, _, each, _ in rewrites if name != conversation])
            own.append(flaw(rewrite, question, said) is not None)
            foreign.append(flaw(other, question, said) is not None)
        rows.append([f"20{year}", *(f"{mean(each):.3f}" for each in (own, foreign, made_up))])
        refused.append(mean(made_up))
    columns = ["CAsT", "people's rewrites refused", "those of another conversation", "with something made up"]
    report.table("Guard of a model's query; answers, which people took names from in 2020, are missing", columns, rows)
    report.bar("rewrites with a name or a number that nobody said refused", min(refused), at_least=0.98)


async def main() -> None:
    """Run everything that there is data for."""
    parser = argparse.ArgumentParser(description="How well follow-ups are understood.")
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED, help="public data, see the docs")
    parser.add_argument("--quick", action="store_true", help="a small sample of the public data")
    chosen = parser.parse_args()
    report = Report(sys.stdout)
    report.title("Follow-ups, without a model")
    await measure_own(report)
    await measure_translated(report)
    if (chosen.folder / "mtragun_dev_queries.jsonl").is_file():
        await measure_public(report, chosen.folder, chosen.quick)
        measure_guard(report, chosen.folder)
    else:
        report.note(f"{chosen.folder} has no public data to measure on: only our own conversations were measured")
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
