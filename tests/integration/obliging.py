"""A server whose model does what the question says, for the tests of protocols: in this process, or as one of its own
that can be killed (`python -m tests.integration.obliging STORE PORT PACE`).

- `think …` reasons first; `use look remove` calls these tools, and then says what they gave
- `count 30` says the numbers; `fail` fails
- everything else is repeated

A question may have several lines, each of which is done.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from tests.integration.serving import Server, serving
from threadkeep.conversation.blocks import Citation, Table
from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.errors import ModelRefused
from threadkeep.llm.base import CallPart, Delta, Model, Reasoned, Request, Stopped, Text, Used
from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant


@tool(repeatable=True)
def look(place: str) -> ToolOutcome:
    """Look somewhere."""
    blocks = (Table(columns=["place"], rows=[[place]]), Citation(source="map.pdf"))
    return ToolOutcome(content=json.dumps({"seen": place}), blocks=blocks)


@tool(needs_approval=True)
def remove(place: str) -> str:
    """Remove something."""
    return f"removed {place}"


@tool(repeatable=True)
def stumble(place: str) -> str:
    """Fail."""
    raise ValueError(f"fell in {place}")


@tool(repeatable=True)
def note(place: str) -> ToolOutcome:
    """Keep a place in the state."""
    return ToolOutcome(content="noted", state={"place": place})


ASSISTANTS = (
    Assistant(name="helper", instructions="Help.", tools=Registry([look, remove, stumble, note])),
    Assistant(name="other", instructions="Do otherwise."),
)


class Obliging(Model):
    """Does what the newest question says, `pace` seconds for a piece."""

    name = "obliging"
    is_scripted = True

    def __init__(self, pace: float = 0) -> None:
        self._pace = pace

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer."""
        asked = max(at for at, message in enumerate(request.messages) if message.role is Role.USER)
        results = [message for message in request.messages[asked:] if message.role is Role.TOOL]
        done = sum(bool(message.tool_calls) for message in request.messages[asked:])
        pieces = _answer(request.messages[asked].content.splitlines(), results, done)
        for delta in pieces:
            if isinstance(delta, Text | Reasoned):
                await asyncio.sleep(self._pace)
            yield delta
        yield Used(Usage(input_tokens=10, output_tokens=len(pieces)))
        yield Stopped("tool_calls" if isinstance(pieces[-1], CallPart) else "stop")


def _answer(lines: list[str], results: list[Message], done: int) -> list[Delta]:
    said: list[Delta] = []
    calls = [line.split()[1:] for line in lines if line.startswith("use ")]
    for line in lines if not results else []:
        if line.startswith("think"):
            said += [Reasoned(text="Let me "), Reasoned(text="think.")]
    if done < len(calls):
        said += [Text("One "), Text("moment. ")]
        return said + [
            CallPart(index=at, id=f"{name}-{done}-{at}", name=name, args=json.dumps({"place": f"hall {at}"}))
            for at, name in enumerate(calls[done])
        ]
    if lines[-1] == "fail":
        raise ModelRefused("The model is not in the mood.")
    for line in lines:
        match line.split():
            case ["count", number]:
                said += [Text(f"{each} ") for each in range(int(number))]
            case ["think" | "use" | "fail", *_]:
                pass
            case words:
                said += [Text(f"{word} ") for word in words]
    return said + [Text(f"[{result.content}]") for result in results] or [Text("Nothing.")]


def obliging(store: str = "memory:", pace: float = 0, **settings: Any) -> AbstractAsyncContextManager[Server]:
    """Serve a store with every protocol on."""
    chosen = {"protocols": "all", "user_requests_per_second": 0, **settings}
    return serving(store, model=Obliging(pace), assistants=ASSISTANTS, **chosen)


async def _serve(store: str, port: int, pace: float) -> None:
    async with obliging(store, pace, port=port) as server:
        server.conversations.start(recover_every=0.2)
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
