"""Writes the file that `test_old_files.py` opens for ever after. Run once for a release that adds a migration:

.venv/bin/python -m tests.data.make_sqlite_file tests/data/sqlite-0.1.0.db
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from threadkeep.conversation.blocks import RankedList
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Summary, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.state import State
from threadkeep.runtime import open_store
from threadkeep.store.values import Append, Begin

KEY = IdempotencyKey.of("POST /old", "key", {"body": 1})
ASKED = Message(id="asked", role=Role.USER, content="Which otters live in rivers? Ünïcödé, 漢字 and \x00 too.")
CALLED = Message(id="called", role=Role.ASSISTANT, tool_calls=(ToolCall(id="c1", name="find", args={"what": "otter"}),))
FOUND = Message(
    id="found", role=Role.TOOL, content='{"otters": 13}', tool_result=ToolResult(tool_call_id="c1", duration_ms=7)
)
ANSWERED = Message(
    id="answered", role=Role.ASSISTANT, content="Thirteen.", blocks=(RankedList(rows=[{"ticker": "OTTR"}]),), tokens=3
)


async def main(path: Path) -> None:
    """Write one conversation with everything that a file can hold, and leave a turn open in it."""
    store = await open_store(f"sqlite:///{path}")
    await store.create(LOCAL, NewConversation(id="old", title="Otters", metadata={"colour": "brown"}))
    await store.append(LOCAL, "old", Append(bodies=(ASKED, CALLED, FOUND, ANSWERED), key=KEY))
    await store.append(LOCAL, "old", Append(bodies=(State().change({"step": 2}), Summary(content="On otters."))))
    await store.append(
        LOCAL, "old", Append(bodies=(Message(id="other", role=Role.USER, content="And seals?"),), parent=1)
    )
    await store.update(LOCAL, "old", Update(title="Otters and seals"))
    begun = await store.begin(
        LOCAL,
        "old",
        Begin(
            message=Message(id="asks", role=Role.USER, content="Go on"), owner="gone", lease_for=timedelta(seconds=1)
        ),
    )
    if begun.lease is not None:
        await store.write(begun.lease, "draft", 0, "Half an ans")
    await store.list(LOCAL)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
