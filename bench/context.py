"""What it takes to gather a context: reading the branch, measuring it and writing down what the model sees.

python -m bench.context             all of it
python -m bench.context --quick     a short run

The first turn after a start knows nothing; the turns after it may use what the one before has read and measured.
"""

import argparse
import asyncio
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from types import FrameType
from typing import Any
from unittest.mock import patch

from bench.report import Report
from bench.texts import turns
from bench.turn import InstantModel
from threadkeep.context.base import Context, Policy, Window
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_conversations
from threadkeep.store.values import Append
from threadkeep.turn import engine
from threadkeep.turn.assistant import Assistant
from threadkeep.turn.steps.gather_context import gather_context

ASSISTANT = Assistant(name="bench", instructions="Be brief.", policy=Policy(window=Window.FULL))


class Stopwatch:
    """Stands in for `gather_context` and notes how long each call of it took, in milliseconds."""

    def __init__(self, gather: Callable[..., Any]) -> None:
        self._gather = gather
        self.taken: list[float] = []

    async def __call__(self, *args: Any, **options: Any) -> Context:
        """Gather the context."""
        started = time.perf_counter()
        context: Context = await self._gather(*args, **options)
        self.taken.append((time.perf_counter() - started) * 1e3)
        return context


async def gathered(place: Path, length: int, times: int) -> list[float]:
    """Return how long it took to gather the context of each of some turns after so many messages, in milliseconds."""
    conversations = await open_conversations(f"sqlite:///{place}", [ASSISTANT], model=InstantModel())
    chat = await conversations.create()
    source = turns(length)
    for _ in range(length // 2):
        said = [message.model_copy(update={"tokens": count_tokens(message)}) for message in next(source)]
        await conversations._store.append(LOCAL, chat.id, Append(bodies=tuple(said)))
    await conversations.close()
    conversations = await open_conversations(f"sqlite:///{place}", [ASSISTANT], model=InstantModel())
    chat, watch = await conversations.get(chat.id), Stopwatch(gather_context)
    with patch.object(engine, "gather_context", watch):
        for _ in range(times + 1):
            await (await chat.send("Go on.")).answer()
    await conversations.close()
    return watch.taken


async def called(place: Path) -> Counter[str]:
    """Return how often each function of `context/` is called in the third turn of a conversation."""
    conversations = await open_conversations(f"sqlite:///{place}", [ASSISTANT], model=InstantModel())
    chat, calls = await conversations.create(), Counter[str]()
    for _ in range(2):
        await (await chat.send("Go on.")).answer()

    def note(frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if event == "call" and "threadkeep/context/" in code.co_filename:
            calls[f"{Path(code.co_filename).stem}.{code.co_qualname}"] += 1

    sys.setprofile(note)
    try:
        await (await chat.send("Go on.")).answer()
    finally:
        sys.setprofile(None)
        await conversations.close()
    return calls


async def main() -> None:
    """Measure contexts on SQLite."""
    parser = argparse.ArgumentParser(prog="bench.context", description="What it takes to gather a context.")
    parser.add_argument("--quick", action="store_true", help="a short run")
    times = 15 if parser.parse_args().quick else 60
    report = Report(sys.stdout)
    report.title("Gathering a context, on SQLite")
    folder = Path(mkdtemp(prefix="threadkeep-bench-"))
    try:
        rows = []
        for length in (10, 200, 1_000):
            first, *later = await gathered(folder / f"{length}.db", length, times)
            rows.append([f"{length}", f"{first:.2f}", f"{median(later):.2f}"])
        report.table(f"Median of {times} turns", ["messages", "first turn after a start, ms", "later turns, ms"], rows)
        calls = await called(folder / "calls.db")
        report.note(f"five messages: {len(calls)} functions of context/ are called, {calls.total()} calls")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
