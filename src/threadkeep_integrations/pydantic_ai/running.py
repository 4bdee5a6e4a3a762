"""A run of an agent of Pydantic AI as a turn: streamed to every reader, stopped by anybody, kept when a process dies.

What a model says is stored as it comes, its calls before the tools run, each result as soon as it is there. Tools that
require approval wait for a person in the log, whoever decides and whenever.
"""

from collections.abc import Collection, Mapping
from typing import Any

from threadkeep.conversation.draft_text import without_marks
from threadkeep.conversation.entry import Approval
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import PackageMissing
from threadkeep.loop_turn import LoopTurn
from threadkeep_integrations.pydantic_ai.history import FORM, fields_of, load_messages
from threadkeep_integrations.pydantic_ai.items import BETWEEN
from threadkeep_integrations.raw_items import raw_part
from threadkeep_integrations.runs import REFUSED, UNKNOWN, Runs

try:
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import HandleDeferredToolCalls, ReinjectSystemPrompt
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        PartDeltaEvent,
        PartStartEvent,
        SystemPromptPart,
        TextPart,
        TextPartDelta,
        ThinkingPart,
        ThinkingPartDelta,
        ToolResultEvent,
    )
    from pydantic_ai.tools import DeferredToolResults, ToolApproved, ToolDenied
except ImportError:
    raise PackageMissing("Runs of Pydantic AI need a package: pip install pydantic-ai-slim") from None


async def answer(
    turn: LoopTurn, conversation: ConversationHandle, agent: Any, waiting: Collection[str] = (), **options: Any
) -> Any:
    """Run the agent within a turn, on the branch that it continues, and store what it does."""
    history = await load_messages(conversation)
    if left := _unanswered(history):
        decided = await _decided(turn, left, waiting)
        history = await load_messages(conversation)
        if decided:
            options["deferred_tool_results"] = DeferredToolResults(approvals=decided)
    return await _Run(turn).streamed(agent, history, {"conversation_id": conversation.id, **options})


_RUNS = Runs(answer)
run_turn, continue_turn = _RUNS.run_turn, _RUNS.continue_turn
"""With `options` as those of `agent.iter`: `deps`, `model`, `usage_limits`."""


class _Run:
    """One run: what it does is stored before it goes on."""

    def __init__(self, turn: LoopTurn) -> None:
        self._turn = turn
        self._said = ""
        self._answered: set[str] = set()

    async def streamed(self, agent: Any, history: list[Any], options: dict[str, Any]) -> Any:
        """Run the agent, store what it does, and return its result."""
        own = [HandleDeferredToolCalls(self._ask), ReinjectSystemPrompt()]
        options["capabilities"] = [*options.get("capabilities", ()), *own]
        is_stored = is_first = True  # the request that is answered, or the response whose calls a person has allowed
        async with agent.iter(message_history=history, **options) as run:
            async for node in run:
                if Agent.is_model_request_node(node):
                    if not is_first:
                        await self._request(node.request)
                    is_stored = is_first = False
                    await self._speak(node, run.ctx)
                elif Agent.is_call_tools_node(node):
                    if not is_stored:
                        await self._response(node.model_response)
                    is_stored = is_first = False
                    async with node.stream(run.ctx) as events:
                        async for event in events:
                            if isinstance(event, ToolResultEvent):
                                await self._parts(event.part)
            for message in run.new_messages():  # what was said to the model without asking it again
                if isinstance(message, ModelRequest):
                    await self._results(message)
            return run.result

    async def _speak(self, node: Any, context: Any) -> None:
        self._said, between = "", ""
        async with node.stream(context) as events:
            async for event in events:
                match event:
                    case PartStartEvent(part=TextPart(content=text)):
                        between = BETWEEN if self._said else ""
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                        pass
                    case PartStartEvent(part=ThinkingPart(content=thought)):
                        await self._turn.reasoning(thought)
                        continue
                    case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(thought))):
                        await self._turn.reasoning(thought)
                        continue
                    case _:
                        continue
                if text:
                    self._said += between + text
                    await self._turn.text(between + text)
                    between = ""

    async def _response(self, response: ModelResponse) -> None:
        """Store a response as a whole: what was not streamed of it, the response itself, and its calls."""
        (fields,) = fields_of([response])
        (whole, *_) = FORM.said([fields])
        if whole.content.startswith(self._said):
            await self._turn.text(whole.content[len(self._said) :])
            self._said = whole.content
        is_same = without_marks(self._said) == whole.content
        part = raw_part(FORM.of, [fields], whole.content if is_same else "")
        self._turn.used(whole.usage, whole.model, (part,))
        await (self._turn.calls(*whole.tool_calls) if whole.tool_calls else self._turn.message())

    async def _request(self, request: ModelRequest) -> None:
        """Store what a further request tells the model beside the results that are stored."""
        await self._results(request)
        others = [part for part in request.parts if not isinstance(part, SystemPromptPart) and not _result_id(part)]
        if others:
            await self._parts(*others)

    async def _results(self, request: ModelRequest) -> None:
        for part in request.parts:
            if _result_id(part):
                await self._parts(part)

    async def _parts(self, *parts: Any) -> None:
        """Store parts of a request, a result only once."""
        ids = {id for part in parts if (id := _result_id(part)) is not None}
        if not ids or not ids <= self._answered:
            self._answered |= ids
            await self._turn.message(*FORM.messages(fields_of([ModelRequest(parts=list(parts))])))

    async def _ask(self, context: Any, requests: Any) -> Any:
        """Let a person decide about calls that require it."""
        ids = [call.tool_call_id for call in requests.approvals]
        if not ids:
            return None
        await self._turn.ask_approval(*ids)
        return DeferredToolResults(approvals={id: _verdict(self._turn.decisions[id]) for id in ids})


async def _decided(turn: LoopTurn, left: Mapping[str, str], waiting: Collection[str]) -> dict[str, Any]:
    """Answer the calls that a run left behind: the outcome of those that nobody has to decide about is unknown. Return
    what was decided about the others."""
    undecided = [id for id in left if id in waiting and id not in turn.decisions]
    if undecided:
        await turn.ask_approval(*undecided)
    for id in left:
        if id not in turn.decisions:
            await turn.result(id, UNKNOWN)
    return {id: _verdict(turn.decisions[id]) for id in left if id in turn.decisions}


def _verdict(decision: Approval) -> Any:
    return ToolApproved() if decision.approved else ToolDenied(message=decision.reason or REFUSED)


def _result_id(part: Any) -> str | None:
    """Return the call that a part of a request answers, if it does."""
    is_result = part.part_kind == "tool-return" or (part.part_kind == "retry-prompt" and part.tool_name)
    return part.tool_call_id if is_result else None


def _unanswered(history: list[Any]) -> dict[str, str]:
    """Return the calls behind the newest question that have no result, with the names of their tools."""
    left: dict[str, str] = {}
    for message in history:
        for part in message.parts:
            if part.part_kind == "user-prompt":
                left = {}
            elif part.part_kind == "tool-call":
                left[part.tool_call_id] = part.tool_name
            elif (id := _result_id(part)) is not None:
                left.pop(id, None)
    return left
