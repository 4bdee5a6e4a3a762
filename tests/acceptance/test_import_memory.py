"""The memory of an import is bounded, whatever the file holds: measured in a process of its own."""

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from threadkeep.transfer.jsonl import BEGINNING

MOST = 100_000_000
PROGRAM = Path(__file__).with_name("import_memory.py")
PROSE = "It was a bright cold day in April, and the clocks were striking thirteen.\n"


def _zipped(data: bytes, name: str = "bomb.json") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return made.getvalue()


def _many_members() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number in range(60_000):
            archive.writestr(zipfile.ZipInfo(f"{number:064}"), b"")
    return made.getvalue()


def _message(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def _conversation(*messages: dict[str, Any]) -> bytes:
    return json.dumps([{"id": "one", "messages": messages}], ensure_ascii=False).encode()


def _lines(entries: Iterator[dict[str, Any]], count: int) -> bytes:
    """Return an export of one conversation, which is sealed, with bodies of messages."""
    at = "2025-01-01T00:00:00Z"
    header: dict[str, Any] = {
        "id": "one",
        "assistant": None,
        "title": None,
        "system": None,
        "model": None,
        "metadata": {},
    }
    header |= {"status": "active", "archived": False, "version": 1, "head": count, "entries": count}
    header |= {"created_at": at, "updated_at": at}
    lines = [json.dumps({"conversation": header})]
    for seq, body in enumerate(entries, 1):
        entry = {"seq": seq, "parent": seq - 1 or None, "turn": None, "created_at": at, "body": body}
        lines.append(json.dumps({"entry": entry}))
    sealed = "".join(f"{line}\n" for line in lines).encode()
    end = json.dumps({"end": {"entries": count, "sha256": sha256(sealed).hexdigest()}})
    total = json.dumps({"total": {"conversations": 1, "entries": count}})
    return BEGINNING.encode() + sealed + f"{end}\n{total}\n".encode()


def _traced(count: int) -> bytes:
    """Return messages that say little, and have many values beside it."""
    body = {"kind": "message", "role": "assistant", "content": "", "tool_trace": [{"a": [[]] * 20_000}]}
    return _lines(({**body, "id": f"m{number}"} for number in range(count)), count)


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "lists": (lambda: b"[[" + b"[]," * 20_000_000 + b"[]]]", "import_too_large 0"),
    "lists without an end": (lambda: b"[[" + b"[]," * 20_000_000, "import_too_large 0"),
    "objects": (lambda: b'{"messages":[' + b'{"a":{}},' * 6_000_000 + b"{}]}", "import_too_large 0"),
    "one text": (lambda: _conversation(_message("user", "x" * 60_000_000)), "import_too_large 0"),
    "one escaped text": (lambda: b'[{"messages":["' + b"\\n" * 3_900_000 + b'"]}]', "invalid_import 0"),
    "a packed bomb": (lambda: _zipped(b"[[" + b"[]," * 20_000_000 + b"[]]]"), "import_too_large 0"),
    "a packed bomb of lines": (lambda: _zipped(b"x\n" * 8_000_000, "bomb.jsonl"), "import_damaged 0"),
    "many members": (_many_members, "import_too_large 0"),
    "as much as there may be": (
        lambda: _conversation(*(_message("user", PROSE * 10 + "\U0001f600") for _ in range(10_500))),
        "1",
    ),
    "values beside the text": (lambda: _traced(40), "1"),
}


def test_an_import_takes_at_most_so_much_memory(tmp_path: Path) -> None:
    paths = [tmp_path / kind for kind in FILES]
    for path in paths:
        path.write_bytes(FILES[path.name][0]())
    command = [sys.executable, str(PROGRAM), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    grown = {}
    for kind, line in zip(FILES, done.stdout.splitlines(), strict=True):
        told, _, grown[kind] = line.rpartition(" ")
        assert told == FILES[kind][1], kind
    assert {kind: size for kind, size in grown.items() if int(size) > MOST} == {}
