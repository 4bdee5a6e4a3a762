"""Where in the tree a message of a client belongs: found by the ids that the client knows."""

import re

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.store.base import MAX_LIMIT
from threadkeep_protocols.ai_sdk.taking import UiMessage
from threadkeep_protocols.chats import end_of_turn, newest_first, said_in
from threadkeep_protocols.parts import AnswerReader

NEAR = 20
"""How many of the newest messages are looked at first."""
_ANSWER = re.compile(r"answer-([1-9]\d{0,14})")


def turn_named(id: str) -> int | None:
    """Return the number of the turn whose answer has this id."""
    found = _ANSWER.fullmatch(id)
    return int(found[1]) if found else None


async def place_behind(chat: ConversationHandle, message: UiMessage) -> int | None:
    """Return the entry that whatever follows a message continues; none for the head, also if it is not known here."""
    items = await said_in(chat, NEAR)
    for item in reversed(items):
        if isinstance(item, AnswerReader) and item.id == message.id:
            return None if item is items[-1] else item.place
        if isinstance(item, Entry) and _is(item, message):
            return None if item is items[-1] else item.seq
    turn = turn_named(message.id)
    if turn is not None:
        return await end_of_turn(chat, turn) if turn <= (await chat.read()).entries else None
    found = await question(chat, message)
    return None if found is None else found.seq


def _is(entry: Entry, message: UiMessage) -> bool:
    said = entry.body
    return isinstance(said, Message) and message.may_be(said) and said.content == message.text


async def question(chat: ConversationHandle, message: UiMessage) -> Entry | None:
    """Return the entry of a person's message: the one with its text, else the newest that has its id."""
    fitting: Entry | None = None
    async for entry in newest_first(chat):
        if _is(entry, message):
            return entry
        if fitting is None and isinstance(entry.body, Message) and message.may_be(entry.body):
            fitting = entry
    return fitting


async def wait_for(chat: ConversationHandle, turn: int, calls: set[str]) -> int | None:
    """Return the position at which a turn began to wait for decisions about calls, the last time it did."""
    found, seq = None, turn - 1
    while True:
        page = await chat.reading.log(Cursor(seq=seq), limit=MAX_LIMIT)
        for entry in page.entries:
            change = entry.body
            if entry.turn == turn and isinstance(change, TurnChange) and change.state is TurnState.WAITING:
                found = entry.seq if calls & {*change.calls} else found
        if len(page.entries) < MAX_LIMIT:
            return None if found is None else Cursor(seq=found).position
        seq = page.entries[-1].seq
