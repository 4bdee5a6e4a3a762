"""Outcomes: what a tool returned or raised, or that it took too long, as the `ToolOutcome` that goes into the log.

A tool's exceptions become outcomes here, and what a store could not keep is replaced.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic_core import to_jsonable_python

from threadkeep.background import is_being_cancelled
from threadkeep.conversation.blocks import Block, Narrative
from threadkeep.conversation.value import check_json, storable
from threadkeep.errors import InvalidInput
from threadkeep.tools.base import ToolFile, ToolOutcome

KindT = TypeVar("KindT")
TIMEOUT = "tool_timeout"
"""The beginning of the error of a call that exceeded its time limit."""

_log = logging.getLogger(__name__)


def failure(error: str) -> ToolOutcome:
    """Return the outcome of a call that failed; content and error are the same text."""
    return ToolOutcome(content=storable(error), error=storable(error))


def outcome_of(value: object) -> ToolOutcome:
    """Return what a tool returned as an outcome. Raises if it has no JSON form."""
    match value:
        case ToolOutcome():
            return _checked_outcome(value)
        case str():
            return ToolOutcome(content=storable(value))
        case Block():
            return _from_blocks([value])
        case ToolFile():
            return ToolOutcome(content="", files=(value,))
        case list() | tuple() if blocks := _all_of(Block, value):
            return _from_blocks(blocks)
        case list() | tuple() if files := _all_of(ToolFile, value):
            return ToolOutcome(content="", files=tuple(files))
        case _:
            return ToolOutcome(content=canonical(value))


def canonical(value: object) -> str:
    """Return JSON that is the same text for equal values: keys sorted, no spaces, NaN as null."""
    plain = to_jsonable_python(value, inf_nan_mode="null")
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return storable(text)


async def attempt(work: Callable[[], Awaitable[ToolOutcome]], timeout: float | None) -> ToolOutcome:
    """Run a call to its outcome, within the time limit, and measure it. Only a cancellation from outside is raised."""
    started = time.monotonic()
    outcome = await _guarded(work, timeout)
    return replace(outcome, duration_ms=round((time.monotonic() - started) * 1000))


async def _guarded(work: Callable[[], Awaitable[ToolOutcome]], timeout: float | None) -> ToolOutcome:
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await work()
    except asyncio.CancelledError as error:
        if is_being_cancelled():
            raise
        return _failure_of(error)
    except (Exception, SystemExit) as error:
        if limit.expired():
            late = f"The call did not finish within {timeout:g} seconds. It may or may not have taken effect."
            return failure(f"{TIMEOUT}: {late}")
        return _failure_of(error)


def _failure_of(error: BaseException) -> ToolOutcome:
    _log.debug("a tool failed", exc_info=error)
    detail = str(error).strip()
    if isinstance(error, InvalidInput) and detail:
        # Our own errors are written for people and need no class name.
        return failure(detail)
    return failure(f"{type(error).__name__}: {detail}" if detail else type(error).__name__)


def _all_of(kind: type[KindT], values: Sequence[object]) -> list[KindT]:
    """Return the values if all of them are of a kind, otherwise nothing."""
    found = [value for value in values if isinstance(value, kind)]
    return found if len(found) == len(values) else []


def _from_blocks(blocks: list[Block]) -> ToolOutcome:
    texts = (block.text if isinstance(block, Narrative) else canonical(block) for block in blocks)
    return ToolOutcome(content="\n".join(texts), blocks=tuple(blocks))


def _checked_outcome(outcome: ToolOutcome) -> ToolOutcome:
    """Return an outcome that a tool made itself, changed as needed to be storable."""
    try:
        check_json(outcome.state)
        check_json(outcome.unset)
    except InvalidInput as error:
        return failure(f"The tool returned a state that cannot be stored: {error}")
    told = None if outcome.error is None else storable(outcome.error)
    return replace(outcome, content=storable(outcome.content), error=told)
