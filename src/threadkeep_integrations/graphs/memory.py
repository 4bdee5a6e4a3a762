"""What a graph with a checkpointer remembers, kept in the state of the conversation: its state beyond the messages,
which are the log's, and the place where it goes on while it waits for a person.

A run has a checkpointer of its own, filled from there and read out at the end: only what is in the log outlives a run.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.types import Command

from threadkeep.conversation.entry import Approval
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.llm.base import ToolSpec
from threadkeep.tools.base import Tool, ToolContext, ToolOutcome
from threadkeep.turn.agent import Asked
from threadkeep_integrations.langchain.messages import to_langchain
from threadkeep_integrations.langgraph.forms import Form, form_of, is_plain, value_of
from threadkeep_integrations.raw_items import plain

logger = logging.getLogger("threadkeep.graphs.memory")

KEY = "graph"
"""Where it stands in the state of the conversation."""
ASKS = "interrupt"
"""The name of the call by which a graph asks a person."""
Resume = Callable[[Any, Approval], Any]
"""Makes what `interrupt()` returns of what it was given, and of what the person decided."""
_THREAD = "turn"


class Interrupt(Tool):
    """What a graph asks a person: the call waits for an approval, and nothing is run."""

    needs_approval = True
    repeatable = True
    spec = ToolSpec(
        name=ASKS,
        description="The graph waits for a person.",
        parameters={"type": "object", "properties": {"asks": {}}},
    )

    async def run(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Tell the graph that it may go on."""
        return ToolOutcome(content="approved")


def resumed(value: Any, decision: Approval) -> Any:
    """Return whether the person agreed; or, where LangChain's middleware asks about calls, its form of that."""
    if isinstance(value, Mapping) and isinstance(requests := value.get("action_requests"), list):
        refusal = {"type": "reject", "message": decision.reason or "A person did not allow this call."}
        return {"decisions": [{"type": "approve"} if decision.approved else refusal for _ in requests]}
    return decision.approved


