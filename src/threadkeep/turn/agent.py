"""Agents: what answers for an assistant in place of a bare model: a graph, or code that leads a guided conversation.

An agent is asked like a model and answers like one, in a stream. Besides text and tool calls it may change the
conversation's state, show blocks and leave notes in the trace. It keeps nothing between two calls: all that it knows is
in `Asked`, which comes from the log. Tools run in the engine: the agent asks for a call, and is asked again when the
result is there.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from threadkeep.conversation.blocks import Block
from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Delta, Model, Request
from threadkeep.tools.base import Tool


@dataclass(frozen=True, slots=True)
class Noted:
    """A line for the trace of the answer, with a `kind`."""

    item: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block of the answer."""

    block: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Keys of the conversation's state that get a new value, and keys that are removed.

    It is stored in the same commit as the answer. With `now` it is stored at once, so that readers see it; after a
    crash the agent may then be asked again with the change already made.
    """

    set: Mapping[str, Any] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    now: bool = False


Thought = Delta | Noted | ShownBlock | Changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an agent gets: the request that a bare model would get, a model to use, the state of the conversation, and
    the messages of the branch that are in the context, with their blocks; the last is the question or a tool's
    result."""

    request: Request
    model: Model
    state: Mapping[str, Any]
    messages: tuple[Message, ...]

    def task(self, system: str, task: str) -> Request:
        """Return a request of the agent's own: as much of the newest conversation as fits a quarter of the model's
        window, and then a task. Messages of one side in a row are joined and tools left out, for every provider."""
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
    """Answers for an assistant, which has its `tools` as well."""

    tools: tuple[Tool, ...] = ()

    @abstractmethod
    def think(self, asked: Asked) -> AsyncIterator[Thought]:
        """Answer like a model: closing the stream stops it, a stream without `Stopped` was cut off, errors are
        ModelError."""
