"""Questions that bring their history along and leave nothing behind: `store: false`, and chat completions."""

from collections.abc import AsyncGenerator, Sequence

from threadkeep.conversation.events import Event
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.settings import Settings
from threadkeep_protocols.dialects.stateless import Asides
from threadkeep_protocols.openai.bodies import ResponseBody, ToolUse
from threadkeep_protocols.openai.stretch import Stretch
from threadkeep_protocols.openai.taking import InputReader

Answered = tuple[Stretch, AsyncGenerator[Event, None]]
"""A turn, and its events, which end what was made for it."""


class Aside:
    """Answers in stores of their own, which are thrown away."""

    def __init__(self, conversations: Conversations, settings: Settings) -> None:
        self._conversations = conversations
        self._asides = Asides(conversations, settings.max_message_bytes)

    async def response(self, scope: Scope, body: ResponseBody) -> Answered:
        """Answer a response that is not stored."""
        taken = await InputReader(self._conversations, scope).read(body.input)
        if taken.decisions:
            raise InvalidValue(f"No tool call found for the output with the call id {taken.decisions[0].call}.")
        return await self.answer(scope, body, taken.messages, body.options(), body.instructions)

    async def answer(
        self,
        scope: Scope,
        body: ToolUse,
        messages: Sequence[Message],
        options: dict[str, object],
        instructions: str | None = None,
    ) -> Answered:
        """Answer the last of some messages."""
        if not messages:
            raise InvalidValue("An input says something.")
        self._conversations.check_assistant(body.model)
        beside, store = await self._asides.open()
        try:
            metadata = {"model_options": options} if options else {}
            chat = await beside.create(
                scope=scope, assistant=body.model, system=instructions or None, metadata=metadata
            )
            *history, last = messages
            tools = body.client_tools()
            if last.role is Role.USER:
                if history:
                    await chat.append(*history)
                turn = await chat.accept(last.content, *last.parts, tools=tools)
            else:
                turn = await chat.accept(None, parent=(await chat.append(*messages))[-1].seq, tools=tools)
            return await Stretch(chat, turn).open(beside), self._asides.follow(chat, turn, (beside, store))
        except BaseException:
            await store.close()
            raise
