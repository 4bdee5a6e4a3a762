"""The tools that a turn may use, by name, and running a model's calls of them: every call gets an outcome.

A registry does not change; `plus` makes another one. The engine stores the calls before and the outcomes after.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from functools import cached_property
from inspect import isfunction

from threadkeep.conversation.message import ToolCall
from threadkeep.errors import InvalidValue
from threadkeep.llm.base import ToolSpec
from threadkeep.tools.base import Tool, ToolContext, ToolOutcome
from threadkeep.tools.outcome import attempt, failure, outcome_of

AT_ONCE = 16
"""How many calls of one answer run at the same time; the others wait."""
SHOWN_CHARACTERS = 20_000
"""How much of a result a model sees unless the assistant says otherwise."""
_SHOWN_NAMES = 20


def _check_tool(given: object) -> None:
    if not isinstance(given, Tool):
        named = f"{given.__module__}:{given.__name__}" if isfunction(given) else repr(given)
        raise InvalidValue(f"{named} is no tool; is there a @tool on top of it?")


class Registry:
    """A set of tools with different names, in the order in which they were given."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            _check_tool(tool)
            if tool.spec.name in self._tools:
                raise InvalidValue(f"Two tools are named {tool.spec.name}; give one of them another name.")
            self._tools[tool.spec.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def digest(self, name: str) -> str:
        """Return the digest of a tool's definition; empty if there is no such tool."""
        tool = self._tools.get(name)
        return tool.spec.digest if tool is not None else ""

    def specs(self) -> tuple[ToolSpec, ...]:
        return self._specs

    @cached_property
    def _specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self)

    @cached_property
    def described(self) -> str:
        """The definitions of all tools as JSON, which a request has besides its messages; empty without tools."""
        return json.dumps([asdict(spec) for spec in self._specs]) if self._specs else ""

    def plus(self, found: Iterable[Tool]) -> "Registry":
        """Return a registry with further tools, such as those of MCP servers; a taken name keeps its tool."""
        new = {tool.spec.name: tool for tool in found if tool.spec.name not in self._tools}
        return Registry([*self, *new.values()]) if new else self

    def unknown(self, name: str) -> ToolOutcome:
        """Return the outcome of a call of an unknown tool, which names the closest and all known tools."""
        if not self._tools:
            return failure(f"There is no tool {name!r}; no tools can be called here.")
        close = get_close_matches(name, self._tools, n=3)
        meant = f" Did you mean {' or '.join(close)}?" if close else ""
        shown = ", ".join(list(self._tools)[:_SHOWN_NAMES])
        more = f" and {len(self) - _SHOWN_NAMES} more" if len(self) > _SHOWN_NAMES else ""
        return failure(f"There is no tool {name!r}.{meant} The tools are: {shown}{more}.")


async def run_call(registry: Registry, call: ToolCall, context: ToolContext, flaw: str | None = None) -> ToolOutcome:
    """Run one call, unless it has a `flaw`: arguments that could not be read.

    Raises LeaseLost, without running anything, if the turn is not ours any more.
    """
    tool = registry.get(call.name)
    if tool is None:
        return registry.unknown(call.name)
    if flaw is not None:
        return failure(flaw)
    await context.confirm()
    return await attempt(lambda: _run(tool, call, context), timeout=None)


async def _run(tool: Tool, call: ToolCall, context: ToolContext) -> ToolOutcome:
    """Run the tool as this call, and check what it returned: anybody may write a tool."""
    return outcome_of(await tool.run(call.args, replace(context, call_id=call.id)))


async def run_calls(
    registry: Registry, calls: Sequence[ToolCall], context: ToolContext, flaws: Mapping[str, str] | None = None
) -> AsyncGenerator[tuple[ToolCall, ToolOutcome], None]:
    """Run calls in parallel and yield each with its outcome as it finishes. `flaws` are by the id of the call.

    Closing the iterator cancels the calls that are still running.
    """
    slots, found = asyncio.Semaphore(AT_ONCE), flaws or {}

    async def run_one(call: ToolCall) -> tuple[ToolCall, ToolOutcome]:
        async with slots:
            return call, await run_call(registry, call, context, found.get(call.id))

    tasks = [asyncio.create_task(run_one(call)) for call in calls]
    try:
        for finished in asyncio.as_completed(tasks):
            yield await finished
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def shorten(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """Return what a model sees of a large result: the beginning, how much was left out, and the end.

    The same text is always shortened alike. The result has at most `limit` characters; a limit too small for the
    remark in the middle gives the remark alone.
    """
    if len(text) <= limit:
        return text
    room = max(0, limit - len(_remark(len(text), len(text))))
    head = room * 3 // 4
    return text[:head] + _remark(len(text) - room, len(text)) + text[len(text) - (room - head) :]


def _remark(left_out: int, size: int) -> str:
    return f"\n[… {left_out:,} of {size:,} characters left out here …]\n"
