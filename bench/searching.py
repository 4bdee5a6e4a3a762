"""What a search costs, beside a bare query of a full-text index over the same messages in the same run.

    python -m bench.searching            1,000,000 messages
    python -m bench.searching --quick    50,000 messages

The bare query is what somebody would write who has nothing but SQLite: a table of messages, an FTS5 index of it, and
for a search the 20 best by `rank` with their snippets. Ours knows users, branches and titles besides. Both look for the
same one or two words, taken from the messages, and take turns.
"""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

import apsw

from bench.report import Report
from bench.texts import chat_text, turns
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.text.words import words

IN_ONE = 1000
SEARCHES = 300
_BARE = """
CREATE TABLE message (id INTEGER PRIMARY KEY, conversation INTEGER, role TEXT, content TEXT);
CREATE VIRTUAL TABLE word USING fts5 (content, content = message, content_rowid = id);
"""
_QUERY = (
    "SELECT m.id, m.conversation, m.role, snippet(word, 0, '<', '>', '…', 30) FROM word JOIN message m "
    "ON m.id = word.rowid WHERE word MATCH ? ORDER BY rank LIMIT 20"
)


async def fill(store: Store, bare: apsw.Connection, messages: int) -> None:
    """Store the same conversations of a thousand messages on both sides, and wait until ours are indexed."""
    source = turns(count=20_000)
    for number in range(messages // IN_ONE):
        await store.create(LOCAL, NewConversation(id=f"c{number}", title=f"Conversation {number}"))
        with bare:
            for _ in range(IN_ONE // 100):
                bodies = tuple(message for turn in islice(source, 50) for message in turn)
                await store.append(LOCAL, f"c{number}", Append(bodies=bodies))
                bare.executemany(
                    "INSERT INTO message (conversation, role, content) VALUES (?, ?, ?)",
                    [(number, message.role, message.content) for message in bodies],
                )
    bare.execute("INSERT INTO word (word) VALUES ('rebuild')")


def searches(count: int) -> list[str]:
    """Return searches of one or two words, common and rare as they are in the text."""
    dice, known = random.Random(7), chat_text().split()
    found: list[str] = []
    while len(found) < count:
        terms = [term for text in dice.sample(known, 1 + len(found) % 2) for term in sorted(words(text))[:1]]
        if terms and all(term.isascii() and term.isalpha() and len(term) > 2 for term in terms):
            found.append(" ".join(terms) + " ")
    return found


async def measure_searches(report: Report, folder: Path, messages: int) -> None:
    """Measure the same searches on both sides."""
    url = f"sqlite:///{folder}/ours.db"
    store, bare = await open_store(url), apsw.Connection(f"{folder}/bare.db")
    bare.execute(_BARE)
    await fill(store, bare, messages)
    await store.close()  # what opens next catches up with the log first
    store = await open_store(url)
    await store.search(LOCAL, "otter ")
    taken: dict[str, list[float]] = {"ours": [], "bare index query": []}
    hits = 0
    for text in searches(SEARCHES):
        started = time.process_time()
        hits += bool((await store.search(LOCAL, text)).items)
        middle = time.process_time()
        list(bare.execute(_QUERY, (text,)))
        taken["ours"].append(middle - started)
        taken["bare index query"].append(time.process_time() - middle)
    await store.close()
    bare.close()
    rows = [[name, *(f"{at * 1000:.2f}" for at in _percentiles(times))] for name, times in taken.items()]
    report.table(f"a search over {messages:,} messages, ms of processor time, SQLite", ("", "p50", "p99"), rows)
    report.note(f"{SEARCHES} searches, {hits} found something")
    ours, theirs = (_percentiles(times) for times in taken.values())
    for name, mine, other in zip(("median", "99th percentile"), ours, theirs, strict=True):
        report.bar(f"{name} of a search, of a bare index query", mine / other, at_most=2.5)


def _percentiles(times: Sequence[float]) -> tuple[float, float]:
    found = quantiles(times, n=100)
    return found[49], found[98]


async def main(messages: int) -> None:
    """Run the benchmark."""
    report = Report(sys.stdout)
    report.title("Keeping: search")
    with TemporaryDirectory() as folder:
        await measure_searches(report, Path(folder), messages)
    report.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="a search beside a bare index query")
    parser.add_argument("--quick", action="store_true", help="50,000 messages instead of 1,000,000")
    asyncio.run(main(50_000 if parser.parse_args().quick else 1_000_000))
