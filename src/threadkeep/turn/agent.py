"""What thinks for an assistant, where that is more than a model: a graph, or code that leads a guided conversation.

An agent is asked like a model and answers like one, in a stream. Beside text and tool calls it may change the
conversation's state, show blocks and leave notes in the trace. It keeps nothing between two calls: everything it knows
is in what it is asked with, which comes from the log. Its tools run through ours: it asks for a call and is asked
again when the result is there.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from threadkeep.conversation.blocks import Block
from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Delta, Model, Request


@dataclass(frozen=True, slots=True)
class Noted:
    """A line for the trace of the answer, with a `kind`."""

    item: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """A block of the answer."""

    block: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Keys of the conversation's state that get a new value, and keys that go.

    It is stored in the commit of the answer, so both are there or neither. With `now` it is stored at once, for readers
    to see; then the agent must not object to finding it there when it is asked again.
    """

    set: Mapping[str, Any] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    now: bool = False


Thought = Delta | Noted | Shown | Changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an agent is asked with: the request that a bare model would get, the model that it may use, the state of the
    conversation and the messages of its branch as far as the context reaches, with their blocks, the question last or
    what was done for it."""

    request: Request
    model: Model
    state: Mapping[str, Any]
    messages: tuple[Message, ...]

    def task(self, system: str, task: str) -> Request:
        """Return a request of the agent's own: the conversation, newest first within a quarter of the model's window,
        and a task behind it. What one side said in a row is one message and tools are left out, for every provider."""
        own = [message.content for message in self.request.messages if message.role is Role.SYSTEM]
        texts, size = [(Role.USER, task)], 0
        for message in reversed(self.request.messages):
            # Four characters are about a token.
            size += len(message.content)
            if size > self.model.window:
                break
            if message.role in (Role.USER, Role.ASSISTANT) and message.content:
                texts.append((message.role, message.content))
        while texts[-1][0] is Role.ASSISTANT:
            texts.pop()
        runs = groupby(reversed(texts), key=lambda pair: pair[0])
        shown = [Message(role=role, content="\n\n".join(text for _, text in run)) for role, run in runs]
        instructions = Message(role=Role.SYSTEM, content="\n\n".join([*own, system]))
        return Request(messages=(instructions, *shown), options=self.request.options)


class Agent(ABC):
    """Thinks for an assistant."""

    @abstractmethod
    def think(self, asked: Asked) -> AsyncIterator[Thought]:
        """Answer, like a model: closing the stream stops it, without `Stopped` it was cut off, it raises ModelError."""
