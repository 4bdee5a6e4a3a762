"""A compiled LangGraph graph as the agent of an assistant.

The graph gets the history in `messages`: its memory is the log. What its nodes say is
streamed; a tool call that is unanswered at the graph's end is stored and run by Threadkeep, and the graph is run again
with the result in `messages`. In a node, `Runtime[GraphContext]` gives the model to use, and what is written to
LangGraph's stream writer goes into the answer: a block is shown, an object with a `kind` goes into its trace. Keys of
its state that are named as `shown` are kept in the conversation's state, and given back whenever it runs again.

A graph that was compiled with a checkpointer remembers all of its state, and may pause (`interrupt()`): its turn then
waits for a person's approval. What it remembers is in the log (`memory`), in place of that checkpointer.
"""

import json
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.channels import BinaryOperatorAggregate
from langgraph.errors import GraphRecursionError

from threadkeep.conversation.blocks import Block
from threadkeep.conversation.message import Message
from threadkeep.errors import InvalidValue, ModelError, ModelRefused
from threadkeep.llm.base import CallPart, Model, Reasoned, Stopped, Text, ToolSpec, Used
from threadkeep.turn.agent import Agent, Asked, Changed, Noted, ShownBlock, Thought
from threadkeep_integrations.graphs.chat_model import KeptChatModel
from threadkeep_integrations.graphs.memory import ASKS, KEY, Interrupt, Memory, Resume, resumed
from threadkeep_integrations.langchain.messages import ChunkReader, to_langchain
from threadkeep_integrations.langgraph.forms import StrictSerializer

MODES = ["messages", "updates", "values", "custom"]
PAUSED = "__interrupt__"
"""The update that LangGraph sends for a node that called `interrupt()` or has an `interrupt_before`."""
MOST_STEPS = 100
"""Steps after which a graph is assumed to run in circles."""


