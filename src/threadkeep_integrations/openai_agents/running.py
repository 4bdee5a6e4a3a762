"""A run of the OpenAI Agents SDK as a turn: streamed to every reader, stopped by anybody, kept when a process dies.

What a model says is stored as it comes, its calls before the tools run, each result as soon as it is there. Calls that
need an approval wait for a person in the log, whoever decides and whenever.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from threadkeep.conversation.draft_text import without_marks
from threadkeep.conversation.message import Usage
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import PackageMissing
from threadkeep.loop_turn import LoopTurn
from threadkeep_integrations.openai_agents.items import (
    FORM,
    Item,
    calls_of,
    message_of,
    messages_of,
    thoughts_of,
    unanswered,
)
from threadkeep_integrations.raw_items import plain, raw_part
from threadkeep_integrations.runs import REFUSED, UNKNOWN, Runs

try:
    from agents import FunctionTool, RunHooks, Runner
    from agents.tool_context import ToolContext
except ImportError:
    raise PackageMissing("Runs of the OpenAI Agents SDK need a package: pip install openai-agents") from None

_RESULTS = ("tool_call_output_item", "handoff_output_item")
_SAID = ("response.output_text.delta", "response.refusal.delta")
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")


async def answer(
    turn: LoopTurn, conversation: ConversationHandle, agent: Any, waiting: Collection[str] = (), **options: Any
) -> Any:
    """Run the agent within a turn, on the branch that it continues, and store what it does."""
    items = await _history(conversation)
    asked = max((number for number, item in enumerate(items) if item.get("role") == "user"), default=0)
    if left := unanswered(items[asked:]):
        await _make_up_for(turn, agent, left, waiting, options.get("context"))
        items = await _history(conversation)
    given: Any = list(_paired(items))
    while True:
        result = await _Run(turn, options).streamed(agent, given)
        if not result.interruptions:
            return result
        waits = {str(each.raw_item.call_id): each for each in result.interruptions}
        await turn.ask_approval(*waits)
        given = result.to_state()
        for id, each in waits.items():
            decision = turn.decisions[id]
            if decision.approved:
                given.approve(each)
            else:
                given.reject(each, rejection_message=decision.reason or REFUSED)


_RUNS = Runs(answer)
run_turn, continue_turn = _RUNS.run_turn, _RUNS.continue_turn
"""With `options` as those of `Runner.run_streamed`: `context`, `max_turns`, `run_config`."""


class _Run(RunHooks):  # type: ignore[misc] # the package is in an environment of its own
    """One run: its stream is read here, and what it is about to do waits until that is stored."""

    def __init__(self, turn: LoopTurn, options: Mapping[str, Any]) -> None:
        self._turn = turn
        self._options = options
        self._said = ""
        self._answered: set[str] = set()
        self._stored = asyncio.Event()

    async def streamed(self, agent: Any, given: Any) -> Any:
        """Run the agent, store what it does, and return its result."""
        options = dict(self._options)
        if hooks := options.pop("hooks", None):
            raise TypeError(f"hooks belong to the agent: {type(hooks).__name__} cannot be given to a turn")
        result = Runner.run_streamed(agent, given, hooks=self, **options)
        try:
            async for event in result.stream_events():
                if event.type == "raw_response_event":
                    await self._hear(event.data)
                elif event.type == "run_item_stream_event" and event.item.type in _RESULTS:
                    await self._result(plain(event.item.to_input_item()))
        finally:
            self._stored.set()
            if not result.is_complete:
                result.cancel()
        return result

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self._said = ""
        self._stored.clear()

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        await self._stored.wait()

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        if isinstance(context, ToolContext) and isinstance(result, str):
            await self._result({"call_id": context.tool_call_id, "output": result, "type": "function_call_output"})

    async def _hear(self, event: Any) -> None:
        if event.type in _SAID:
            self._said += event.delta
            await self._turn.text(event.delta)
        elif event.type in _THOUGHTS:
            await self._turn.reasoning(event.delta)
        elif event.type in _ENDS:
            await self._end(event.response)
            self._stored.set()

    async def _end(self, response: Any) -> None:
        """Store a response as a whole: what was not streamed of it, its items, and its calls."""
        items: list[Item] = [plain(each.model_dump(mode="json", exclude_unset=True)) for each in response.output]
        if not items:
            return
        whole = message_of([item for item in items if item.get("role") != "user"])
        if not self._said and whole.parts and not whole.content and not whole.tool_calls:
            await self._turn.reasoning(thoughts_of(items))
        if whole.content.startswith(self._said):
            await self._turn.text(whole.content[len(self._said) :])
            self._said = whole.content
        is_same = without_marks(self._said) == whole.content
        part = FORM.beside(whole, items) if is_same else raw_part(FORM.of, items, "")
        self._turn.used(_usage(response.usage), plain(response.model or None), (part,))
        calls = calls_of(items)
        await (self._turn.calls(*calls) if calls else self._turn.message())

    async def _result(self, item: Item) -> None:
        if item.get("call_id") not in self._answered:
            self._answered.add(str(item.get("call_id")))
            await self._turn.message(*messages_of([item]))


async def _make_up_for(
    turn: LoopTurn, agent: Any, left: Sequence[Item], waiting: Collection[str], context: Any
) -> None:
    """Answer the calls that a run left behind: what a person allowed runs now, the outcome of others is unknown."""
    undecided = [id for item in left if (id := str(item["call_id"])) in waiting and id not in turn.decisions]
    if undecided:
        await turn.ask_approval(*undecided)
    tools = {tool.name: tool for tool in agent.tools if isinstance(tool, FunctionTool)}
    for item in left:
        id, name = str(item["call_id"]), str(item.get("name"))
        decision = turn.decisions.get(id)
        if decision is None:
            output = UNKNOWN
        elif not decision.approved or name not in tools:
            output = decision.reason or REFUSED
        else:
            called = {"tool_name": name, "tool_call_id": id, "tool_arguments": item["arguments"]}
            output = str(await tools[name].on_invoke_tool(ToolContext(context, **called), item["arguments"]))
        await turn.result(id, plain(output))


async def _history(conversation: ConversationHandle) -> list[Item]:
    return FORM.records(await conversation.messages(None))


def _paired(items: Sequence[Item]) -> Iterator[Item]:
    """Yield items in which every call has a result, as models demand it."""
    left = {id(item) for item in unanswered(items)}
    for item in items:
        yield item
        if id(item) in left:
            yield {"call_id": item["call_id"], "output": UNKNOWN, "type": f"{item['type']}_output"}


def _usage(usage: Any) -> Usage | None:
    if usage is None:
        return None
    cached = getattr(usage.input_tokens_details, "cached_tokens", 0) or 0
    return Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cached_tokens=cached)
