"""Conversations as the threads of CopilotKit: listed, renamed, archived and deleted."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, StrictBool
from starlette.exceptions import HTTPException

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.requests import SentText, Title
from threadkeep_protocols.ag_ui.agents import DEFAULT
from threadkeep_protocols.ag_ui.showing import Json
from threadkeep_protocols.chats import chat_id, find_chat
from threadkeep_protocols.dialects.form import read_body

MOST_LISTED = 200
MOST_FIELDS = 20


class Listing(BaseModel):
    """Which threads a list shows."""

    model_config = ConfigDict(frozen=True)
    agentId: SentText | None = None  # noqa: N815 - names on the wire
    includeArchived: bool = False  # noqa: N815
    limit: int = Field(default=50, ge=1, le=MOST_LISTED)
    cursor: SentText | None = None


class ThreadChange(BaseModel):
    """What is changed of a thread."""

    model_config = ConfigDict(frozen=True)
    name: Title | None = None
    archived: StrictBool | None = None


class Threads:
    """The threads of users."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._cursors = ListCursors(conversations.admin.keyring)

    async def list(self, scope: Scope, listing: Listing) -> Json:
        """Return a page of the threads in which an agent answers; the default one has all."""
        page = await self._conversations.list(
            scope=scope,
            limit=listing.limit,
            after=await self._cursors.read(listing.cursor),
            archived=None if listing.includeArchived else False,
            assistant=None if listing.agentId == DEFAULT else listing.agentId,
        )
        following = None if page.next is None else await self._cursors.shown(page.next)
        return {"threads": [_thread(scope, each) for each in page.items], "joinCode": None, "nextCursor": following}

    async def change(self, scope: Scope, thread: str, change: ThreadChange) -> Json:
        """Rename or archive a thread, or bring it back."""
        fields = change.model_dump(exclude_none=True)
        fields = {"title" if name == "name" else name: value for name, value in fields.items()}
        return _thread(scope, await (await find_chat(self._conversations, scope, thread)).update(**fields))

    async def delete(self, scope: Scope, thread: str) -> Json:
        """Delete a thread."""
        await (await find_chat(self._conversations, scope, thread)).delete()
        return {"deleted": True}

    async def asked(self, scope: Scope, method: str, path: str, body: Any) -> Json:
        """Answer a request about threads that came in an envelope."""
        try:
            parts = urlsplit(path)
            query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=MOST_FIELDS))
        except ValueError:
            raise InvalidValue("The path of a resource cannot be read.") from None
        match method, [unquote(step) for step in parts.path.split("/")]:
            case "GET", ["", "threads"]:
                return await self.list(scope, read_body(Listing, query))
            case "PATCH", ["", "threads", thread]:
                return await self.change(scope, thread, read_body(ThreadChange, body))
            case "POST", ["", "threads", thread, "archive"]:
                return await self.change(scope, thread, ThreadChange(archived=True))
            case "DELETE", ["", "threads", thread]:
                return await self.delete(scope, thread)
        raise HTTPException(404)


def _thread(scope: Scope, conversation: Conversation) -> Json:
    return {
        "id": chat_id(conversation),
        "organizationId": scope.tenant,
        "agentId": conversation.assistant or DEFAULT,
        "createdById": scope.user,
        "name": conversation.title or None,
        "archived": conversation.archived,
        "createdAt": conversation.created_at.isoformat(),
        "updatedAt": conversation.updated_at.isoformat(),
        "lastRunAt": conversation.updated_at.isoformat(),
    }
