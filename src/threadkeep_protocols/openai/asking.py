"""What a request for a response asks for: a new conversation, the next message of one, or to go on after results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from secrets import token_hex
from typing import Any

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Raw
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationBusy, InvalidValue
from threadkeep_protocols.chats import end_of_turn, newest_first
from threadkeep_protocols.dialects.exchange import undone_if_refused
from threadkeep_protocols.openai.bodies import ResponseBody
from threadkeep_protocols.openai.going_on import go_on, waiting_for
from threadkeep_protocols.openai.ids import ResponseId, conversation_named, conversation_of
from threadkeep_protocols.openai.stretch import FORM, Stretch
from threadkeep_protocols.openai.taking import InputReader, Taken
from threadkeep_protocols.openai.transcripts import recognised

REQUEST = "openai_request"
"""What conversations have in their metadata that began with a response: a digest of the request."""
RETRIED = timedelta(minutes=2)
"""How long a repeated request may come after the first."""
_REMEMBERED = 100
"""Among so many of the newest messages are the instructions that hold."""


@dataclass(frozen=True)
class Request:
    """A request: who sent it, its key, if it has one, and whether its client says that it sends it again."""

    scope: Scope
    key: Callable[[str], IdempotencyKey | None]
    digest: str
    is_repeated: bool = False

    @property
    def mark(self) -> str:
        """What the id of its message begins with."""
        return f"req-{self.digest}-"

    def message_id(self) -> str | None:
        """An id for its message by which it is known if it is sent again; none if it has a key."""
        return f"{self.mark}{token_hex(6)}" if self.key("") is None else None


def digest_of(body: bytes) -> str:
    """Return what stands for the body of a request."""
    return blake2b(body, digest_size=12).hexdigest()


class Asking:
    """Does what a request asks for."""

    def __init__(self, conversations: Conversations, request: Request, body: ResponseBody) -> None:
        self._conversations = conversations
        self._request = request
        self._body = body

    async def stretch(self) -> Stretch:
        """Return what answers the request."""
        self._body.check()
        self._conversations.check_assistant(self._body.model)
        chat, before = await self._named()
        if (answered := await self._answered_before(chat)) is not None:
            return answered
        given = self._body.input
        if chat is None and (known := await recognised(self._conversations, self._request.scope, given)):
            chat, before, given = known
            if (answered := await self._answered_before(chat)) is not None:
                return answered
        taken = await InputReader(self._conversations, self._request.scope).read(given)
        if chat is None:
            return await self._begin(taken)
        if taken.decisions:
            return await self._go_on(chat, before, taken)
        return await self._send(chat, before, taken.messages)

    async def _named(self) -> tuple[ConversationHandle | None, ResponseId | None]:
        """Return the conversation that the request names, and the response in it."""
        body, chat, before = self._body, None, None
        if body.previous_response_id is not None:
            before = ResponseId.read(body.previous_response_id)
            chat = await conversation_of(self._conversations, self._request.scope, before)
            await Stretch(chat, chat.turn(before.turn), before.begin).open(self._conversations)
        elif body.conversation_id is not None:
            chat = await conversation_named(self._conversations, self._request.scope, body.conversation_id)
        return chat, before

    # Requests that come again

    async def _answered_before(self, chat: ConversationHandle | None) -> Stretch | None:
        """Return what answered the same request a moment ago, if this is said to be the same."""
        if not self._request.is_repeated:
            return None
        if chat is None:
            of = {REQUEST: self._request.digest}
            page = await self._conversations.list(scope=self._request.scope, limit=1, by_activity=True, metadata=of)
            if not page.items or page.items[0].created_at < utc_now() - RETRIED:
                return None
            chat = self._conversations.at(self._request.scope, page.items[0].id)
        turn = await self._turn_before(chat)
        return None if turn is None else Stretch(chat, chat.turn(turn))

    async def _turn_before(self, chat: ConversationHandle) -> int | None:
        later = None
        async for entry in newest_first(chat):
            if entry.created_at < utc_now() - RETRIED:
                return None
            said = entry.body.message if isinstance(entry.body, TurnChange) else entry.body
            if isinstance(said, Message) and said.id.startswith(self._request.mark):
                return entry.turn or later
            later = entry.turn or later
        return None

    # A new conversation

    async def _begin(self, taken: Taken) -> Stretch:
        if taken.decisions:
            raise InvalidValue(f"No tool call found for the output with the call id {taken.decisions[0].call}.")
        if not taken.messages:
            raise InvalidValue("An input says something.")
        body, options = self._body, self._body.options()
        created = await self._conversations.create(
            scope=self._request.scope,
            key=self._request.key("conversation"),
            assistant=body.model,
            system=body.instructions or None,
            metadata={REQUEST: self._request.digest} | ({"model_options": options} if options else {}),
        )
        async with undone_if_refused(created):
            return await self._ask(created, None, taken.messages)

    # The next message

    async def _send(self, chat: ConversationHandle, before: ResponseId | None, messages: list[Message]) -> Stretch:
        if not messages:
            raise InvalidValue("An input says something.")
        turns = await chat.turns()
        if any(turn.state is TurnState.WAITING for turn in turns):
            raise InvalidValue(f"No tool output found for function call {await waiting_for(chat)}.")
        parent = None
        if before is not None and before.turn not in [turn.number for turn in turns]:
            place = await end_of_turn(chat, before.turn)
            parent = None if place == (await chat.read()).head else place
        told = [*await self._instructions(chat, parent), *messages]
        if turns and len(told) > 1:
            raise ConversationBusy("An answer is being written; what is more than one message can be sent behind it.")
        return await self._ask(chat, parent, told)

    async def _go_on(self, chat: ConversationHandle, before: ResponseId | None, taken: Taken) -> Stretch:
        told = await self._instructions(chat, None)
        tools = self._body.client_tools()
        stretch, results = await go_on(chat, before, taken.decisions, tools, is_other=bool(told or taken.messages))
        if stretch is not None:
            return stretch
        place, said = results
        return await self._ask(chat, place, [*said, *told, *taken.messages])

    async def _instructions(self, chat: ConversationHandle, head: int | None) -> list[Message]:
        """Return the instructions of the request as a message, unless they are those that hold already."""
        wanted = self._body.instructions
        if not wanted:
            return []
        held = (await chat.read()).system
        for _, message in reversed(await chat.reading.message_entries(limit=_REMEMBERED, head=head)):
            if message.role is Role.SYSTEM and any(isinstance(part, Raw) and part.of == FORM for part in message.parts):
                held = message.content
                break
        mark = Raw(type="raw", of=FORM, items=[{"instructions": True}])
        return [] if held == wanted else [Message(role=Role.SYSTEM, content=wanted, parts=(mark,))]

    async def _ask(self, chat: ConversationHandle, parent: int | None, messages: Sequence[Message]) -> Stretch:
        """Store messages, the last of which is answered."""
        await self._change(chat)
        *history, last = messages
        id, is_question = self._request.message_id(), last.role is Role.USER
        if not is_question:
            history = [*messages[:-1], last.model_copy(update={"id": id or last.id})]
        if history:
            appended = await chat.append(*history, key=self._request.key("history"), parent=parent)
            parent = appended[-1].seq
        how: dict[str, Any] = {"parent": parent, "tools": self._body.client_tools(), "key": self._request.key("turn")}
        if is_question:
            turn = await chat.accept(last.content, *last.parts, *self._about(), id=id, **how)
        else:
            turn = await chat.accept(None, **how)
        return Stretch(chat, turn)

    async def _change(self, chat: ConversationHandle) -> None:
        """Let the assistant and the options hold that the request names."""
        body, options, now = self._body, self._body.options(), await chat.read()
        changes: dict[str, Any] = {}
        if body.model not in (None, now.assistant):
            changes["assistant"] = body.model
        if options and options != now.metadata.get("model_options"):
            changes["metadata"] = {**now.metadata, "model_options": options}
        if changes:
            await chat.update(**changes)

    def _about(self) -> list[Raw]:
        """Return what is kept beside the question, to be shown again."""
        body = self._body
        about: dict[str, Any] = {"metadata": body.metadata, "previous_response_id": body.previous_response_id}
        about["background"] = body.background
        kept = {name: value for name, value in about.items() if value}
        return [Raw(type="raw", of=FORM, items=[kept])] if kept else []
