"""Where conversations come from: a file or a database, whose format is found by looking at what is in it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.export import FORMAT as DOCUMENT
from threadkeep.errors import ImportDamaged, InvalidImport, InvalidInput, UnknownFormat
from threadkeep.rings import DATABASES, IMPORTERS, load, load_all
from threadkeep.transfer import jsonl
from threadkeep.transfer.archive import members
from threadkeep.transfer.documents import WIDE, Bounds, Readable, elements
from threadkeep.transfer.files import Opened
from threadkeep.transfer.portable import MAX_PROBLEMS, Header, ImportProblem, LogCheck, Portable, to_entry, validated

Found = Portable | ImportProblem
_SQLITE, _ZIP = b"SQLite format 3\0", b"PK"
_PEEKED = 256
NO_READER = "This is no export of Threadkeep's, and no installed package reads those of other programs."


async def read_source(source: str, table: str | None = None) -> AsyncIterator[Found]:
    """Yield what is in a file, or in a database that is named by its URL."""
    path = Path(source.removeprefix("sqlite:///"))
    if source.startswith(("postgresql://", "postgres://")):
        kind = "postgresql"
    else:
        kind = "sqlite" if await asyncio.to_thread(is_sqlite, path) else "file"
    if kind != "file":
        address = source if kind == "postgresql" else str(path)
        read_database = load(DATABASES, kind, "a reader of other programs' databases")
        async for item in read_database(address, table):
            yield item
        return
    with await asyncio.to_thread(path.open, "rb") as file:
        async with aclosing(read_file(file, path.name)) as items:
            async for item in items:
                yield item


def is_sqlite(path: Path) -> bool:
    """Whether a file is an SQLite database."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


async def read_file(file: IO[bytes], name: str, bounds: Bounds = WIDE) -> AsyncGenerator[Found, None]:
    """Yield what is in a file that can be read from its beginning. It is parsed in a thread, one conversation ahead of
    who stores them. Close the file before this, which waits for the thread: then that ends at once."""
    items = read_items(file, name, bounds)
    reading = asyncio.create_task(asyncio.to_thread(next, items, None))
    try:
        while (item := await reading) is not None:
            reading = asyncio.create_task(asyncio.to_thread(next, items, None))
            yield item
    finally:
        await asyncio.shield(asyncio.gather(reading, return_exceptions=True))


def read_items(file: IO[bytes], name: str, bounds: Bounds = WIDE) -> Iterator[Found]:
    """Yield the conversations in a file of lines, JSON or an archive of them, as long as not everything is wrong."""
    problems, values = 0, _Values()
    for item in _items(file, name, bounds, values):
        problems += isinstance(item, ImportProblem)
        if problems == MAX_PROBLEMS:
            yield ImportProblem.of(name, ImportDamaged("Too much is wrong with it; the rest was not read."))
            return
        yield item


def _items(file: IO[bytes], name: str, bounds: Bounds, values: "_Values") -> Iterator[Found]:
    try:
        beginning = file.read(_PEEKED)
        file.seek(0)
        if beginning.startswith(_SQLITE):
            raise UnknownFormat("A database is imported on the command line: threadkeep import FILE.")
        if not beginning.startswith(_ZIP):
            yield from _text(file, beginning, name, bounds, values)
            return
        is_known = False
        for member, opened, files in members(file, bounds.directory):
            for item in _text(opened, opened.peek(_PEEKED), f"{name}, {member}", bounds, values, files):
                if isinstance(item, ImportProblem) and item.code == UnknownFormat.code:
                    break  # an archive holds other things beside conversations
                is_known = True
                yield item
        if not is_known:
            raise UnknownFormat
    except InvalidInput as error:
        yield ImportProblem.of(name, error)


def _text(
    file: Readable,
    beginning: bytes,
    name: str,
    bounds: Bounds,
    values: "_Values",
    files: Opened = lambda sha256: None,
) -> Iterator[Found]:
    if f'"{jsonl.FORMAT}"'.encode() in beginning:
        yield from jsonl.JsonlReader(file, name, files, bounds).read()
        return
    is_first = True
    for item in elements(file, name, bounds):
        if isinstance(item, ImportProblem):
            yield item
            return
        place, value = item
        found = values.read(place, value)
        yield found
        if is_first and isinstance(found, ImportProblem) and found.code == UnknownFormat.code:
            return
        is_first = False
    if is_first:
        yield ImportProblem.of(name, UnknownFormat("There is nothing in it."))


class _Values:
    """Makes conversations of JSON values: our own documents, and what installed packages know of other programs."""

    def __init__(self) -> None:
        self._readers = load_all(IMPORTERS)

    def read(self, place: str, value: Any) -> Found:
        """Return the conversation in a value, or what is wrong with it."""
        try:
            if isinstance(value, dict) and value.get("format") == DOCUMENT:
                return _document(place, value)
            return self._read_foreign(place, value)
        except InvalidInput as error:
            return ImportProblem.of(place, error)
        except (ValidationError, TypeError, ValueError, LookupError, AttributeError, RecursionError):
            return ImportProblem.of(place, InvalidImport("A conversation has a shape that no known export has."))

    def _read_foreign(self, place: str, value: Any) -> Found:
        for read in self._readers:
            with suppress(UnknownFormat):
                found: Found = read(place, value)
                return found
        raise UnknownFormat(None if self._readers else NO_READER)


def _document(place: str, value: dict[str, Any]) -> Portable:
    """Return the conversation in the JSON document that one conversation is exported as."""
    if value.get("version") != 1:
        raise UnknownFormat("This release reads documents of version 1; this one has another.")
    header, check, entries = validated(Header, value.get("conversation")), LogCheck(), list[Entry]()
    for fields in value.get("entries") or []:
        entries.append(to_entry(header.id, fields))
        check.add(entries[-1])
    check.finish(header)
    return Portable(header, lambda: iter(entries), check.open_turns, place)
