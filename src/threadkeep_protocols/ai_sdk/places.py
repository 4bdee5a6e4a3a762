"""Where in the tree a message of a client belongs: found by the ids that the client knows."""

import re

from threadkeep.conversation.entry import Entry
from threadkeep.conversation_handle import ConversationHandle
from threadkeep_protocols.chats import end_of_turn, said_in
from threadkeep_protocols.parts import AnswerReader
from threadkeep_protocols.said import Said, question

NEAR = 20
"""How many of the newest messages are looked at first."""
_ANSWER = re.compile(r"answer-([1-9]\d{0,14})")


def turn_named(id: str) -> int | None:
    """Return the number of the turn whose answer has this id."""
    found = _ANSWER.fullmatch(id)
    return int(found[1]) if found else None


async def place_behind(chat: ConversationHandle, message: Said) -> int | None:
    """Return the entry that whatever follows a message continues; none for the head, also if it is not known here."""
    items = await said_in(chat, NEAR)
    for item in reversed(items):
        if isinstance(item, AnswerReader) and item.id == message.id:
            return None if item is items[-1] else item.place
        if isinstance(item, Entry) and message.stands_in(item):
            return None if item is items[-1] else item.seq
    turn = turn_named(message.id)
    if turn is not None:
        return await end_of_turn(chat, turn) if turn <= (await chat.read()).entries else None
    found = await question(chat, message)
    return None if found is None else found.seq
