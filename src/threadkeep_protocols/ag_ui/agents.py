"""Assistants as the agents of AG-UI: run, connected to and stopped, whatever routes lead here."""

from contextlib import suppress

from starlette.responses import Response

from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, TurnNotFound
from threadkeep_protocols.ag_ui.running import begun
from threadkeep_protocols.ag_ui.showing import Json
from threadkeep_protocols.ag_ui.streams import AgentRun, events_of, failed
from threadkeep_protocols.ag_ui.taking import RunInput
from threadkeep_protocols.chats import find_chat, open_chat
from threadkeep_protocols.wire import data_stream

DEFAULT = "default"
"""What front ends call the agent that they do not name."""


class Agents:
    """Runs assistants."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    def named(self, agent: str) -> str | None:
        """Return the name of the assistant behind that of an agent; InvalidValue if there is none."""
        if agent == DEFAULT and DEFAULT not in self._conversations.assistants:
            return None
        self._conversations.check_assistant(agent)
        return agent

    async def run(self, scope: Scope, agent: str, body: RunInput) -> Response:
        """Answer with a run. A thread is made by the first one; who answers in it is who did then."""
        assistant = self.named(agent)
        chat = await open_chat(self._conversations, scope, body.threadId, assistant)
        return data_stream(events_of(chat, body, await begun(self._conversations, chat, body)), failed)

    async def connect(self, scope: Scope, agent: str, body: RunInput) -> Response:
        """Answer with all that was said, and with what is being answered until nothing is."""
        self.named(agent)
        try:
            chat = await find_chat(self._conversations, scope, body.threadId)
        except ConversationNotFound:
            chat = None  # a new thread, to which nothing was sent yet
        return data_stream(events_of(chat, body, AgentRun()), failed)

    async def stop(self, scope: Scope, thread: str) -> Json:
        """Stop the answer that is being written."""
        chat = await find_chat(self._conversations, scope, thread)
        with suppress(TurnNotFound):  # it has just ended
            await chat.cancel()
        return {"stopped": True}
