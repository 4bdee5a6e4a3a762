"""Where in the tree the end of a transcript stands: found by the ids that its client knows."""

from collections.abc import Sequence
from dataclasses import dataclass

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation_handle import ConversationHandle
from threadkeep_protocols.ag_ui.taking import AgMessage
from threadkeep_protocols.chats import end_of_turn, newest_first
from threadkeep_protocols.parts import AnswerReader


@dataclass(frozen=True)
class Place:
    """The entry that what follows a transcript continues (none: the head), and what of it the log lacks. `is_end` is
    whether a client that has this transcript has everything."""

    entry: int | None = None
    unknown: tuple[AgMessage, ...] = ()
    is_end: bool = False


_Known = dict[str, tuple[int, int | None]]
"""Entries and turns of messages, by their ids."""


async def place_of(chat: ConversationHandle, items: Sequence[Entry | AnswerReader], said: Sequence[AgMessage]) -> Place:
    """Return the place behind messages of people and assistants; `items` are the newest ones of the current branch."""
    if not items:
        return Place(unknown=tuple(said), is_end=True)
    found = _found(_near(items), said) or _found(await _far(chat, said), said)
    if found is None:
        return Place(unknown=_of_people(said))
    at, seq, turn = found
    if turn is not None and turn in [each.number for each in await chat.turns()]:
        return Place()
    unknown, last = _of_people(said[at + 1 :]), items[-1]
    is_last = at == len(said) - 1
    if isinstance(last, AnswerReader) and turn is not None and last.turn == turn:
        return Place(unknown=unknown, is_end=is_last and _has_all(said[at], last))
    if turn is not None:
        seq = await end_of_turn(chat, turn) or seq
    is_head = seq == (await chat.read()).head
    return Place(None if is_head else seq, unknown, is_end=is_last and is_head and turn is None)


def _has_all(message: AgMessage, answer: AnswerReader) -> bool:
    """Whether a client with this message has the answer to its end."""
    last = answer.messages[-1] if answer.messages else None
    return last is not None and last.id == message.id and last.content == message.text


def _of_people(said: Sequence[AgMessage]) -> tuple[AgMessage, ...]:
    """Return what people said: an answer that the log lacks is one that is being written, or the client's own."""
    return tuple(message for message in said if message.role == "user")


def _found(known: _Known, said: Sequence[AgMessage]) -> tuple[int, int, int | None] | None:
    """Return the last message of a transcript that is known, with its entry and turn."""
    for at in reversed(range(len(said))):
        own = said[at].own_id
        if own is not None and own in known:
            return at, *known[own]
    return None


def _near(items: Sequence[Entry | AnswerReader]) -> _Known:
    known: _Known = {}
    for item in items:
        if isinstance(item, AnswerReader):
            known |= dict.fromkeys(item.steps, (item.place or 0, item.turn))
        elif isinstance(item.body, Message):
            known[item.body.id] = (item.seq, item.turn)
    return known


async def _far(chat: ConversationHandle, said: Sequence[AgMessage]) -> _Known:
    """Return those messages of a transcript that are among the newest entries, of all branches."""
    wanted, known = {message.own_id for message in said}, _Known()
    if not said:
        return known
    async for entry in newest_first(chat):
        if isinstance(entry.body, Message) and entry.body.id in wanted:
            known.setdefault(entry.body.id, (entry.seq, entry.turn))
    return known
