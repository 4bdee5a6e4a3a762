"""What a run of a client asks for: a new message, another answer, to go on after decisions and results, or to be told.

Clients send their whole transcript each time. What the log has is known by its id and stands where it stands; what it
lacks is stored once; results of tools that the client runs, and answers to interrupts, let the turn go on that waits.
"""

from contextlib import suppress
from hashlib import sha256
from typing import Any

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Data
from threadkeep.conversation.turn import BusyPolicy, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, KeyReused
from threadkeep.turn_handle import TurnHandle
from threadkeep_protocols.ag_ui.places import Place, place_of
from threadkeep_protocols.ag_ui.resuming import go_on
from threadkeep_protocols.ag_ui.streams import AgentRun
from threadkeep_protocols.ag_ui.taking import CONTEXT, AgMessage, RunInput, content_of, run_of, run_part
from threadkeep_protocols.chats import said_in, tools_of_client
from threadkeep_protocols.parts import AnswerReader
from threadkeep_protocols.said import question

NEAR = 20
"""How many of the newest messages are looked at first."""


async def begun(conversations: Conversations, chat: ConversationHandle, body: RunInput) -> AgentRun:
    """Do what a run asks for, and return what is to be told of it."""
    asked = body.question
    waiting = [turn for turn in await chat.turns() if turn.state is TurnState.WAITING]
    if waiting or body.resume:
        try:
            await go_on(chat, body)
            open_calls = await chat.waiting_calls() if asked is not None else ()
            if asked is not None and open_calls and await question(chat, asked) is None:
                raise InvalidValue("Calls wait for a decision: the run must `resume` them.")
        except InvalidValue as error:
            return AgentRun(refused=error)
    if asked is None:
        return AgentRun(await _newest(chat))
    return await _Sending(conversations, chat, body, asked).send()


async def _newest(chat: ConversationHandle) -> TurnHandle | None:
    """Return the turn whose answer is the newest, which a client asks for that brings nothing new."""
    running = [turn.number for turn in await chat.turns()]
    answers = [item.turn for item in await said_in(chat, NEAR) if isinstance(item, AnswerReader)]
    number = running[-1] if running else next(reversed(answers), None)
    return None if number is None else chat.turn(number)


class _Sending:
    """Sends the message with which a transcript ends."""

    def __init__(
        self, conversations: Conversations, chat: ConversationHandle, body: RunInput, asked: AgMessage
    ) -> None:
        self._conversations = conversations
        self._chat = chat
        self._body = body
        self._asked = asked
        self._tools = tools_of_client(conversations, chat.value, [tool.definition() for tool in body.tools])

    async def send(self) -> AgentRun:
        """Store the message where the transcript has it, or find it."""
        items = await said_in(self._chat, NEAR)
        for item in items:
            if isinstance(item, Entry) and isinstance(item.body, Message) and self._asked.stands_in(item):
                return await self._again(items, item, item.body)
        place = await place_of(self._chat, items, self._body.said[:-1])
        with suppress(KeyReused):
            return await self._accept(items, place, self._asked.own_id)
        known = await question(self._chat, self._asked)
        if known is not None and isinstance(known.body, Message):
            if known.body.content == self._asked.text:
                return await self._again(items, known, known.body)
            beside = Place(known.parent or 0)
            return await self._accept(items, beside, self._asked.edited_id(known.parent or 0))
        raise InvalidValue("The id of this message was given to something else.")

    async def _accept(self, items: list[Entry | AnswerReader], place: Place, id: str | None) -> AgentRun:
        is_busy = bool(await self._chat.turns())
        parent, brought = place.entry, [each for each in map(AgMessage.stored, place.unknown) if each is not None]
        if brought and not is_busy:
            stored = await self._chat.append(*brought, parent=parent, key=self._key("bring"))
            parent = stored[-1].seq
        content = await content_of(self._asked, self._conversations, self._chat.scope)
        policy = BusyPolicy.INTERRUPT if is_busy and await self._chat.client_calls() else BusyPolicy.QUEUE
        turn = await self._chat.accept(
            [*content, *self._context(items), run_part(self._body.runId).model_dump()],
            parent=parent,
            id=id,
            key=self._key("send"),
            policy=policy,
            tools=self._tools,
        )
        return AgentRun(turn, fresh=place.is_end and not is_busy and not turn.replayed)

    def _context(self, items: list[Entry | AnswerReader]) -> list[dict[str, Any]]:
        """Return what the app says beside the conversation, unless it said the same beside the message before."""
        said = [item.model_dump() for item in self._body.context]
        data = {"name": CONTEXT, "data": said}
        messages = [item.body for item in items if isinstance(item, Entry) and isinstance(item.body, Message)]
        parts = [part for message in messages for part in message.parts if isinstance(part, Data)]
        before = next((part.data for part in reversed(parts) if part.data.get("name") == CONTEXT), None)
        return [] if not said or data == before else [{"type": "data", "data": data}]

    async def _again(self, items: list[Entry | AnswerReader], known: Entry, message: Message) -> AgentRun:
        """Tell the answer of a question that the log has: the one of this run, or the one being written. Another run
        that ends with it asks for another answer."""
        open_turns = [turn.number for turn in await self._chat.turns()]
        if run_of(message) == self._body.runId and known.turn is not None:
            return AgentRun(self._chat.turn(known.turn))
        if known.turn in open_turns:
            return AgentRun(self._chat.turn(known.turn))
        asked = [item.seq for item in items if isinstance(item, Entry) and _is_question(item)]
        if open_turns and asked and asked[-1] == known.seq:
            return AgentRun(self._chat.turn(open_turns[0]))
        turn = await self._chat.regenerate(known.seq, key=self._key("run"), tools=self._tools)
        return AgentRun(turn)

    def _key(self, what: str) -> str:
        """Return a key by which something is done once in this run, whose id may be any text."""
        return f"{what} {sha256(self._body.runId.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _is_question(entry: Entry) -> bool:
    return isinstance(entry.body, Message) and entry.body.role is Role.USER
