"""What a request of `useChat` asks for: a new message, an edit, another answer, or to go on after decisions."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from threadkeep.conversation.message import Message
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import ConversationHandle, Key
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, KeyReused, TurnNotFound
from threadkeep.turn_handle import TurnHandle
from threadkeep_protocols.ai_sdk.places import place_behind, turn_named
from threadkeep_protocols.ai_sdk.taking import ChatBody, UiMessage, content_of
from threadkeep_protocols.said import question, wait_for


class Answering(NamedTuple):
    """A turn to be told to a client, which knows it up to a position, and some of its tool calls."""

    turn: TurnHandle
    after: int | None = None
    known: frozenset[str] = frozenset()


async def answering(
    conversations: Conversations, chat: ConversationHandle, body: ChatBody, key: Key | None
) -> Answering:
    """Do what a request asks for and return what answers it."""
    *before, last = body.all
    if last.role == "assistant":
        return await _go_on(chat, last)
    if body.trigger == "regenerate-message":
        found = await question(chat, last)
        if found is not None:
            return Answering(await chat.regenerate(found.seq, key=key))
    if chat.value.head is None and before:
        await _bring(chat, before)
    return Answering(await _send(conversations, chat, body, key))


async def _send(conversations: Conversations, chat: ConversationHandle, body: ChatBody, key: Key | None) -> TurnHandle:
    """Store a message behind the one that the client has before it, or beside the one that it edits."""
    *before, last = body.all
    content = await content_of(last, conversations, chat.scope)
    is_edit = body.messageId is not None and body.messageId == last.id
    parent = await place_behind(chat, before[-1]) if before else body.beginning(chat.value)
    if not is_edit:
        with suppress(KeyReused):
            return await chat.accept(content, parent=parent, id=last.own_id, key=key)
    known = await question(chat, last)
    if known is not None and isinstance(known.body, Message) and known.body.content == last.text:
        return await _again(chat, known.turn, known.seq)
    beside = parent if known is None else known.parent or 0
    return await chat.accept(content, parent=beside, id=last.edited_id(beside or 0), key=key)


async def _again(chat: ConversationHandle, turn: int | None, entry: int) -> TurnHandle:
    """Answer a message that was sent before: a repeated request gets the turn that it began, a later one another."""
    newest = [each.number for each in await chat.turns()]
    head = (await chat.read()).head
    if head is not None:
        newest.append((await chat.reading.entry(head)).turn or 0)
    return chat.turn(turn) if turn is not None and turn in newest else await chat.regenerate(entry)


async def _bring(chat: ConversationHandle, before: Sequence[UiMessage]) -> None:
    """Store what was said elsewhere before the first message that comes here: its texts."""
    told = [message for message in (each.stored() for each in before) if message is not None]
    if told:
        await chat.append(*told)


async def _go_on(chat: ConversationHandle, message: UiMessage) -> Answering:
    """Take what a person decided about tool calls, which the client's own copy of the answer says."""
    open_turns = [turn.number for turn in await chat.turns() if turn.state is not TurnState.QUEUED]
    number = turn_named(message.id) or next(iter(open_turns), None)
    if number is None or number > (await chat.read()).entries:
        raise TurnNotFound("There is no answer that could go on.")
    decided = {part["toolCallId"]: part["approval"] for part in message.tools() if _is_decided(part)}
    after = await wait_for(chat, number, set(decided))
    for call, approval in decided.items():
        reason = approval.get("reason")
        with suppress(TurnNotFound):  # it was decided before, perhaps elsewhere and otherwise
            await chat.approve(
                call,
                approved=approval["approved"],
                reason=reason[:2000] if isinstance(reason, str) and reason else None,
            )
    if after is None and number not in open_turns:
        raise InvalidValue("There is nothing in this answer to go on with.")
    known = frozenset(str(part["toolCallId"]) for part in message.tools())
    return Answering(chat.turn(number), after, known)


def _is_decided(part: dict[str, object]) -> bool:
    approval = part.get("approval")
    return (
        part.get("state") == "approval-responded"
        and isinstance(approval, dict)
        and isinstance(approval.get("approved"), bool)
    )
