"""Fits how much more words count that open a conversation or a topic: `FIRST` and `OPENING` of retrieval/expansion.py.

Run it with `python -m bench.train_expansion [folder]`. Measured is how many of the words that people put into a
question of TREC CAsT when they rewrite it are among the five that are chosen. The year 2019 is fitted on, in
five parts by conversation, each measured with what fits the others; 2020 is not fitted on, but was looked at while the
signs were chosen.
"""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from bench.followup_cases import people_rewrites, public_documents
from bench.followup_rivals import words_only
from bench.followups import SHARED, needs_context
from bench.report import Report
from threadkeep.conversation.message import Message
from threadkeep.retrieval import expansion
from threadkeep.retrieval.base import Retriever
from threadkeep.retrieval.expansion import candidates, choose, content_stems
from threadkeep.retrieval.words_rewriter import LIMIT, WordsRewriter

GRID = tuple(product((0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 0.2, 0.4, 0.8)))
PARTS = 5


class Missing(NamedTuple):
    """A question, what was said before it, where its topic was opened, and the stems that a person put in."""

    conversation: str
    question: str
    history: tuple[Message, ...]
    opening: int | None
    wanted: frozenset[str]


def cases(folder: Path, year: str, retriever: Retriever) -> list[Missing]:
    """Return the questions that people had to rewrite with words that were said."""
    rewriter, found = WordsRewriter(retriever, needs_context), []
    for conversation, question, rewritten, history in people_rewrites(folder, year):
        said = frozenset[str]().union(*(content_stems(message.content) for message in history))
        if wanted := (content_stems(rewritten) - content_stems(question)) & said:
            found.append(Missing(conversation, question, history, rewriter.opening(history), wanted))
    return found


def shares(some: Sequence[Missing], rarity: Mapping[str, float], first: float, opening: float) -> list[float]:
    """Return for each question how many of the words that were put in are chosen with these coefficients."""
    expansion.FIRST, expansion.OPENING = first, opening
    chosen = (choose(candidates(each.question, each.history, opening=each.opening), rarity, LIMIT) for each in some)
    return [
        len(content_stems(" ".join(words)) & each.wanted) / len(each.wanted)
        for each, words in zip(some, chosen, strict=True)
    ]


async def main() -> None:
    """Fit and measure."""
    parser = argparse.ArgumentParser(description="How much more the words count that open a topic.")
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED, help="public data, see the docs")
    folder, report = parser.parse_args().folder, Report(sys.stdout)
    before = expansion.FIRST, expansion.OPENING
    index = await words_only(public_documents(folder))
    fitted, held = cases(folder, "19", index), cases(folder, "20", index)
    every = {word for each in (*fitted, *held) for word in candidates(each.question, each.history)}
    rarity = {word: min(found, 0.99) for word, found in (await index.rarity(every)).items()}
    measured = {point: shares(fitted, rarity, *point) for point in GRID}
    conversations = sorted({each.conversation for each in fitted})
    crossed = list[float]()
    for part in range(PARTS):
        left = set(conversations[part::PARTS])
        inside = [place for place, each in enumerate(fitted) if each.conversation not in left]
        best = max(GRID, key=lambda point: mean(measured[point][place] for place in inside))
        crossed += [measured[best][place] for place, each in enumerate(fitted) if each.conversation in left]
    best = max(GRID, key=lambda point: mean(measured[point]))
    points = {"without": (0.0, 0.0), f"fitted: {best}": best, f"in the code: {before}": before}
    rows = [
        [name, f"{mean(shares(fitted, rarity, *point)):.3f}", f"{mean(shares(held, rarity, *point)):.3f}"]
        for name, point in points.items()
    ]
    rows.append(["fitted, cross-validated", f"{mean(crossed):.3f}", ""])
    report.table("Words that people put in, among the five chosen", ["", "CAsT 2019", "CAsT 2020"], rows)
    await index.close()


if __name__ == "__main__":
    asyncio.run(main())
