"""The message history of Pydantic AI in a conversation: nothing of it is lost, and what others say is part of it."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID, uuid5

from threadkeep.conversation.message import Role
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import PackageMissing
from threadkeep_integrations.pydantic_ai.items import Fields, plainest, said, with_names
from threadkeep_integrations.records import Form

try:
    from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
except ImportError:
    raise PackageMissing("Histories of Pydantic AI need a package: pip install pydantic-ai-slim") from None


_IDS = UUID("b3c5b0de-6f0e-4c64-9f4e-2f1f3f0c8d55")


async def load_messages(conversation: ConversationHandle, limit: int | None = None) -> list[ModelMessage]:
    """Return the history, to be given as `message_history`, or only what the newest `limit` messages say."""
    found = with_names(FORM.records(await conversation.messages(limit)))
    loaded: list[ModelMessage] = ModelMessagesTypeAdapter.validate_python(found)
    return loaded


async def save_messages(
    conversation: ConversationHandle, messages: Sequence[ModelMessage], *, key: str | None = None
) -> None:
    """Add messages such as `result.new_messages()` in one step; with the same `key` only once."""
    said = [message for each in fields_of(messages) for message in FORM.messages([each])]
    if key is not None:  # sent again they have to be the same
        said = [message.model_copy(update={"id": str(uuid5(_IDS, f"{key} {at}"))}) for at, message in enumerate(said)]
    if said:
        await conversation.append(*said, key=key)


def fields_of(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """Return messages of Pydantic AI as JSON."""
    fields: list[dict[str, Any]] = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json", exclude_none=True)
    return fields


def _roles(item: Fields) -> Iterator[Role]:
    """Yield who speaks in a request or a response; ValueError if it is neither."""
    ModelMessagesTypeAdapter.validate_python([item])
    return (message.role for message in said([item]))


FORM = Form("pydantic-ai", said, plainest, roles=_roles)
