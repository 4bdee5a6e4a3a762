"""A process that owns a turn with a payment in it, or takes that turn up from one that does not move any more.

`payer URL FOLDER pays` sends the message and waits for the end of its own part; `payer URL FOLDER takes` takes the turn
up as soon as its lease has run out. The tools `wait` until a file `go` is there, and `pay` notes the payment.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

from tests.unit.turn.processes import Processes
from threadkeep.conversation.message import Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.llm.base import CallPart, Delta, Model, Request, Stopped, Text
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.tools.base import Tool, ToolContext
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import AT_ONCE

LEASE = timedelta(seconds=1)


class Buyer(Model):
    """Wants everything at once that has to be waited for, and to pay behind it."""

    name = "buyer"
    is_scripted = True

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Call the tools, then say that it is done."""
        if request.messages[-1].role is Role.TOOL:
            yield Text("Done.")
            yield Stopped("stop")
            return
        for index, name in enumerate(["wait"] * AT_ONCE + ["pay"]):
            yield CallPart(index=index, id=f"call_{index}", name=name, args="{}")
        yield Stopped("tool_calls")


def tools(folder: Path) -> list[Tool]:
    """Return the tools that work in a folder."""

    @tool
    async def wait() -> str:
        """Wait."""
        _note(folder / "waiting", "waits")
        while not (folder / "go").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return "went"

    @tool
    async def pay(context: ToolContext) -> str:
        """Pay."""
        _note(folder / "payments", f"{context.call_id} {context.fence}")
        return "paid"

    return [wait, pay]


def _note(file: Path, line: str) -> None:
    with file.open("a") as out:
        out.write(f"{line}\n")


async def main(url: str, folder: Path, part: str) -> None:
    """Play a part."""

    async def opened() -> Store:
        return await open_store(url)

    processes = Processes(opened, FakeClock())
    conversations = await processes.open(Buyer(), *tools(folder), lease_for=LEASE, owner=part)
    if part == "pays":
        chat = await conversations.create(title="Payment", id="payment")
        await chat.send("Pay")
    while await conversations._store.turns(LOCAL, "payment") or conversations._runner.deps.admission.running:
        await conversations._runner.recover()
        await asyncio.sleep(0.02)
    print("over", flush=True)
    await conversations.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
