"""What a request of `useChat` asks for: a new message, an edit, another answer, or to go on after decisions and results
of tools that the browser runs."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from threadkeep.conversation.message import Message
from threadkeep.conversation.turn import BusyPolicy, TurnState
from threadkeep.conversation_handle import ConversationHandle, Key
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, KeyReused, TurnNotFound
from threadkeep.turn_handle import TurnHandle
from threadkeep_protocols.ai_sdk.places import place_behind, turn_named
from threadkeep_protocols.ai_sdk.taking import ChatBody, UiMessage, content_of
from threadkeep_protocols.chats import tools_of_client
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
    waits = any(turn.state is TurnState.WAITING for turn in await chat.turns())
    # Who asks for something else instead has refused: a front end could not answer behind that any more.
    how: dict[str, Any] = {"policy": BusyPolicy.INTERRUPT if waits else BusyPolicy.QUEUE}
    how["tools"] = tools_of_client(conversations, chat.value, body.definitions())
    if body.trigger == "regenerate-message":
        found = await question(chat, last)
        if found is not None:
            return Answering(await chat.accept(None, parent=found.seq, key=key, **how))
    if chat.value.head is None and before:
        await _bring(chat, before)
    content = await content_of(last, conversations, chat.scope)
    return Answering(await _send(chat, body, content, key, how))


async def _send(
    chat: ConversationHandle, body: ChatBody, content: list[Any], key: Key | None, how: dict[str, Any]
) -> TurnHandle:
    """Store a message behind the one that the client has before it, or beside the one that it edits."""
    *before, last = body.all
    is_edit = body.messageId is not None and body.messageId == last.id
    parent = await place_behind(chat, before[-1]) if before else body.beginning(chat.value)
    if not is_edit:
        with suppress(KeyReused):
            return await chat.accept(content, parent=parent, id=last.own_id, key=key, **how)
    known = await question(chat, last)
    if known is not None and isinstance(known.body, Message) and known.body.content == last.text:
        return await _again(chat, known.turn, known.seq, how)
    beside = parent if known is None else known.parent or 0
    return await chat.accept(content, parent=beside, id=last.edited_id(beside or 0), key=key, **how)


async def _again(chat: ConversationHandle, turn: int | None, entry: int, how: dict[str, Any]) -> TurnHandle:
    """Answer a message that was sent before: a repeated request gets the turn that it began, a later one another."""
    newest = [each.number for each in await chat.turns()]
    head = (await chat.read()).head
    if head is not None:
        newest.append((await chat.reading.entry(head)).turn or 0)
    if turn is not None and turn in newest:
        return chat.turn(turn)
    return await chat.accept(None, parent=entry, **how)


async def _bring(chat: ConversationHandle, before: Sequence[UiMessage]) -> None:
    """Store what was said elsewhere before the first message that comes here: its texts."""
    told = [message for message in (each.stored() for each in before) if message is not None]
    if told:
        await chat.append(*told)


async def _go_on(chat: ConversationHandle, message: UiMessage) -> Answering:
    """Take what the client's own copy of an answer says: what a person decided about tool calls, and what those gave
    that the browser ran."""
    open_turns = [turn.number for turn in await chat.turns() if turn.state is not TurnState.QUEUED]
    number = turn_named(message.id) or next(iter(open_turns), None)
    if number is None or number > (await chat.read()).entries:
        raise TurnNotFound("There is no answer that could go on.")
    tools = {str(part["toolCallId"]): part for part in message.tools()}
    after = await wait_for(chat, number, {call for call, part in tools.items() if _is_decided(part) or _is_done(part)})
    by_client = {call.id for call in await chat.client_calls()}
    for call, part in tools.items():
        with suppress(TurnNotFound):  # it was decided before, perhaps elsewhere and otherwise
            if _is_decided(part):
                await chat.approve(call, **_decision(part["approval"]))
            elif _is_done(part) and call in by_client:
                await chat.give_result(call, part.get("output"), error=_error(part))
    if after is None and number not in open_turns:
        raise InvalidValue("There is nothing in this answer to go on with.")
    return Answering(chat.turn(number), after, frozenset(tools))


def _is_decided(part: dict[str, Any]) -> bool:
    approval = part.get("approval")
    return (
        part.get("state") == "approval-responded"
        and isinstance(approval, dict)
        and isinstance(approval.get("approved"), bool)
    )


def _is_done(part: dict[str, Any]) -> bool:
    return part.get("state") in ("output-available", "output-error")


def _decision(approval: dict[str, Any]) -> dict[str, Any]:
    reason = approval.get("reason")
    return {"approved": approval["approved"], "reason": reason[:2000] if isinstance(reason, str) and reason else None}


def _error(part: dict[str, Any]) -> str | None:
    return None if part["state"] == "output-available" else str(part.get("errorText") or "The tool failed.")
