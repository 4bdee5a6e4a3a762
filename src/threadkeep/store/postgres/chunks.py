"""Text of messages being written, many turns in one commit.

The first piece goes to the database at once; what arrives while it is on its way goes together in the next call, so a
group is as large as the load makes it and nobody waits for a timer.
"""

import asyncio
from typing import NamedTuple

from threadkeep.conversation.turn import Lease
from threadkeep.errors import StoreError, StoreUnavailable, ThreadkeepError
from threadkeep.store.checks import check_chunk
from threadkeep.store.codec import encode_id
from threadkeep.store.postgres.database import Database
from threadkeep.store.postgres.rows import number, refusal
from threadkeep.store.postgres.writing import held

MOST = 256
"""How many pieces go in one call at most."""


class _Piece(NamedTuple):
    tenant: int
    owner: int
    id: bytes
    lock: int
    turn: int
    fence: int
    holder: str
    message: bytes
    offset: int
    characters: int
    text: bytes


class ChunkWriter:
    """Groups pieces of text."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._waiting: list[tuple[_Piece, asyncio.Future[None]]] = []
        self._flushing: asyncio.Task[None] | None = None

    async def write(self, lease: Lease, message: str, offset: int, text: str) -> None:
        """Add text to the message being written, and return when it is durable."""
        check_chunk(message, offset, text)
        where = await self._db.place_of(lease)
        piece = _Piece(*where, *held(lease), encode_id(message), number(offset), len(text), text.encode())
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((piece, done))
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())
        await done

    async def close(self) -> None:
        """Wait until everything that was accepted is written."""
        if self._flushing is not None:
            await self._flushing

    async def _flush(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                answers = await self._send([piece for piece, _ in group])
                for (_, done), answer in zip(group, answers, strict=True):
                    if not done.done():
                        _settle(done, answer)
        finally:
            self._flushing = None
            for _, done in self._waiting:
                _settle(done, StoreUnavailable())

    async def _send(self, pieces: list[_Piece]) -> list[ThreadkeepError | None]:
        """Return for each piece why it was not written, if it was not."""
        columns = (list(column) for column in zip(*pieces, strict=True))
        try:
            rows = await self._db.pool.call("write_chunks", *columns, self._db.clock(), self._db.max_bytes)
        except StoreError as error:
            return [error] * len(pieces)
        return [None if row["refused"] is None else refusal(row["refused"]) for row in rows]


def _settle(done: asyncio.Future[None], answer: ThreadkeepError | None) -> None:
    if answer is None:
        done.set_result(None)
    else:
        done.set_exception(answer)
