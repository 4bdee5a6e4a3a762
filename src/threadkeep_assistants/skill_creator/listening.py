"""Asking a model for JSON, with limits: how long it may be silent, how much it may say, and how its JSON may look."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.errors import ModelNonsense, ModelTimeout, ModelUnavailable
from threadkeep.llm.base import Model, Request, Stopped, Text, Used

MOST_TRIES = 200
"""How many places of an answer are tried as the beginning of its JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a model may take: seconds of silence, seconds in all, characters; and the pauses before it is asked again.

    The silence is shorter than the engine's, so that it is us who say what happens then.
    """

    silence: float = 60.0
    seconds: float = 600.0
    characters: int = 200_000
    pauses: tuple[float, ...] = (0.5, 2.0)


@dataclass
class Listening:
    """One question to a model: what it has said so far, and what that cost."""

    model: Model
    limits: Limits
    text: str = ""
    usage: Usage | None = None
    _is_whole: bool = field(default=False)

    async def sizes(self, system: str, question: str) -> AsyncGenerator[int, None]:
        """Ask, and yield how many characters there are, again and again. Raises ModelError."""
        messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=question))
        loop = asyncio.get_running_loop()
        until = loop.time() + self.limits.seconds
        pieces: list[str] = []
        size = 0
        async with aclosing(self.model.stream(Request(messages=messages))) as deltas:  # type: ignore[type-var]
            while (delta := await self._heard(deltas)) is not None:
                match delta:
                    case Text(text):
                        pieces.append(text)
                        size += len(text)
                        yield size
                    case Used(usage):
                        self.usage = usage
                    case Stopped():
                        self._is_whole = True
                if size > self.limits.characters or loop.time() > until:
                    raise ModelNonsense("The model did not come to an end.")
        self.text = "".join(pieces)

    def found(self) -> dict[str, Any]:
        """Return the JSON object in the answer, whatever stands around it. Raises ModelError if there is none."""
        if not self._is_whole:
            raise ModelUnavailable("The model broke off.")
        return json_in(self.text)

    async def _heard(self, deltas: AsyncIterator[Any]) -> Any:
        try:
            return await asyncio.wait_for(anext(deltas, None), self.limits.silence)
        except TimeoutError:
            raise ModelTimeout(f"The model said nothing for {self.limits.silence:g} seconds.") from None


def json_in(text: str) -> dict[str, Any]:
    """Return the largest JSON object in a text. Line breaks inside of its strings are forgiven."""
    decoder = json.JSONDecoder(strict=False)
    best: dict[str, Any] = {}
    longest, at, tries = 0, text.find("{"), 0
    while at >= 0 and len(text) - at > longest and tries < MOST_TRIES:
        tries += 1
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            found, end = None, at + 1
        if isinstance(found, dict) and end - at > longest:
            best, longest = found, end - at
        at = text.find("{", end)
    if not best:
        raise ModelNonsense("The model answered with something else than JSON.")
    return best