class PauseUnsupported(ModelError, code="pause_unsupported"):
    """The graph paused for a person, which needs a checkpointer: compile it with one.

    Where an assistant has only the name of its agent, it has not the agent's tools, by which a graph asks.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphContext:
    """What the nodes of a graph may use: the conversation's model (as LangChain's and as Threadkeep's), its tools, its
    state, and its messages as they are stored, with their blocks."""

    model: BaseChatModel
    plain_model: Model
    tools: tuple[ToolSpec, ...]
    state: Mapping[str, Any]
    messages: tuple[Message, ...]


class GraphAgent(Agent):
    """A graph as an agent. `speakers` are the nodes whose words are the answer (none: all of them); `shown` are the
    keys of the graph's state that are copied into the conversation's state, node by node, and given back to the graph
    when it runs again: in the same turn and in the next ones. All else of its state ends with a run, unless the graph
    has a checkpointer; `resume` then says what `interrupt()` returns when a person has decided (whether they agreed),
    and `allowed` which classes of its own may be in its state."""

    def __init__(
        self,
        graph: Any,
        *,
        speakers: Collection[str] | None = None,
        shown: Collection[str] = (),
        resume: Resume = resumed,
        allowed: Collection[type | tuple[str, ...]] = (),
    ) -> None:
        if not hasattr(graph, "astream"):
            raise InvalidValue(f"An agent needs a compiled graph, not a {type(graph).__name__}: call its compile().")
        self._remembers = bool(getattr(graph, "checkpointer", None))
        self._serde = StrictSerializer(allowed)
        self._resume = resume
        self.tools = (Interrupt(),) if self._remembers else ()
        channels = getattr(graph, "channels", dict.fromkeys(shown))
        if unknown := sorted({*shown} - channels.keys() | {*shown} & {"messages"}):
            raise InvalidValue(f"The state of the graph has nothing to show as {', '.join(unknown)}.")
        self._graph = graph
        self._speakers = speakers
        # Where a reducer adds up what nodes return, the sum is what is kept, not what one of them returned.
        self._sums = frozenset(key for key in shown if isinstance(channels[key], BinaryOperatorAggregate))
        self._shown = frozenset(shown) - self._sums

    async def think(self, asked: Asked) -> AsyncIterator[Thought]:
        heard, memory = _Heard(), self._memory(asked)
        if memory is not None and memory.is_refused:
            yield Stopped("stop")
            return
        try:
            async with aclosing(self._run_graph(asked, memory)) as parts:
                async for mode, part in parts:
                    for thought in self._thoughts(mode, part, heard):
                        yield thought
        except GraphRecursionError as error:
            raise ModelRefused(f"The graph did not come to an end: {error}") from None
        calls = heard.unanswered
        if heard.pauses is not None:
            if memory is None or all(tool.name != ASKS for tool in asked.request.tools):
                raise PauseUnsupported
            calls = memory.calls(heard.pauses)
        if memory is not None:
            yield Changed(set={KEY: memory.kept()})
        for thought in _call_parts(calls):
            yield thought
        yield Stopped("tool_calls" if calls else "stop")

    def _memory(self, asked: Asked) -> Memory | None:
        return Memory(asked=asked, serde=self._serde, resume=self._resume) if self._remembers else None

    def _run_graph(self, asked: Asked, memory: Memory | None) -> Any:
        context = GraphContext(
            model=KeptChatModel(model=asked.model, options=asked.request.options),
            plain_model=asked.model,
            tools=tuple(tool for tool in asked.request.tools if memory is None or tool.name != ASKS),
            state=asked.state,
            messages=asked.messages,
        )
        config: dict[str, Any] = {"recursion_limit": MOST_STEPS}
        if memory is not None:
            graph, config = self._graph.copy(update={"checkpointer": memory.saver}), config | memory.config()
            return graph.astream(memory.given(), config, context=context, stream_mode=MODES, durability="sync")
        kept = {key: asked.state[key] for key in (self._shown | self._sums) & asked.state.keys()}
        given = {**kept, "messages": to_langchain(asked.request.messages)}
        return self._graph.astream(given, config, context=context, stream_mode=MODES)

    def _thoughts(self, mode: str, part: Any, heard: "_Heard") -> Iterator[Thought]:
        match mode:
            case "messages":
                message, about = part
                node = about.get("langgraph_node", "")
                yield from heard.said(message, aloud=self._speakers is None or node in self._speakers)
            case "updates":
                if PAUSED in part:
                    heard.pauses = [*(heard.pauses or ()), *part[PAUSED]]
                for node, update in part.items():
                    if node != PAUSED:
                        heard.updated(update)
                        yield self._step(node, update)
            case "values":
                sums = {key: part[key] for key in self._sums & part.keys()}
                # The first values are those that the graph begins with.
                if heard.sums is not None and sums != heard.sums:
                    yield Changed(set=sums, now=True)
                heard.sums = sums
            case _:
                yield from _thoughts_written(part)

    def _step(self, node: str, update: Any) -> Changed:
        """Return the change of state that shows that a node is done, and what it found."""
        found = update if isinstance(update, Mapping) else {}
        return Changed(set={"node": node, **{key: found[key] for key in self._shown & found.keys()}}, now=True)


def _thoughts_written(part: Any) -> Iterator[Thought]:
    if isinstance(part, Block):
        yield ShownBlock(part)
    elif isinstance(part, dict) and isinstance(part.get("kind"), str):
        yield Noted(part)


@dataclass
class _Heard:
    """Collects what the nodes of a graph said: text, tokens, open tool calls, what adds up in its state, and what it
    asks while it pauses (none: it does not)."""

    pauses: list[Any] | None = None
    sums: dict[str, Any] | None = None
    _chunks: ChunkReader = field(default_factory=ChunkReader)
    _speaking: str | None = None
    _calls: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def unanswered(self) -> list[dict[str, Any]]:
        return list(self._calls.values())

    def said(self, message: BaseMessage, *, aloud: bool) -> Iterator[Thought]:
        """Yield text, thoughts and tokens of a message, or a part of it; another message begins another paragraph."""
        if not isinstance(message, AIMessage):
            return
        for delta in self._chunks.deltas(message):
            if isinstance(delta, Used):
                yield delta
            elif isinstance(delta, Reasoned) and aloud and delta.text:
                # For readers only, without a payload: the message of a node is not sent back to a provider.
                yield Reasoned(text=delta.text)
            elif isinstance(delta, Text) and aloud:
                parted = self._speaking not in (None, message.id)
                self._speaking = message.id
                yield Text(f"\n\n{delta.text}") if parted else delta

    def updated(self, update: Any) -> None:
        """Take note of the calls and the results that a node has put into `messages`."""
        found = update.get("messages", ()) if isinstance(update, Mapping) else ()
        for message in found if isinstance(found, list | tuple) else (found,):
            if isinstance(message, AIMessage):
                self._calls |= {str(call["id"]): dict(call) for call in message.tool_calls}
            elif isinstance(message, ToolMessage):
                self._calls.pop(message.tool_call_id, None)


def _call_parts(calls: list[dict[str, Any]]) -> Iterator[CallPart]:
    for index, call in enumerate(calls):
        yield CallPart(index=index, id=call["id"], name=call["name"], args=json.dumps(call["args"]))
