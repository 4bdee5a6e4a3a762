"""Fits what the signs of a word count: `WEIGHTS` and `RARITY_WEIGHT` of threadkeep_retrieval/expansion.py.

Run it with `python -m bench.train_expansion [folder]`. A word is wanted if a person put it in when rewriting a question
of TREC CAsT; or, in MTRAG-UN, which has no rewrites, if the passages that answer a question have it and those that the
question alone finds do not. The weights make wanted words likely among all that were said (a softmax each).
Measured is what was not fitted on: the other year, the other data set, or another fifth of the conversations.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.followup_cases import Case, people_rewrites, public_cases, public_documents
from bench.followup_rivals import words_only
from bench.followups import OURS, SHARED, needs_context, score, ways
from bench.report import Report
from threadkeep.conversation.message import Message
from threadkeep_retrieval import expansion
from threadkeep_retrieval.base import Document, Query, Retriever
from threadkeep_retrieval.expansion import content_stems, said_before
from threadkeep_retrieval.hybrid import HybridIndex
from threadkeep_retrieval.words_rewriter import LIMIT, WordsRewriter

PARTS = 5
STEPS = 400
PENALTY = 0.02
ALONE_FINDS = 20
MOST_WANTED = 8

Numbers = npt.NDArray[np.float64]


class Choice(NamedTuple):
    """The words said before a question: a row of signs for each, the logarithm of its rarity, and how wanted it is."""

    conversation: str
    signs: Numbers
    rarity: Numbers
    wanted: Numbers


async def choice(
    question: str, history: Sequence[Message], retriever: Retriever, wanted: dict[str, float], conversation: str
) -> Choice | None:
    """Return what could be chosen for a question; None if nothing that is wanted was said."""
    said = said_before(history, WordsRewriter(retriever, needs_context).opening(history))
    keys = [key for key in said if key not in content_stems(question)]
    if not any(wanted.get(key) for key in keys):
        return None
    rare = await retriever.rarity([said[key].written for key in keys])
    rarity = np.clip([rare[said[key].written] for key in keys], 0.02, 0.99)
    signs = np.array([[*said[key].signs.values(), value] for key, value in zip(keys, rarity, strict=True)])
    return Choice(conversation, signs, np.log(rarity), np.array([wanted.get(key, 0.0) for key in keys]))


async def people_choices(folder: Path, year: str, retriever: Retriever) -> list[Choice]:
    """Return the questions of a year that people rewrote."""
    found = []
    for conversation, question, rewritten, history in people_rewrites(folder, year):
        found.append(
            await choice(question, history, retriever, dict.fromkeys(content_stems(rewritten), 1.0), conversation)
        )
    return [each for each in found if each is not None]


async def finding_choice(case: Case, documents: dict[str, frozenset[str]], index: Retriever) -> Choice | None:
    """Return a question of MTRAG-UN with the words that find what answers it, and not what it finds alone."""
    gold = [documents[id] for id in case.gold]
    alone = await index.search(Query(text=case.question), limit=ALONE_FINDS)
    other = [documents[passage.id] for passage in alone if passage.id not in case.gold]
    stems = frozenset[str]().union(*gold)
    rarity = await index.rarity(stems)
    gain = {
        key: (mean(key in each for each in gold) - mean([key in each for each in other] or [0])) * rarity[key]
        for key in stems
    }
    best = sorted(gain, key=lambda key: -gain[key])
    said = frozenset[str]().union(*(content_stems(message.content) for message in case.history))
    wanted = {key: gain[key] for key in [key for key in best if key in said and gain[key] > 0][:MOST_WANTED]}
    return await choice(case.question, case.history, index, wanted, case.question)


def fit(choices: Sequence[Choice]) -> Numbers:
    """Return the weights under which wanted words are most likely, by gradient descent with momentum (Adam)."""
    weights = np.zeros(choices[0].signs.shape[1])
    speed, spread = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = PENALTY * weights
        for each in choices:
            worth = each.signs @ weights + each.rarity
            likely = np.exp(worth - worth.max())
            slope = slope + each.signs.T @ (likely / likely.sum() - each.wanted / each.wanted.sum()) / len(choices)
        speed, spread = 0.9 * speed + 0.1 * slope, 0.99 * spread + 0.01 * slope**2
        weights = weights - 0.05 * (speed / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.99**step)) + 1e-8)
    return weights


def share(choices: Sequence[Choice], weights: Numbers) -> float:
    """Return how much of what is wanted is among the words chosen with these weights."""
    best = ((each, np.argsort(-(each.signs @ weights + each.rarity))[:LIMIT]) for each in choices)
    return mean(float(each.wanted[chosen].sum() / each.wanted.sum()) for each, chosen in best)


def use(weights: Numbers) -> None:
    """Let the product choose words with these weights."""
    expansion.WEIGHTS = dict(zip(expansion.WEIGHTS, map(float, weights[:-1]), strict=True))
    expansion.RARITY_WEIGHT = float(weights[-1])


async def found_with(weights: Numbers, cases: Sequence[Case], sides: Sequence[Retriever]) -> list[float]:
    """Return nDCG@5 with these weights, for each index."""
    use(weights)
    return [(await score(cases, ways(side)[OURS], side)).ndcg * len(cases) for side in sides]


async def main() -> None:
    """Fit and measure."""
    parser = argparse.ArgumentParser(description="What the signs of a word count.")
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED, help="public data, see the docs")
    folder, report = parser.parse_args().folder, Report(sys.stdout)
    shipped = np.array([*expansion.WEIGHTS.values(), expansion.RARITY_WEIGHT])
    documents: Sequence[Document] = public_documents(folder)
    sides = [await words_only(documents), HybridIndex.open()]
    await sides[1].add(documents)
    stems = {document.id: content_stems(document.text) for document in documents}
    cases = [case for case in public_cases(folder) if case.history]
    finding = {case.question: await finding_choice(case, stems, sides[1]) for case in cases}
    mtrag = [each for each in finding.values() if each is not None]
    early, late = [await people_choices(folder, year, sides[1]) for year in ("19", "20")]
    crossed = np.zeros(2)
    for part in range(PARTS):
        left = cases[part::PARTS]
        outside = [each for each in mtrag if each.conversation not in {case.question for case in left}]
        crossed += await found_with(fit([*outside, *early, *late]), left, sides)
    rows = [["both, cross-validated by conversation", *(f"{each:.3f}" for each in crossed / len(cases)), "", ""]]
    fitted = {"CAsT": fit([*early, *late]), "MTRAG-UN": fit(mtrag), "MTRAG-UN and CAsT 2019": fit([*mtrag, *early])}
    fitted |= {"MTRAG-UN and CAsT 2020": fit([*mtrag, *late]), "all": fit([*mtrag, *early, *late]), "the code": shipped}
    for name, weights in fitted.items():
        gains = [f"{each / len(cases):.3f}" for each in await found_with(weights, cases, sides)]
        rows.append([name, *gains, f"{share(early, weights):.3f}", f"{share(late, weights):.3f}"])
    columns = ["fitted on", "MTRAG-UN, full text", "hybrid", "CAsT 2019, words", "CAsT 2020, words"]
    report.table("nDCG@5, and how many of the words that people put in are chosen", columns, rows)
    names = (*expansion.WEIGHTS, "rarity")
    report.note("all: " + ", ".join(f"{name} {each:.2f}" for name, each in zip(names, fitted["all"], strict=True)))
    for side in sides:
        await side.close()


if __name__ == "__main__":
    asyncio.run(main())
