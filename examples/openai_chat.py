"""A chat that outlives its program, its connection and its server, with the official client of OpenAI.

    pip install openai
    THREADKEEP_PROTOCOLS=openai threadkeep serve
    python examples/openai_chat.py http://127.0.0.1:8000 chat.json "What is the weather in Oslo?"

The file keeps which conversation this is, and how far its newest answer was read. Kill the program or the server in the
middle of an answer and start it again: it goes on where it was, to the character.
"""

import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from openai import APIConnectionError, OpenAI

WEATHER: Any = {
    "type": "function",
    "name": "weather",
    "description": "Return the weather at a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    "strict": False,
}


def weather(place: str) -> str:
    """The tool, which runs here and not on the server."""
    return f"4 degrees in {place}"


class Chat:
    """One conversation, and where we are in it."""

    def __init__(self, url: str, file: Path) -> None:
        self._client = OpenAI(base_url=f"{url}/openai/v1", api_key=os.environ.get("THREADKEEP_KEY", "none"))
        self._model = next(iter(self._client.models.list())).id
        self._file = file
        self._place: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    def _keep(self, **place: Any) -> None:
        self._place |= place
        written = self._file.with_suffix(".new")
        written.write_text(json.dumps(self._place))
        written.replace(self._file)  # a program that is killed here leaves the old place or the new one

    def ask(self, question: str) -> None:
        """Finish what is left of the last answer, then ask."""
        if "conversation" not in self._place:
            self._keep(conversation=self._client.conversations.create().id)
        if self._place.get("asked"):
            self._answer()
        self._keep(asked=question, key=str(uuid4()), response=None, after=-1)
        self._answer()

    def _answer(self) -> None:
        """Print an answer, running the tools that it calls, until it asks for none."""
        given: Any = self._place["asked"]
        while given:
            calls = [item for item in self._read(given) if item.type == "function_call"]
            given = [
                {
                    "type": "function_call_output",
                    "call_id": call.call_id,
                    "output": weather(**json.loads(call.arguments)),
                }
                for call in calls
            ]
            self._keep(asked=given, key=str(uuid4()), response=None, after=-1)
        print()

    def _read(self, given: Any) -> list[Any]:
        """Print the text of a response as it comes, and return its items; who is cut off comes back to the rest."""
        while True:
            try:
                for event in self._events(given):
                    if event.type == "response.output_text.delta":
                        print(event.delta, end="", flush=True)
                    if event.type == "response.created":
                        self._keep(response=event.response.id)
                    self._keep(after=event.sequence_number)
                    if event.type in ("response.failed", "response.incomplete"):
                        raise SystemExit(f"The answer ended early: {event.response.error or event.response.status}")
                found: list[Any] = self._client.responses.retrieve(self._place["response"]).output
                return found
            except APIConnectionError:
                continue

    def _events(self, given: Any) -> Iterator[Any]:
        place = self._place
        if place["response"] is not None:
            return iter(self._client.responses.retrieve(place["response"], stream=True, starting_after=place["after"]))
        ask = partial(self._client.responses.create, extra_headers={"Idempotency-Key": place["key"]}, stream=True)
        return iter(ask(model=self._model, conversation=place["conversation"], tools=[WEATHER], input=given))


if __name__ == "__main__":
    server, kept, *questions = sys.argv[1:]
    for each in questions:
        Chat(server, Path(kept)).ask(each)
