"""The items of a conversation: what is said on its current branch, from either end."""

from collections.abc import AsyncIterator, Sequence
from typing import Literal, NamedTuple

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import NotFound
from threadkeep_protocols.chats import MOST_SEARCHED, who_is_asked
from threadkeep_protocols.openai.events import Callers, EventWriter
from threadkeep_protocols.openai.items import Json, approval_item, message_item, result_item
from threadkeep_protocols.openai.stretch import opening_of, told_of
from threadkeep_protocols.parts import AnswerCall, AnswerReader

Order = Literal["asc", "desc"]


class Group(NamedTuple):
    """Entries that are shown together: one message, or an assistant's with the results of its calls."""

    entries: list[Entry]
    items: list[Json]


class ConversationItems:
    """Shows a conversation as items."""

    def __init__(self, conversations: Conversations, chat: ConversationHandle) -> None:
        self._conversations = conversations
        self._chat = chat
        self._callers: dict[int, frozenset[str]] = {}

    async def page(self, order: Order, limit: int, after: str | None) -> Json:
        """Return a page of items, those behind an item."""
        found: list[Json] = []
        is_behind = after is None
        async for group in self._groups(order):
            for item in group.items if order == "asc" else reversed(group.items):
                if is_behind:
                    found.append(item)
                is_behind = is_behind or item["id"] == after
            if len(found) > limit:
                break
        if not is_behind:
            raise NotFound("There is no such item in this conversation.")
        return listed(found[:limit], has_more=len(found) > limit)

    async def find(self, id: str) -> tuple[Json, Group, bool]:
        """Return an item, the group that it is of, and whether nothing stands behind this group."""
        read, is_last = 0, True
        async for group in self._groups("desc"):
            if (item := next((item for item in group.items if item["id"] == id), None)) is not None:
                return item, group, is_last
            is_last = False
            read += len(group.entries)
            if read > MOST_SEARCHED:
                break
        raise NotFound("There is no such item in this conversation.")

    async def up_to(self, entry: int) -> list[Json]:
        """Return all items of the branch that ends in an entry, without instructions that came beside questions."""
        said = (each async for each in self._chat.reading.branch(head=entry) if not _is_instructions(each))
        return await self._together(said)

    async def of(self, entries: Sequence[Entry]) -> list[Json]:
        """Return the items of entries that follow each other."""
        return await self._together(_iterated(entries))

    async def _together(self, entries: AsyncIterator[Entry]) -> list[Json]:
        items: list[Json] = []
        async for group in self._grouped(entries, "asc"):
            items += group.items
        return items

    def _groups(self, order: Order) -> AsyncIterator[Group]:
        reading = self._chat.reading
        return self._grouped(reading.branch() if order == "asc" else reading.backwards(), order)

    async def _grouped(self, entries: AsyncIterator[Entry], order: Order) -> AsyncIterator[Group]:
        together: list[Entry] = []
        async for entry in entries:
            is_result = isinstance(entry.body, Message) and entry.body.role is Role.TOOL
            if order == "desc":
                together.append(entry)
                if not is_result:
                    yield await self._shown(together[::-1])
                    together = []
                continue
            if not is_result and together:
                yield await self._shown(together)
                together = []
            together.append(entry)
        if together:
            yield await self._shown(together if order == "asc" else together[::-1])

    async def _shown(self, entries: list[Entry]) -> Group:
        first = entries[0].body
        if not isinstance(first, Message):
            return Group(entries, [])
        if first.role is not Role.ASSISTANT:
            shown = [message_item(first)] if first.role is not Role.TOOL else [result_item(first)]
            return Group(entries, shown)
        conversation = self._chat.value
        client = await self._client_tools(entries[0].turn, first)
        callers = Callers(client, who_is_asked(self._conversations, conversation))
        reader, writer = AnswerReader(entries[0].turn), EventWriter(self._chat.id, {}, callers)
        for entry in entries:
            for change in reader.take_entry(entry):
                writer.tell(change)
        calls = [part for part in reader.parts if isinstance(part, AnswerCall) and part.call.name not in client]
        waiting = [approval_item(call) for call in calls if not call.has_result and callers.asks(call.call.name)]
        results = [
            result_item(entry.body)
            for entry in entries
            if isinstance(entry.body, Message)
            and entry.body.tool_result is not None
            and (call := _call(reader, entry.body.tool_result.tool_call_id)) is not None
            and call.call.name in client
        ]
        return Group(entries, [*writer.output, *waiting, *results])

    async def _client_tools(self, turn: int | None, said: Message) -> frozenset[str]:
        """Return the names of tools that a client ran in a turn; all of a message that came from elsewhere."""
        if turn is None:
            return frozenset(call.name for call in said.tool_calls)
        if turn not in self._callers:
            _, change = await opening_of(self._chat, turn)
            self._callers[turn] = frozenset(tool.name for tool in change.tools)
        return self._callers[turn]


def listed(items: list[Json], *, has_more: bool) -> Json:
    """Return a list as the API has it."""
    ids = [item["id"] for item in items] or [None]
    return {"object": "list", "data": items, "first_id": ids[0], "last_id": ids[-1], "has_more": has_more}


def _is_instructions(entry: Entry) -> bool:
    return isinstance(entry.body, Message) and bool(told_of(entry.body).get("instructions"))


def _call(reader: AnswerReader, id: str) -> AnswerCall | None:
    return next((part for part in reader.parts if isinstance(part, AnswerCall) and part.id == id), None)


async def _iterated(entries: Sequence[Entry]) -> AsyncIterator[Entry]:
    for entry in entries:
        yield entry
