"""A conversation as the terminal holds it: made when the first thing is said in it, or resumed."""

import argparse
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from threadkeep.background import LoopThread
from threadkeep.cli.terminal import Terminal
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, InvalidValue
from threadkeep.turn.assistant import Assistant


@dataclass(kw_only=True)
class Session:
    """What the parts of the chat share. `fields` are those of a conversation that is yet to be created."""

    background: LoopThread
    terminal: Terminal
    conversations: Conversations
    assistant: Assistant
    id: str = field(default_factory=new_id)
    fields: dict[str, Any] = field(default_factory=dict)
    found: ConversationHandle | None = None
    is_over: bool = False

    @property
    def conversation(self) -> ConversationHandle:
        """The conversation; ConversationNotFound if nothing was said yet."""
        if self.found is None:
            raise ConversationNotFound("Nothing has been said in this conversation yet.")
        return self.found

    def begin(self) -> ConversationHandle:
        """Return the conversation, created if need be."""
        if self.found is None:
            self.found = self.background.run(self.conversations.create(id=self.id, **self.fields))
        return self.found

    def backwards(self, head: int | None = None) -> AsyncIterator[Entry]:
        """Yield the entries of a branch (none: the current one), the newest first."""
        return self.conversation.backwards(head)

    async def newest(self, limit: int, until: int | None = None) -> list[Message]:
        """Return the newest messages of the current branch, oldest first; none that is stored behind `until`."""
        found: list[Message] = []
        async for entry in self.backwards():
            if len(found) == limit:
                break
            if isinstance(entry.body, Message) and (until is None or entry.seq <= until):
                found.append(entry.body)
        return found[::-1]


async def resumed(conversations: Conversations, arguments: argparse.Namespace) -> ConversationHandle:
    """Return the conversation to go on with, with the model that was asked for."""
    found = await conversations.get(arguments.resume or await _newest(conversations))
    if arguments.model not in (None, found.value.model):
        await found.update(model=arguments.model)
    return found


async def _newest(conversations: Conversations) -> str:
    page = await conversations.list(limit=1)
    if not page.items:
        raise ConversationNotFound("There is no conversation to resume in this store.")
    return page.items[0].id


def assistant_of(conversations: Conversations, conversation: Conversation, asked_for: Assistant | None) -> Assistant:
    """Return who answers in a conversation; InvalidValue if that is not whom the command line names."""
    owner = conversation.assistant
    try:
        assistant = conversations.assistant_of(conversation)
    except InvalidValue:
        raise InvalidValue(f"This conversation is with the assistant {owner}; name it with --assistant.") from None
    if asked_for is not None and assistant.name != asked_for.name:
        raise InvalidValue(f"This conversation is with the assistant {owner}, not {asked_for.name}.")
    return assistant
