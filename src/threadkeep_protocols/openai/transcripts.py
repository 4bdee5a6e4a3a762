"""Transcripts that clients send along with what is new: where they are what was said here, the conversation goes on."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from threadkeep.conversation.scope import Scope
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import NotFound
from threadkeep_protocols.chats import end_of_turn
from threadkeep_protocols.openai.conversation_items import ConversationItems
from threadkeep_protocols.openai.ids import ResponseId, conversation_in, conversation_named
from threadkeep_protocols.openai.taking import texts_of

_OURS = ("message", "function_call", "mcp_call")
_DECISIONS = ("function_call_output", "mcp_approval_response")


class Known(NamedTuple):
    """The conversation that an input continues, the place that it continues there, and the items that are new."""

    chat: ConversationHandle
    place: ResponseId
    rest: list[Any]


async def recognised(conversations: Conversations, scope: Scope, given: object) -> Known | None:
    """Return what an input continues whose items are, up to its newest answer, all that was said before that answer in
    a conversation of this user, and nothing else; none if it is another history."""
    items = given if isinstance(given, list) else []
    ours = [at for at, item in enumerate(items) if conversation_in(_id(item)) and _kind(item) in _OURS]
    if not ours:
        return None
    try:
        chat = await conversation_named(conversations, scope, conversation_in(_id(items[ours[-1]])) or "")
        shown = ConversationItems(conversations, chat)
        _, group, _ = await shown.find(_id(items[ours[-1]]))
    except NotFound:
        return None
    answer, before, rest = group.entries[0], items[: ours[-1] + 1], items[ours[-1] + 1 :]
    if answer.turn is None or not rest or list(_said(before)) != list(_said(await shown.up_to(answer.seq))):
        return None
    if not any(_kind(item) in _DECISIONS for item in rest) and answer.seq != await end_of_turn(chat, answer.turn):
        return None
    return Known(chat, ResponseId(chat.id, answer.turn, answer.seq), rest)


def _id(item: object) -> str:
    return str(item.get("id") or "") if isinstance(item, dict) else ""


def _kind(item: object) -> str:
    return str(item.get("type", "message")) if isinstance(item, dict) else ""


def _said(items: Sequence[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield what counts of items. Reasoning, which clients may leave out, does not, nor do calls that ran here, which
    stand with their message or with their results."""
    for item in items:
        match _kind(item):
            case "message" if item.get("role") == "assistant":
                yield "assistant", _id(item), "".join(texts_of(item.get("content")))
            case "message" if item.get("role") == "user":
                content = item.get("content")
                files = len(content) - len(texts_of(content)) if isinstance(content, list) else 0
                yield "user", " ".join(" ".join(texts_of(content)).split()), files
            case "function_call":
                yield "call", _id(item), item.get("call_id"), item.get("name"), item.get("arguments")
            case "function_call_output":
                output = item.get("output")
                yield "output", item.get("call_id"), output if isinstance(output, str) else texts_of(output)
            case "message":
                yield "instructions", texts_of(item.get("content"))
