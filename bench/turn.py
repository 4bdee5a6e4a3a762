"""What the engine adds to a model that answers at once, beside the bare store calls of the same turn.

python -m bench.turn             all of it
python -m bench.turn --quick     a short run
"""

import argparse
import asyncio
import shutil
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import mkdtemp

from bench.report import Report
from bench.stopwatch import race
from bench.texts import turns
from threadkeep.context.base import Policy, Window
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.events import TextDelta
from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.llm.base import Delta, Model, Request, Stopped, Text, Used
from threadkeep.runtime import open_conversations
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Begin
from threadkeep.turn.assistant import Assistant

TOKENS = 200
ASSISTANT = Assistant(name="bench", policy=Policy(window=Window.NEWEST, size=20, recall=False))


class InstantModel(Model):
    """Says two hundred words without waiting for anything; `gate` holds it back after the first half, if it is set."""

    name = "instant"
    is_scripted = True

    def __init__(self) -> None:
        self.gate: asyncio.Event | None = None
        self.halfway = asyncio.Semaphore(0)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer."""
        for word in range(TOKENS):
            yield Text(f"word{word} ")
            if word == TOKENS // 2 and self.gate is not None:
                self.halfway.release()
                await self.gate.wait()
        yield Used(Usage(input_tokens=10, output_tokens=TOKENS))
        yield Stopped("stop")


async def first_and_last(chat: ConversationHandle) -> tuple[float, float]:
    """Send a message; return the seconds until the first text and until the end of the turn arrive at a reader."""
    started = time.perf_counter()
    first = 0.0
    turn = await chat.send("How long does this take?")
    async for event in turn.events():
        if isinstance(event.what, TextDelta) and not first:
            first = time.perf_counter() - started
    return first, time.perf_counter() - started


async def bare_turn(store: Store, conversation: str) -> None:
    """The store calls of one turn and nothing else: begin, one write of text, the answer and the end."""
    begin = Begin(message=Message(role=Role.USER, content="How long?"), owner="bench", lease_for=timedelta(seconds=10))
    begun = await store.begin(LOCAL, conversation, begin)
    answer = Message(role=Role.ASSISTANT, content="word " * TOKENS)
    if begun.lease is not None:
        await store.write(begun.lease, answer.id, 0, answer.content)
        done = TurnChange(state=TurnState.COMPLETED)
        await store.append(LOCAL, conversation, Append(bodies=(answer,), lease=begun.lease, settle=done))


async def measure_latency(conversations: Conversations, report: Report, times: int) -> None:
    """Time to the first token and to the end."""
    chat = await conversations.create()
    bare = (await conversations.create()).id
    plain = (await conversations.create()).id
    source = turns()
    firsts, lasts, bares, appends = [], [], [], []
    for _ in range(times):
        first, last = await first_and_last(chat)
        firsts.append(first)
        lasts.append(last)
        started = time.perf_counter()
        await bare_turn(conversations._store, bare)
        bares.append(time.perf_counter() - started)
        started = time.perf_counter()
        await conversations._store.append(LOCAL, plain, Append(bodies=next(source)[:1]))
        appends.append(time.perf_counter() - started)
    append = median(appends)
    report.table(
        "One turn, median of " + str(times),
        ["", "us", "x one durable append"],
        [
            [name, f"{median(values) * 1e6:.0f}", f"{median(values) / append:.1f}"]
            for name, values in (
                ("one durable append", appends),
                ("bare store calls of a turn", bares),
                ("engine: first token", firsts),
                (f"engine: whole turn of {TOKENS} tokens", lasts),
            )
        ],
    )
    report.bar("first token / one durable append", median(firsts) / append, at_most=3)


async def measure_history(conversations: Conversations, report: Report, lengths: tuple[int, ...], rounds: int) -> None:
    """The cost of a turn with different lengths of history and a window of 20."""
    chats = {}
    for length in lengths:
        chat = await conversations.create()
        source = turns(length)
        for _ in range(length // 2):
            await conversations._store.append(LOCAL, chat.id, Append(bodies=next(source)))
        chats[f"{length}"] = chat
    acts = {name: (lambda chat=chat: first_and_last(chat)) for name, chat in chats.items()}
    took = await race(acts, rounds=rounds, acts=5)
    report.table(
        "A whole turn by the messages before it",
        ["messages", "us"],
        [[name, f"{timing.median:.0f}"] for name, timing in took.items()],
    )
    values = [timing.median for timing in took.values()]
    report.bar("a turn after the longest history / after the shortest", values[-1] / values[0], at_most=1.3)


async def measure_rate(conversations: Conversations, report: Report, widths: tuple[int, ...], total: int) -> None:
    """Turns a second with many at a time."""
    rows = []
    for width in widths:
        chats = [await conversations.create() for _ in range(width)]
        started = time.perf_counter()
        rounds = max(1, total // width)
        await asyncio.gather(*(_talk(chat, rounds) for chat in chats))
        rows.append([f"{width}", f"{width * rounds / (time.perf_counter() - started):.0f}"])
    report.table(f"Turns of {TOKENS} tokens a second", ["at a time", "turns/s"], rows)


async def _talk(chat: ConversationHandle, rounds: int) -> None:
    for _ in range(rounds):
        await (await chat.send("Go on.")).answer()


async def measure_memory(conversations: Conversations, model: InstantModel, report: Report, width: int) -> None:
    """Memory that one running turn holds."""
    chats = [await conversations.create() for _ in range(width)]
    await _talk(chats[0], 1)
    model.gate = asyncio.Event()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    sent = [await chat.send("Wait for me.") for chat in chats]
    for _ in range(width):
        await model.halfway.acquire()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    model.gate.set()
    await asyncio.gather(*(turn.answer() for turn in sent))
    model.gate = None
    report.bar(f"KiB for each of {width} running turns", held / width / 1024, at_most=60)


async def main() -> None:
    """Measure the engine on SQLite."""
    parser = argparse.ArgumentParser(prog="bench.turn", description="What the engine adds to the model and the store.")
    parser.add_argument("--quick", action="store_true", help="a short run")
    quick = parser.parse_args().quick
    report = Report(sys.stdout)
    report.title("The engine on SQLite, with a model that answers at once")
    folder, model = Path(mkdtemp(prefix="threadkeep-bench-")), InstantModel()
    try:
        conversations = await open_conversations(f"sqlite:///{folder / 'turn.db'}", [ASSISTANT], model=model)
        await conversations._store.create(LOCAL, NewConversation(id="warm"))
        await measure_latency(conversations, report, 50 if quick else 300)
        await measure_history(
            conversations, report, (10, 100, 1_000) if quick else (10, 100, 1_000, 10_000), 5 if quick else 30
        )
        await measure_rate(conversations, report, (1, 32, 256), 256 if quick else 1024)
        await measure_memory(conversations, model, report, 256)
        await conversations.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
