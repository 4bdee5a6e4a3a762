"""Conversations with the skill creator: the real engine on a store in memory, the real tool on a real folder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.llm.base import Model
from threadkeep.runtime import open_conversations
from threadkeep.settings import Settings
from threadkeep.testing.scripted_model import ScriptedModel
from threadkeep_assistants.skill_creator import skill_creator
from threadkeep_assistants.skill_creator.agent import SkillCreator
from threadkeep_assistants.skill_creator.generation import Limits

IDEA = "I want a skill that turns meeting notes into action items"
QUICK = Limits(silence=5.0, seconds=20.0, characters=60_000, pauses=(0.0,))


class Thinking(ScriptedModel):
    """A model that plays what a test tells it to, and is taken for a real one."""

    name = "played"
    is_scripted = False


@dataclass
class Conversation:
    """One conversation, and the folder that its skills are saved in."""

    conversations: Conversations
    chat: ConversationHandle
    folder: Path

    async def hear(self, text: str) -> Message:
        """Say something and return the answer."""
        answer = await (await self.chat.send(text)).answer()
        assert answer is not None, f"nothing was said to {text!r}"
        return answer

    async def say(self, *texts: str) -> str:
        """Say one thing after the other and return the last answer."""
        answer = ""
        for text in texts:
            answer = (await self.hear(text)).content
        return answer

    async def state(self) -> dict[str, Any]:
        """Return everything that is in the state."""
        return (await self.conversations._store.state(self.chat.scope, self.chat.id)).values

    def saved(self) -> dict[str, str]:
        """Return the files that were saved."""
        return {
            str(path.relative_to(self.folder)): path.read_text() for path in self.folder.rglob("*") if path.is_file()
        }


@asynccontextmanager
async def conversation(
    folder: Path, model: str | Model = "demo", limits: Limits = QUICK, scope: Scope = LOCAL
) -> AsyncIterator[Conversation]:
    """Begin a conversation."""
    assistant = replace(skill_creator(Settings(skills_dir=str(folder))), agent=SkillCreator(limits))
    conversations = await open_conversations("memory:", [assistant], model=model, pace=0)
    try:
        yield Conversation(conversations, await conversations.create(title="A skill", scope=scope), folder)
    finally:
        await conversations.close()
    if isinstance(model, Thinking):
        model.assert_finished()
