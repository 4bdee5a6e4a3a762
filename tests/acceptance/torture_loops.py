"""Kills processes in which a loop of one's own runs a turn: `python -m tests.acceptance.torture_loops`.

The process dies by its own hand before and after every write of the store, one after the other, until it survives. Then
either its turn is recovered, and must end as interrupted without a word of our model, or the same code runs again and
must end it as completed. Ends with 1 if a promise was broken.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import aclosing
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

import threadkeep
from tests.acceptance.child import fork, in_child
from tests.told import data_of, name_of
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.message import Message, MessageStatus
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.loop_turn import LoopTurn, TurnOver
from threadkeep.testing.scripted_model import ScriptedModel
from threadkeep.testing.stores import whole_log

PATIENCE = 60.0
WRITES = ("create", "begin", "write", "append", "take")
QUESTION, ANSWER = "How warm is it?", "It is four degrees, and it will be colder."
KILLED = 77


async def loop(turn: LoopTurn, say: Any) -> None:
    """Run a turn as somebody's own code would, and say what was acknowledged."""
    say({"begun": turn.number})
    if "w1" not in {call for call, _ in await _calls(turn)}:
        await turn.reasoning("I must look.")
        await turn.text("I look.")
        await turn.call("weather", id="w1")
        say({"called": "w1"})
    await turn.result("w1", "4")
    say({"returned": "w1"})
    for word in ANSWER.split(" "):
        await turn.text(word if word == "It" else f" {word}")
        await asyncio.sleep(0)
    await turn.complete()
    say({"completed": True})


async def _calls(turn: LoopTurn) -> list[tuple[str, str]]:
    active = turn.active  # type: ignore[attr-defined]
    return [(call.id, call.name) for e in active.entries if isinstance(e.body, Message) for call in e.body.tool_calls]


async def play(url: str, death: int, out: int) -> None:
    """Begin the turn and run the loop; die at one of the writes (0: none)."""

    def say(what: dict[str, Any]) -> None:
        os.write(out, json.dumps(what).encode() + b"\n")

    async with asyncio.timeout(PATIENCE), threadkeep.open(url, model=ScriptedModel()) as conversations:
        _die_at(death, conversations._store)
        chat = await conversations.get_or_create("chat")
        reading = asyncio.create_task(_read(chat, say))
        async with chat.turn(QUESTION, id="run-1") as turn:
            await loop(turn, say)
        reading.cancel()


async def _read(chat: ConversationHandle, say: Any) -> None:
    async with aclosing(chat.follow(Cursor())) as events:
        async for event in events:
            if name_of(event) == "text.delta":
                say({"shown": data_of(event)})


def _die_at(death: int, store: Any) -> None:
    steps = count(1)

    def watched(verb: Any) -> Any:
        @wraps(verb)
        async def step(*args: Any, **kwargs: Any) -> Any:
            if next(steps) == death:
                os._exit(KILLED)
            answer = await verb(*args, **kwargs)
            if next(steps) == death:
                os._exit(KILLED)
            return answer

        return step

    for name in WRITES:
        setattr(store, name, watched(getattr(store, name)))


def _broken(lines: list[dict[str, Any]], entries: Any, *, again: bool) -> Iterator[str]:
    said = [entry.body for entry in entries if isinstance(entry.body, Message)]
    changes = [entry.body for entry in entries if isinstance(entry.body, TurnChange)]
    texts = {message.id: message.content for message in said}
    if [entry.seq for entry in entries] != list(range(1, len(entries) + 1)):
        yield "gaps in the log"
    if sum(message.content == QUESTION for message in said) != bool(changes):
        yield "the question is not there once"
    shown: dict[str, str] = {}
    for line in lines:
        if "shown" in line:
            id = line["shown"]["message"]
            shown[id] = text = shown.get(id, "") + line["shown"]["text"]
            if not texts.get(id, "").startswith(text):
                yield f"{text!r} was shown and is not in the log"
    calls = [call.id for message in said for call in message.tool_calls]
    results = [message.tool_result.tool_call_id for message in said if message.tool_result]
    if len(calls) > 1 or len(results) > 1 or not {*results} <= {*calls}:
        yield f"calls {calls} and results {results}"
    for kind, found in (("called", calls), ("returned", results)):
        if any(kind in line for line in lines) and not found:
            yield f"{kind}, and not in the log"
    answers = [m for m in said if m.role == "assistant" and not m.tool_calls and m.status is MessageStatus.COMPLETE]
    if any(message.content != ANSWER for message in answers):
        yield "half an answer is not marked"
    ended = changes[-1].state if changes else None
    must_be_whole = again or any("completed" in line for line in lines)
    if ended not in ({TurnState.COMPLETED} if must_be_whole else {None, TurnState.COMPLETED, TurnState.INTERRUPTED}):
        yield f"the turn ended as {ended}: {changes[-1].failure}"
    if (ended is TurnState.COMPLETED) != bool(answers):
        yield f"the turn ended as {ended} with {len(answers)} answers"


async def check(url: str, lines: list[dict[str, Any]], *, again: bool) -> list[str]:
    """Start again, run the same code again or wait for recovery, and look at everything."""
    async with asyncio.timeout(PATIENCE), threadkeep.open(url, model=ScriptedModel()) as conversations:
        chat = await conversations.get_or_create("chat")
        if again:
            try:
                async with chat.turn(QUESTION, id="run-1") as turn:
                    await loop(turn, lambda _: None)
            except TurnOver as over:
                if over.state is not TurnState.COMPLETED and over.state is not TurnState.INTERRUPTED:
                    return [f"it cannot be taken up: {over}"]
                again = False  # recovery was faster
        while await chat.turns():  # noqa: ASYNC110 - recovery looks by itself
            await asyncio.sleep(0.05)
        entries, draft = await whole_log(conversations._store, LOCAL, chat.id)
        return [*_broken(lines, entries, again=again), *(["something is being written"] if draft else [])]


def kill(folder: Path, death: int, *, again: bool) -> tuple[bool, list[str]]:
    """Kill one process at one step; return whether it survived and what was broken."""
    url = f"sqlite:///{folder}/{death}-{again}.db"
    reader, out = os.pipe()
    child = fork(lambda: asyncio.run(play(url, death, out)), reader)
    os.close(out)
    told = b""
    while piece := os.read(reader, 65536):
        told += piece
    os.close(reader)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    lines = [json.loads(line) for line in told.splitlines()]
    if status not in (0, KILLED):
        return True, [f"the loop failed: {status}"]
    found = in_child(lambda out: _tell(out, asyncio.run(check(url, lines, again=again))))
    return status == 0, json.loads(found)


def _tell(out: int, broken: list[str]) -> None:
    os.write(out, json.dumps(broken).encode())


def main(step: int = 1) -> int:
    """Kill at every step (or every so many); return how many steps there were, or raise for a broken promise."""
    with tempfile.TemporaryDirectory() as folder:
        death, survived = 1, False
        while not survived:
            for again in (False, True):
                survived, broken = kill(Path(folder), death, again=again)
                if broken:
                    raise AssertionError(f"killed at write {death}, {'run again' if again else 'recovered'}: {broken}")
            death += step
    return death - step


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=1)
    print(f"killed at {main(parser.parse_args().step)} steps, nothing was lost")
    sys.exit(0)
