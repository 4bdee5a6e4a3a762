"""The message history of Pydantic AI in a conversation: nothing of it is lost, and what others say is part of it."""

from collections.abc import Sequence
from typing import Any

from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import PackageMissing
from threadkeep_integrations.pydantic_ai.items import Fields, plainest, said, with_names
from threadkeep_integrations.records import Form

try:
    from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
except ImportError:
    raise PackageMissing("Histories of Pydantic AI need a package: pip install pydantic-ai-slim") from None


async def load_messages(conversation: ConversationHandle, limit: int | None = None) -> list[ModelMessage]:
    """Return the history, to be given as `message_history`, or only what the newest `limit` messages say."""
    found = with_names(FORM.records(await conversation.messages(limit)))
    loaded: list[ModelMessage] = ModelMessagesTypeAdapter.validate_python(found)
    return loaded


async def save_messages(
    conversation: ConversationHandle, messages: Sequence[ModelMessage], *, key: str | None = None
) -> None:
    """Add messages such as `result.new_messages()` in one step; with the same `key` only once."""
    given = fields_of(messages)
    if given:
        named = None if key is None else IdempotencyKey.of(f"append {conversation.id}", key, given)
        await conversation.append(*(message for each in given for message in FORM.messages([each])), key=named)


def fields_of(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """Return messages of Pydantic AI as JSON."""
    fields: list[dict[str, Any]] = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json", exclude_none=True)
    return fields


def _said(items: Sequence[Fields]) -> list[Message]:
    ModelMessagesTypeAdapter.validate_python(list(items))
    return said(items)


FORM = Form("pydantic-ai", _said, plainest)
