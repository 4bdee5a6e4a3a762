"""An unfinished message: the text of the message being written, as the pieces that came so far."""

from datetime import datetime

from threadkeep.store.base import Draft
from threadkeep.store.record import Chunk
from threadkeep.store.rules import DraftEnd


class Unfinished:
    """A message being written. Adding a piece costs the same however much is written."""

    def __init__(self, chunk: Chunk, started_at: datetime) -> None:
        self.message = chunk.message
        self.turn = chunk.turn
        self.started_at = started_at
        self.characters = 0
        self.bytes = 0
        self._pieces: list[str] = []
        self.add(chunk)

    def add(self, chunk: Chunk) -> None:
        """Add a piece."""
        self._pieces.append(chunk.text)
        self.characters += len(chunk.text)
        self.bytes += len(chunk.text.encode())

    @property
    def end(self) -> DraftEnd:
        """How much there is of it."""
        return DraftEnd(self.message, self.turn, self.characters, self.bytes)

    def after(self, offset: int) -> Draft:
        """Return the text from character `offset` on."""
        self._pieces = ["".join(self._pieces)]
        return Draft(
            message=self.message,
            turn=self.turn,
            started_at=self.started_at,
            offset=offset,
            text=self._pieces[0][offset:],
        )
