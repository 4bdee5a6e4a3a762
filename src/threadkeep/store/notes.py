"""Notes: what packages around the core remember in a store for all who use it: small texts by tenant and name.

They are no part of any log, not exported, and for nothing that people say: positions in logs, leases, settings that
administrators made. Each has a version, so that of two who change one at a time the second is told.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import NamedTuple


class Note(NamedTuple):
    """A text and how often it was written."""

    version: int
    text: str


class Notes(ABC):
    """The notes of a store. Like every write of a store, a change is durable when its verb returns."""

    @abstractmethod
    async def read(self, tenant: str, names: Collection[str]) -> dict[str, Note]:
        """Return those of the notes that there are."""

    @abstractmethod
    async def list(self, tenant: str, beginning: str, *, limit: int = 100, after: str = "") -> list[tuple[str, Note]]:
        """Return the first notes behind a name whose names have this beginning, by name."""

    @abstractmethod
    async def tenants(self, beginning: str) -> tuple[str, ...]:
        """Return the tenants that have a note with this beginning, by name."""

    @abstractmethod
    async def write(self, tenant: str, name: str, text: str | None, version: int = 0) -> bool:
        """Write a note whose version is this one (0: that is not there), or remove it if there is no text; False if it
        has another version, and nothing was written."""
