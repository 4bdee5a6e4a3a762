"""The list of threads: conversations under the names that `assistant-cloud` has for their fields.

A client goes on behind the id of a thread that it was shown, so the list goes on at the activity of that one.
"""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.value import JsonObject
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import StaleVersion
from threadkeep.server.requests import SentText, Title
from threadkeep.store.codec import microseconds
from threadkeep.store.paging import FIRST_PAGE, activity_cursor
from threadkeep_protocols.ai_sdk.showing import Json
from threadkeep_protocols.assistant_ui.messages import moment
from threadkeep_protocols.chats import chat_id

EXTERNAL = "external_id"
"""The name in a conversation's metadata under which the id of an app's own thread stands."""
Metadata = Annotated[JsonObject, BeforeValidator(lambda given: {} if given is None else given)]


class NewThread(BaseModel):
    """A thread that is to be made. When it was last used is what the log says."""

    model_config = ConfigDict(frozen=True)
    title: Title | None = None
    metadata: Metadata = Field(default_factory=dict)
    external_id: SentText | None = Field(default=None, max_length=2000)


class ThreadChanges(BaseModel):
    """What changes of a thread; what is missing stays."""

    model_config = ConfigDict(frozen=True)
    title: Title | None = None
    metadata: Metadata = Field(default_factory=dict)
    is_archived: bool | None = None


def thread_json(conversation: Conversation) -> Json:
    """Return a thread, every field of which clients check."""
    metadata: dict[str, Any] = dict(conversation.metadata)
    external = metadata.pop(EXTERNAL, None)
    return {
        "id": chat_id(conversation),
        "title": conversation.title,
        "last_message_at": moment(conversation.updated_at),
        "metadata": metadata,
        "external_id": external if isinstance(external, str) else None,
        "project_id": conversation.scope.tenant,
        "workspace_id": conversation.scope.tenant,
        "created_at": moment(conversation.created_at),
        "updated_at": moment(conversation.updated_at),
        "is_archived": conversation.archived,
    }


async def list_threads(
    conversations: Conversations, chat: ConversationHandle | None, limit: int, **where: Any
) -> list[Json]:
    """Return the threads, the last used first, behind the one that a client was shown last."""
    found: list[Conversation] = []
    cursor, last = None, None if chat is None else chat.value
    if last is not None:
        cursor = activity_cursor(last.scope, microseconds(last.updated_at), FIRST_PAGE[1])
    while True:
        page = await conversations.list(limit=limit, after=cursor, by_activity=True, whole=True, **where)
        for each in page.items:
            if last is None or each.updated_at < last.updated_at:
                found.append(each)
            elif each.id == last.id:
                last = None
        cursor = page.next
        if cursor is None or len(found) >= limit:
            return [thread_json(each) for each in found[:limit]]


async def change_thread(chat: ConversationHandle, changes: ThreadChanges) -> None:
    """Change what is named."""
    fields: dict[str, Any] = {}
    if changes.title is not None:
        fields["title"] = changes.title
    if changes.is_archived is not None:
        fields["archived"] = changes.is_archived
    while True:
        now = await chat.read()
        if "metadata" in changes.model_fields_set:
            kept = {EXTERNAL: now.metadata[EXTERNAL]} if EXTERNAL in now.metadata else {}
            fields["metadata"] = {**changes.metadata, **kept}
        if not fields:
            return
        try:
            await chat.update(expected_version=now.version if "metadata" in fields else None, **fields)
            return
        except StaleVersion:
            continue
