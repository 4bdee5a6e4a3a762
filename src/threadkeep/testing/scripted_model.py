"""A model that says exactly what a test tells it to, and fails on a call that the test did not expect."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from threadkeep.conversation.message import Usage
from threadkeep.llm.base import CallPart, Delta, Model, Request, Stopped, Text, Used

Step = Delta | BaseException | asyncio.Event
"""A delta is sent, an exception raised, an event waited for."""


class ScriptedModel(Model):
    """Plays one answer for each call, in order. An answer without `Stopped` looks cut off, as with any model.

    `requests` are the calls so far, `closed` says for each finished one whether it was closed before its end, and
    `unexpected` are calls that no answer was left for: each of them failed with an AssertionError.
    """

    name = "scripted"
    is_scripted = True

    def __init__(self, *answers: Sequence[Step], window: int = 128_000) -> None:
        self.window = window
        self.requests: list[Request] = []
        self.unexpected: list[Request] = []
        self.closed: list[bool] = []
        self._answers = list(answers)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Play the next answer."""
        if not self._answers:
            self.unexpected.append(request)
            raise AssertionError(f"The model was called once more than expected, with {request.messages[-1:]}.")
        self.requests.append(request)
        steps = self._answers.pop(0)
        is_closed = True
        try:
            for step in steps:
                match step:
                    case asyncio.Event():
                        await step.wait()
                    case BaseException():
                        is_closed = False
                        raise step
                    case _:
                        yield step
            is_closed = False
        finally:
            self.closed.append(is_closed)

    def assert_finished(self) -> None:
        """Fail if an answer was never asked for, or a call had none."""
        assert not self._answers, f"{len(self._answers)} answers were never asked for."
        assert not self.unexpected, f"{len(self.unexpected)} calls were not expected."


def says(*pieces: str) -> list[Step]:
    """Return a whole answer of text, in these pieces."""
    return [*map(Text, pieces), Used(Usage(input_tokens=10, output_tokens=len(pieces))), Stopped("stop")]


def wants(*calls: tuple[str, str, dict[str, Any]]) -> list[Step]:
    """Return a whole answer that calls tools, each given as id, name and arguments."""
    parts = [
        CallPart(index=index, id=id, name=name, args=json.dumps(args)) for index, (id, name, args) in enumerate(calls)
    ]
    return [*parts, Used(Usage(input_tokens=10, output_tokens=len(parts))), Stopped("tool_calls")]
