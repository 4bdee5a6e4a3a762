"""Every field of an export with every kind of bad value: it is imported and can be read, or told as a problem."""

import copy
import io
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.backends import opener
from threadkeep.conversation.scope import LOCAL
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.importer import Importer, Report
from threadkeep.transfer.moving import export_lines
from threadkeep.transfer.portable import Portable
from threadkeep.transfer.sources import read_items

AT = "2025-01-01T12:00:00Z"
BODIES: list[dict[str, Any]] = [
    {
        "kind": "message",
        "id": "m1",
        "role": "user",
        "content": "hello",
        "parts": [
            {"type": "image", "file": "file-1", "name": "cat.png", "media_type": "image/png", "size": 3, "at": 1},
            {"type": "data", "data": {"a": 1}},
        ],
        "tokens": 3,
        "started_at": AT,
        "model": "demo",
    },
    {
        "kind": "message",
        "id": "m2",
        "role": "assistant",
        "content": "",
        "parts": [{"type": "reasoning", "text": "why", "duration": 1.5, "payload": {}, "call": "c1"}],
        "blocks": [{"type": "narrative", "text": "so"}],
        "tool_calls": [{"id": "c1", "name": "look", "args": {"at": 1}}],
        "tool_trace": [{"a": 1}],
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cached_tokens": 0,
            "cost": {"amount": "0.1", "currency": "USD"},
        },
        "status": "complete",
    },
    {
        "kind": "message",
        "id": "m3",
        "role": "tool",
        "content": "seen",
        "tool_result": {"tool_call_id": "c1", "duration_ms": 5, "error": None},
    },
    {"kind": "state", "set": {"a": 1}, "unset": ["b"], "whole": True, "depth": 0},
    {"kind": "summary", "content": "short", "tokens": 2},
    {"kind": "approval", "tool_call_id": "c1", "approved": True, "reason": "yes"},
    {"kind": "update", "title": "t", "metadata": {"a": 1}, "model": "demo", "assistant": "chat"},
    {"kind": "turn", "state": "queued", "message": {"kind": "message", "id": "m4", "role": "user", "content": "x"}},
    {
        "kind": "turn",
        "state": "failed",
        "usage": {"input_tokens": 1},
        "failure": {"code": "a", "detail": "b"},
        "detail": "d",
        "calls": ["c1"],
        "parent": 1,
    },
    {"kind": "head"},
]
PARENTS = [None, 1, 2, 3, 1, 1, 4, 4, 4, 4]
HEADER: dict[str, Any] = {
    "id": "one",
    "assistant": "chat",
    "title": "t",
    "system": "be kind",
    "model": "demo",
    "metadata": {"a": 1},
    "status": "active",
    "archived": False,
    "version": 3,
    "head": 4,
    "entries": len(BODIES),
    "created_at": AT,
    "updated_at": AT,
}
BAD: list[Any] = [
    None,
    -1,
    2**31,
    10**400,
    0.5,
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "9999-12-31T23:59:59.999999Z",
    "x" * 70_000,
    "\0",
    "\ud800",
    "1" * 400,
    "NaN",
    [None],
    {"\0": {"a": 10**400, "b": "\0" * 70_000}},
]


def _whole() -> dict[str, Any]:
    entries = [
        {"seq": seq, "parent": parent, "turn": 8 if body["kind"] == "turn" else None, "created_at": AT, "body": body}
        for seq, (parent, body) in enumerate(zip(PARENTS, BODIES, strict=True), 1)
    ]
    return copy.deepcopy({"conversation": HEADER, "entries": entries})


def _lines(whole: dict[str, Any]) -> bytes:
    """Return an export whose seal fits, whatever is in it."""
    lines = [json.dumps({"conversation": whole["conversation"]})]
    lines += [json.dumps({"entry": entry}) for entry in whole["entries"]]
    sealed = "".join(f"{line}\n" for line in lines).encode()
    end = {"end": {"entries": len(lines) - 1, "sha256": sha256(sealed).hexdigest()}}
    total = {"total": {"conversations": 1, "entries": len(lines) - 1}}
    beginning = {"format": "threadkeep.export", "version": 1}
    return b"".join([json.dumps(beginning).encode() + b"\n", sealed, json.dumps(end).encode() + b"\n"]) + (
        json.dumps(total).encode() + b"\n"
    )


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (*place, name)
        yield from _places(inner, (*place, name))


def _changed(place: tuple[Any, ...], value: Any, number: int) -> dict[str, Any]:
    whole = _whole()
    whole["conversation"]["id"] = f"c{number}"
    inner: Any = whole
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    if place[-1] in ("created_at", "updated_at") and place[:2] != ("conversation", "created_at"):
        whole["conversation"]["updated_at"] = whole["entries"][-1]["created_at"] = value
    if place[-1] in ("title", "metadata", "model", "assistant"):
        entry = whole["entries"][6]["body"]
        if place[0] == "conversation":
            del entry[place[-1]]
        elif inner is entry:
            whole["conversation"][place[-1]] = value
    return whole


def _cases() -> Iterator[tuple[str, bytes]]:
    """Yield exports with one bad value each; the place of an entry is changed in one of them only."""
    places = [place for place in _places(_whole()) if len(place) > 1 and (place[1] == 1 or len(place) != 3)]
    for number, (place, value) in enumerate((place, value) for place in places for value in BAD):
        yield f"{place} {str(value)[:40]!r}", _lines(_changed(place, value, number))


async def _imported(store: Store, items: list[Portable]) -> Report:
    importer = Importer(store, LOCAL)
    for item in items:
        await importer.add(item)
    return importer.report


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_any_value_of_any_field_is_imported_or_told(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = await opener(backend, tmp_path, request)(FakeClock())
    cases = [("as it is", _lines(_whole())), *_cases()]
    found = [item for name, lines in cases for item in read_items(io.BytesIO(lines), name)]
    assert len(found) >= len(cases), "each of them has a conversation or a problem"
    fits = [item for item in found if isinstance(item, Portable)]
    assert fits[0].place.startswith("as it is")
    report = await _imported(store, fits)
    assert (report.conversations > 100, report.conversations + report.failed) == (True, len(fits))
    lines = [line async for line in export_lines(store, Selection(), lambda done: None)]
    again = list(read_items(io.BytesIO("".join(lines).encode()), "again"))
    assert len(again) == report.conversations
    assert all(isinstance(item, Portable) for item in again), "what was taken in can be exported and imported"
    await store.close()