@dataclass(kw_only=True)
class Memory:
    """The memory of one run: what was kept before, and what the person has decided since."""

    asked: Asked
    serde: SerializerProtocol
    resume: Resume
    saver: InMemorySaver = field(init=False)
    decisions: dict[str, Approval] = field(init=False)

    def __post_init__(self) -> None:
        kept = self.asked.state.get(KEY)
        self._kept: Mapping[str, Any] = kept if isinstance(kept, Mapping) else {}
        found = {decision.tool_call_id: decision for decision in _decided(self.asked.messages)}
        waits = self._kept.get("waits") or {}
        self.decisions = {id: found[id] for id in waits} if waits.keys() <= found.keys() else {}
        self._messages = {str(each.id): each for each in to_langchain(_without_asking(self.asked.request.messages))}
        self._waits: dict[str, Any] = {}
        self.saver = InMemorySaver(serde=self.serde)
        try:
            for namespace, space in (self._kept.get("spaces") or {}).items():
                self._restore(namespace, space)
        except (AttributeError, LookupError, TypeError, ValueError):  # an import may have brought anything
            logger.warning("what a graph had remembered cannot be read, and is left out")
            self.saver, self.decisions = InMemorySaver(serde=self.serde), {}

    def given(self) -> Any:
        """Return what the graph is to be asked with: the messages of the log, or what a person decided."""
        if not self.decisions:
            return {"messages": [*self._messages.values()]}
        waits = {id: self._kept["waits"][id] for id in self.decisions}
        answers = {
            wait["id"]: self.resume(value_of(wait["value"], self.serde), self.decisions[id])
            for id, wait in waits.items()
            if wait["id"] is not None
        }
        return Command(resume=answers) if answers else None

    @property
    def is_refused(self) -> bool:
        """Whether a person said no to a graph that pauses between two nodes, which cannot be told of it."""
        waits = self._kept.get("waits") or {}
        return any(not each.approved and waits[id]["id"] is None for id, each in self.decisions.items())

    def config(self, namespace: str = "") -> Any:
        return {"configurable": {"thread_id": _THREAD, "checkpoint_ns": namespace}}

    def calls(self, interrupts: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the calls by which a paused graph asks a person; without interrupts it pauses between two nodes."""
        calls = []
        for each in interrupts or (None,):
            id, value = f"call_{new_id()}", getattr(each, "value", "May the graph go on?")
            self._waits[id] = {"id": getattr(each, "id", None), "value": form_of(value, self.serde)}
            calls.append({"id": id, "name": ASKS, "args": {"asks": plain(value) if is_plain(value) else str(value)}})
        return calls

    def kept(self) -> dict[str, Any]:
        """Return what is to be kept of the run."""
        namespaces = self.saver.storage.get(_THREAD, {})
        return {"spaces": {each: self._space(each) for each in namespaces}, "waits": self._waits}

    def _space(self, namespace: str) -> dict[str, Any]:
        found = self.saver.get_tuple(self.config(namespace))
        if found is None:
            return {}
        checkpoint: dict[str, Any] = {**found.checkpoint}
        values = checkpoint.pop("channel_values")
        written = self.saver.writes.get((_THREAD, namespace, checkpoint["id"]), {}).values() if self._waits else ()
        return {
            "checkpoint": form_of(checkpoint, self.serde),
            "metadata": form_of({**found.metadata}, self.serde),
            "values": {
                channel: self._form(value) for channel, value in values.items() if self._is_kept(namespace, channel)
            },
            "writes": [
                [task, path, channel, self._form(self.serde.loads_typed(raw))] for task, channel, raw, path in written
            ],
        }

    def _is_kept(self, namespace: str, channel: str) -> bool:
        """Whether a channel is not the messages, which are the log's; a graph that waits has its own in them, too."""
        return bool(self._waits) or namespace != "" or channel != "messages"

    def _form(self, value: Any) -> Form:
        if type(value) is list and any(isinstance(each, BaseMessage) for each in value):
            return {"messages": [self._one(each) for each in value]}
        return form_of(value, self.serde)

    def _one(self, value: Any) -> Form:
        known = self._messages.get(str(getattr(value, "id", None)))
        return {"log": known.id} if known is not None and known == value else form_of(value, self.serde)

    def _value(self, form: Form) -> Any:
        if "messages" not in form:
            return value_of(form, self.serde)
        known = (
            self._messages.get(each["log"]) if "log" in each else value_of(each, self.serde)
            for each in form["messages"]
        )
        return [each for each in known if each is not None]

    def _restore(self, namespace: str, space: Mapping[str, Any]) -> None:
        if not space:
            return
        checkpoint = value_of(space["checkpoint"], self.serde)
        waits = bool(self.decisions)
        values = {
            channel: self._value(form)
            for channel, form in space["values"].items()
            if waits or namespace or channel != "messages"
        }
        metadata = value_of(space["metadata"], self.serde)
        whole: Any = {**checkpoint, "channel_values": values}
        stored = self.saver.put(self.config(namespace), whole, metadata, checkpoint["channel_versions"])
        for task, path, channel, form in space["writes"] if waits else ():
            self.saver.put_writes(stored, [(channel, self._value(form))], task, path)


def _decided(messages: Sequence[Message]) -> Iterator[Approval]:
    """Yield what a person has decided about calls since anybody said something."""
    for message in reversed(messages):
        if message.tool_result is not None:
            id, error = message.tool_result.tool_call_id, message.tool_result.error
            reason = message.content.partition(": ")[2].partition(": ")[2] or None
            yield Approval(tool_call_id=id, approved=error is None, reason=None if error is None else reason)
        elif message.status is not MessageStatus.INTERRUPTED:
            return


def _without_asking(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages without the calls by which graphs have asked, and their results: these are no tools."""
    asked = set[str]()
    for message in messages:
        asking = {call.id for call in message.tool_calls if call.name == ASKS}
        asked |= asking
        if message.role is Role.TOOL and message.tool_result and message.tool_result.tool_call_id in asked:
            continue
        calls = tuple(call for call in message.tool_calls if call.id not in asking)
        if not asking or calls or message.content:
            yield message.model_copy(update={"tool_calls": calls}) if asking else message
