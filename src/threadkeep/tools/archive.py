"""A user's own conversations, for tools that look something up in them. It sees one user's data and no other's."""

from dataclasses import dataclass

from threadkeep.conversation.scope import Scope
from threadkeep.store.base import Hit, Store


@dataclass(frozen=True, slots=True)
class Archive:
    """What one user said and heard."""

    _store: Store
    _scope: Scope

    async def search(self, text: str, *, limit: int = 10) -> tuple[Hit, ...]:
        """Return messages that hold all words of a text, the best first. Raises InvalidSearch without a word."""
        page = await self._store.search(self._scope, text, limit=limit)
        return tuple(page.items)
