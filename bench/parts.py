"""What messages with parts cost: nothing where there are none, little where there are, and no memory for large files.

    python -m bench.parts            10,000 messages, 100 MB
    python -m bench.parts --quick    1,000 messages, 100 MB

Plain text is measured beside a twin of the message class as it was before parts, with the same checks: made, written as
JSON and made from that again. Files and conversations go through the whole server; memory is what the process grows by:
32 MB are the page cache of SQLite, which whatever is written fills.
"""

import argparse
import asyncio
import resource
import sys
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from pydantic import BaseModel, create_model, model_validator

from bench.report import Report
from bench.stopwatch import race
from bench.texts import turns
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.value import Value
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.hosting import Hosting
from threadkeep.runtime import open_conversations
from threadkeep.server.app import create_app
from threadkeep.settings import Settings
from threadkeep.store.codec import encode

MEGABYTE = 1_000_000
OPENED = 1000
WARMING, UPLOADED = 30 * MEGABYTE, 100 * MEGABYTE
IMAGE = Attachment(type="image", file="file-0123456789", name="holiday.jpg", media_type="image/jpeg", size=2_400_000)


def _roles_fit(message: Any) -> Any:
    if (message.role is Role.TOOL) != (message.tool_result is not None):
        raise InvalidValue("A tool message, and no other, has a tool_result.")
    if message.tool_calls and message.role is not Role.ASSISTANT:
        raise InvalidValue("Only an assistant message has tool_calls.")
    return message


def _without_parts() -> type[BaseModel]:
    """Return the message class as it was without the field `parts`."""
    fields: dict[str, Any] = {
        name: (field.annotation, field) for name, field in Message.model_fields.items() if name != "parts"
    }
    check: Any = model_validator(mode="after")(_roles_fit)
    return create_model("Bare", __base__=Value, __validators__={"_roles_fit": check}, **fields)


async def _round_trips(kind: type[BaseModel], given: Sequence[dict[str, Any]]) -> None:
    for fields in given:
        kind.model_validate_json(kind(**fields).model_dump_json())


async def measure_text(report: Report, messages: int) -> None:
    """Measure plain text with and without the field."""
    plain = [message for turn in islice(turns(), messages // 2) for message in turn]
    given = [message.model_dump(exclude={"parts"}) for message in plain]
    kinds: dict[str, type[BaseModel]] = {"without the field": _without_parts(), "with it": Message}
    taken = await race({name: partial(_round_trips, kind, given[:50]) for name, kind in kinds.items()}, rounds=20)
    rows = [[name, f"{timing.median / 50:.1f}"] for name, timing in taken.items()]
    report.table("a message of plain text, made, written and made again", ["message", "us"], rows)
    report.bar(
        "time, of that without the field", taken["with it"].median / taken["without the field"].median, at_most=1.05
    )
    written = sum(len(Message(**fields).model_dump_json()) for fields in given)
    bare = sum(len(kinds["without the field"](**fields).model_dump_json()) for fields in given)
    stored = sum(len(encode(message).parts or "") for message in plain)
    report.bar("bytes stored and sent for it, of none", written - bare + stored, at_most=0)


async def _fill(conversations: Conversations, id: str, parts: tuple[Attachment, ...]) -> None:
    conversation, source = await conversations.create(id=id), turns()
    for _ in range(OPENED // 100):
        messages = [message for turn in islice(source, 50) for message in turn]
        await conversation.append(*(message.model_copy(update={"parts": parts}) for message in messages))


async def _opened(client: httpx.AsyncClient, id: str) -> None:
    answer = await client.get(f"/v1/conversations/{id}")
    assert len(answer.json()["messages"]) == 50, answer.text


async def _read(client: httpx.AsyncClient, id: str) -> None:
    before: dict[str, int] = {}
    while before.get("before", 1):
        answer = (await client.get(f"/v1/conversations/{id}", params={"limit": 200, **before})).json()
        before = {"before": answer["before"]}


async def measure_opening(report: Report, conversations: Conversations, client: httpx.AsyncClient) -> None:
    """Measure how long it takes to open a conversation of images as the page does."""
    kinds: dict[str, tuple[Attachment, ...]] = {"texts": (), "images": (IMAGE,)}
    for id, parts in kinds.items():
        await _fill(conversations, id, parts)
    taken = await race({id: partial(_opened, client, id) for id in kinds}, rounds=50, acts=3)
    rows = [[f"{OPENED:,} {name}", f"{timing.median / 1000:.1f}"] for name, timing in taken.items()]
    report.table("opening a conversation as the page does, SQLite", ["conversation", "ms"], rows)
    report.bar("1,000 images, of 1,000 texts", taken["images"].median / taken["texts"].median, at_most=1.25)
    taken = await race({id: partial(_read, client, id) for id in kinds}, rounds=10)
    report.bar("all 1,000 of them read, of all texts", taken["images"].median / taken["texts"].median, at_most=1.5)


async def _zeros(size: int) -> AsyncIterator[bytes]:
    piece = bytes(64 * 1024)
    for start in range(0, size, len(piece)):
        yield piece[: size - start]


async def _uploaded(client: httpx.AsyncClient, size: int) -> float:
    started = time.perf_counter()
    answer = await client.post("/v1/files", params={"name": f"{size}.bin"}, content=_zeros(size))
    assert answer.status_code == 201, answer.text
    return time.perf_counter() - started


async def measure_upload(report: Report, client: httpx.AsyncClient) -> None:
    """Measure what the process grows by while large files are uploaded through the server."""
    begun = _memory()
    small = median([await _uploaded(client, MEGABYTE + number) for number in range(5)])
    await _uploaded(client, WARMING)
    before = _memory()
    seconds = await _uploaded(client, UPLOADED)
    report.note(
        f"1 MB takes {small * 1000:.0f} ms; 100 MB at {UPLOADED / MEGABYTE / seconds:.0f} MB a second, in SQLite"
    )
    report.bar("megabytes of memory that 100 MB need, 32 of them the page cache", _memory() - begun, at_most=48)
    report.bar("megabytes of memory that 100 MB need beyond what 30 MB need", _memory() - before, at_most=8)


def _memory() -> float:
    """Return the most memory that this process has had, in megabytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / MEGABYTE if sys.platform == "darwin" else most * 1024 / MEGABYTE


async def main(messages: int) -> None:
    """Run the benchmark."""
    report = Report(sys.stdout)
    report.title("Parts")
    with TemporaryDirectory() as folder:
        hosting = Hosting(settings=Settings(max_file_bytes=0, user_file_bytes=0))
        url = f"sqlite:///{Path(folder, 'parts.db')}"
        async with await open_conversations(url, model="demo", hosting=hosting) as conversations:
            app = create_app(conversations, Settings(max_file_bytes=0, user_file_bytes=0))
            served = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=served, base_url="http://localhost", timeout=600) as client:
                await measure_upload(report, client)
                await measure_opening(report, conversations, client)
    await measure_text(report, messages)
    report.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="messages with parts, and files")
    parser.add_argument("--quick", action="store_true", help="1,000 messages instead of 10,000")
    asyncio.run(main(1000 if parser.parse_args().quick else 10_000))
