"""What an exchange comes to: words, maybe blocks, and what is to be done beside answering."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from threadkeep.assistants.skill_creator.intents import Intent
from threadkeep.conversation.blocks import Block


class Then(StrEnum):
    """What follows: the answer is all, the skill is written, or it is saved."""

    ANSWER = "answer"
    WRITE = "write"
    SAVE = "save"


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said, and what follows; an answer is then made by what follows."""

    text: str = ""
    blocks: tuple[Block, ...] = ()
    then: Then = Then.ANSWER


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a person said: the words, what they want, and the parts of a skill that were understood from them."""

    text: str
    intent: Intent
    parts: dict[str, Any] = field(default_factory=dict)
