"""The conversations on a server, with the verbs of `Conversations`. Whose they are, the key decides."""

from typing import Any, Literal

from pydantic import TypeAdapter

from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import Scope
from threadkeep.store.values import ConversationPage, Hit, HitPage
from threadkeep_client.conversation import RemoteConversation
from threadkeep_client.events import conversation_of
from threadkeep_client.files import Attachable, attached
from threadkeep_client.wire import Wire

ROOT = "/v1/conversations"
_HIT = TypeAdapter(Hit)


class RemoteConversations:
    """Keeps conversations on a server, and answers in them there. `scope` is who asks."""

    def __init__(self, wire: Wire, scope: Scope) -> None:
        self._wire = wire
        self.scope = scope

    def _handle(self, shown: dict[str, Any], *, replayed: bool = False) -> RemoteConversation:
        value = conversation_of(shown, self.scope)
        return RemoteConversation(self._wire, self.scope, value.id, value, replayed=replayed)

    async def create(self, *, key: str | None = None, **fields: Any) -> RemoteConversation:
        """Create a conversation; `fields` are assistant, title, system, model, id, metadata."""
        return self._handle(await self._wire.call("POST", ROOT, json=fields, key=key))

    async def get(self, conversation: str) -> RemoteConversation:
        """Return a handle on a conversation that exists, by its id or the one that you chose for it."""
        return self._handle(await self.at(conversation)._log.read(limit=1))

    async def get_or_create(self, conversation: str, **fields: Any) -> RemoteConversation:
        """Return the conversation with the id that you chose, as it is, or create it with `fields`."""
        return self._handle(await self._wire.call("PUT", self.at(conversation)._log.path, json=fields))

    def at(self, conversation: str) -> RemoteConversation:
        """Return a handle without asking: its verbs raise `ConversationNotFound` if there is no such conversation."""
        return RemoteConversation(self._wire, self.scope, conversation)

    async def list(
        self, *, limit: int = 20, after: str | None = None, whole: bool = False, **filters: Any
    ) -> ConversationPage:
        """Return a page of the conversations, the pinned ones first, then the last active; `filters` are assistant,
        status, archived, pinned, metadata, title."""
        pairs = [f"{name}={value}" for name, value in (filters.pop("metadata", None) or {}).items()]
        asked = {"limit": limit, "after": after, "whole": whole, "metadata": pairs, **filters}
        page = await self._wire.call("GET", ROOT, params={name: it for name, it in asked.items() if it is not None})
        items = tuple(conversation_of(shown, self.scope) for shown in page["data"])
        return ConversationPage(items=items, next=page["next"])

    async def search(
        self,
        text: str,
        *,
        conversation: str | None = None,
        order: Literal["rank", "newest"] = "rank",
        limit: int = 20,
        after: str | None = None,
    ) -> HitPage:
        """Return a page of the messages and titles that hold every word of `text`, best or newest first."""
        asked = {"q": text, "conversation": conversation, "order": order, "limit": limit, "after": after}
        page = await self._wire.call("POST", "/v1/search", json=asked)
        return HitPage(items=tuple(_hit(shown) for shown in page["data"]), next=page["next"])

    async def attach(self, file: Attachable) -> Attachment:
        """Keep a file (a path, or a name and bytes) and return it as a part to send; unsent, it goes after a day."""
        return await attached(self._wire, file)

    async def ping(self) -> None:
        """Return if the server can be asked."""
        await self._wire.call("GET", "/v1/me")


def _hit(shown: dict[str, Any]) -> Hit:
    fields = {**shown, "seq": shown["entry"], "score": 0.0}
    return _HIT.validate_python({name: fields[name] for name in Hit.__dataclass_fields__ if name in fields})
