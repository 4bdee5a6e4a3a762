"""The conversation of a terminal chat: created with the first message, or resumed; and the greeting."""

import argparse
import shlex
from dataclasses import dataclass, field
from typing import Any

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, InvalidValue
from threadkeep.settings import Settings
from threadkeep.turn.assistant import Assistant
from threadkeep_integrations.loop_thread import LoopThread
from threadkeep_terminal.chat_terminal import ChatTerminal


@dataclass
class Session:
    """What the parts of the chat share. `fields` are those of a conversation that is yet to be created,
    `attached` the files that go with the next message."""

    background: LoopThread
    terminal: ChatTerminal
    conversations: Conversations
    assistant: Assistant
    id: str = field(default_factory=new_id)
    fields: dict[str, Any] = field(default_factory=dict)
    found: ConversationHandle | None = None
    attached: list[Attachment] = field(default_factory=list)
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


async def resumed(conversations: Conversations, arguments: argparse.Namespace) -> ConversationHandle:
    """Return the conversation to go on with, with the model that was asked for."""
    found = await conversations.get(arguments.resume or await _newest_conversation(conversations))
    if arguments.model not in (None, found.value.model):
        await found.update(model=arguments.model)
    return found


async def _newest_conversation(conversations: Conversations) -> str:
    page = await conversations.list(limit=1)
    if not page.items:
        raise ConversationNotFound("There is no conversation to resume in this store.")
    return page.items[0].id


def assistant_of(conversations: Conversations, conversation: Conversation, asked_for: Assistant | None) -> Assistant:
    """Return the assistant of a conversation; InvalidValue if the command line names another."""
    owner = conversation.assistant
    try:
        assistant = conversations.assistant_of(conversation)
    except InvalidValue:
        raise InvalidValue(f"This conversation is with the assistant {owner}; name it with --assistant.") from None
    if asked_for is not None and assistant.name != asked_for.name:
        raise InvalidValue(f"This conversation is with the assistant {owner}, not {asked_for.name}.")
    return assistant


def greet(session: Session, settings: Settings, arguments: argparse.Namespace) -> None:
    """Show the greeting. UnknownModel if the model cannot be loaded."""
    chosen = None if session.found is None else session.background.run(session.conversation.read()).model
    model = session.conversations.model(chosen or arguments.model, session.assistant)
    say = session.terminal.say
    say(f"{model.name} answers. {_why_this_model(session, chosen, arguments)}")
    if model.is_scripted:
        say(f"{model.name} is scripted: it plays fixed answers, and no language model is connected.")
    say(f"This is conversation {session.id}. To go on with it later:")
    say(f"  {way_back(session, settings, arguments)}")
    if session.terminal.is_interactive:
        say("/help lists what else you can do, Ctrl-C stops an answer, Ctrl-D leaves.")


def _why_this_model(session: Session, chosen: str | None, arguments: argparse.Namespace) -> str:
    if arguments.model:
        return "You chose it."
    if chosen:
        return "It was chosen for this conversation."
    if session.assistant.model:
        return f"The assistant {session.assistant.name} asks for it."
    return session.conversations.model_choice.reason


def way_back(session: Session, settings: Settings, arguments: argparse.Namespace) -> str:
    """Return the command that resumes this conversation; it shows no password."""
    words = ["threadkeep", "chat", "--resume", session.id]
    words += ["--config", arguments.config] if arguments.config else []
    words += ["--assistant", arguments.assistant] if arguments.assistant else []
    words += ["--store", settings.store_without_secrets] if arguments.store else []
    return shlex.join(words)
