"""A process that keeps conversations by the script, and tells of each step only once the store acknowledged it.

An acknowledgement is one line of JSON, written in one piece: the conversation, the number of the step and the numbers
of the entries that it made.
"""

import asyncio
import json
import os
import sys
from datetime import timedelta

from tests.acceptance.script import ANSWER, CHUNKS, Step, step
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Begin

LEASE = timedelta(minutes=1)
SHARED = "shared"


def said(text: str) -> Message:
    """Return a user's message."""
    return Message(role=Role.USER, content=text)


class Writer:
    """Plays the script of one conversation."""

    def __init__(self, store: Store, conversation: str, out: int) -> None:
        self._store = store
        self._conversation = conversation
        self._out = out
        self._lease: Lease | None = None
        self._offset = 0

    async def play(self, first: int = 0, last: int | None = None) -> None:
        """Play the script from step `first` on, for ever or up to `last`."""
        number = first
        while last is None or number < last:
            seqs = await self._do(step(self._conversation, number))
            line = json.dumps({"conversation": self._conversation, "step": number, "seqs": seqs})
            os.write(self._out, line.encode() + b"\n")
            number += 1

    async def _do(self, one: Step) -> list[int]:
        match one.kind:
            case "begin":
                begin = Begin(message=said(one.texts[0]), owner=str(os.getpid()), lease_for=LEASE, key=one.key)
                begun = await self._store.begin(LOCAL, self._conversation, begin)
                self._lease, self._offset = begun.lease, 0
                return [entry.seq for entry in begun.entries]
            case "chunk":
                assert self._lease is not None
                await self._store.write(self._lease, one.message, self._offset, CHUNKS[one.chunk])
                self._offset += len(CHUNKS[one.chunk])
                return []
            case "finish":
                answer = Message(id=one.message, role=Role.ASSISTANT, content=ANSWER)
                settle = TurnChange(state=TurnState.COMPLETED)
                return await self._append(Append(bodies=(answer,), lease=self._lease, settle=settle))
            case _:
                bodies = tuple(said(text) for text in one.texts)
                return await self._append(Append(bodies=bodies, key=one.key), shared=one.kind == "shared")

    async def _append(self, append: Append, *, shared: bool = False) -> list[int]:
        place = SHARED if shared else self._conversation
        return [entry.seq for entry in (await self._store.append(LOCAL, place, append)).entries]


async def write_for_ever(url: str, conversations: list[str], out: int) -> None:
    """Create the conversations and play their scripts side by side until somebody kills this process."""
    store = await open_store(url)
    for name in conversations:
        await store.create(LOCAL, NewConversation(id=name), key=step(name, -1).key)
    os.write(out, b'{"ready": true}\n')
    await asyncio.gather(*(Writer(store, name, out).play() for name in conversations))


if __name__ == "__main__":
    asyncio.run(write_for_ever(sys.argv[1], sys.argv[2:], sys.stdout.fileno()))
