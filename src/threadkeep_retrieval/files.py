"""Documents out of files: text and Markdown whole, JSON and JSON Lines as lists of documents with metadata.

Whatever is wrong with a file is one sentence that names it. Finding files is here too; indexing them is not.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from threadkeep.errors import InvalidInput, InvalidText, InvalidValue
from threadkeep.turn.lookup import Scalar
from threadkeep_retrieval.base import Document
from threadkeep_retrieval.checks import check_document

TEXTS = (".txt", ".md", ".markdown")
LINES = (".jsonl", ".ndjson")
KINDS = (*TEXTS, ".json", *LINES)
MAX_BYTES = 50_000_000
"""How large a file may be, or one line of JSON Lines."""

_HEADING = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)


class Read(NamedTuple):
    """A document, and how many bytes of its file were read up to its end."""

    document: Document
    reached: int


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Return the files to read: those that are named, and in folders all of our kinds that are not hidden, in order."""
    for path in paths:
        if path.is_dir():
            for folder, folders, names in os.walk(path):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                yield from (
                    Path(folder, name)
                    for name in sorted(names)
                    if not name.startswith(".") and Path(name).suffix.lower() in KINDS
                )
        else:
            yield path


def read_documents(path: Path) -> Iterator[Read]:
    """Return the documents of a file, one by one. Raises InvalidInput, with the file's name, if it cannot be read."""
    try:
        yield from _documents(path)
    except InvalidText:
        raise InvalidText(f"{path} is not UTF-8 text.") from None
    except RecursionError:
        raise InvalidValue(f"{path} is nested too deep.") from None
    except InvalidInput as error:
        raise type(error)(f"{path}: {error}") from None
    except OSError as error:
        raise InvalidValue(f"{path} cannot be read: {error.strerror}.") from None


def _documents(path: Path) -> Iterator[Read]:
    kind = path.suffix.lower()
    if kind not in KINDS:
        path.stat()
        raise InvalidValue(f"only files of these kinds can be indexed: {' '.join(KINDS)}.")
    if kind in LINES:
        yield from _of_lines(path)
        return
    content = _content(path)
    size = path.stat().st_size
    if kind in TEXTS:
        yield Read(_text_document(path, _decoded(content)), size)
    else:
        value = _parsed(content)
        found = [_document(each) for each in (value if isinstance(value, list) else [value])]
        yield from (Read(each, size) for each in found)


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InvalidValue(f"it has more than {MAX_BYTES:,} bytes; split it.")
    return content


def _decoded(content: bytes) -> str:
    if b"\0" in content:
        raise InvalidValue("it holds NUL bytes, so it is no text.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidText from None


def _text_document(path: Path, text: str) -> Document:
    """Return a whole file as a document: its path is the id, its first heading the title, or its name."""
    heading = _HEADING.search(text) if path.suffix.lower() != ".txt" else None
    title = (heading[1].rstrip().rstrip("#").rstrip() if heading else "") or path.stem
    return check_document(Document(id=Path(os.path.normpath(path)).as_posix(), title=title, text=text))


def _of_lines(path: Path) -> Iterator[Read]:
    reached = 0
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_BYTES + 1), b""), 1):
            reached += len(line)
            if line.strip():
                yield Read(_line_document(line, number), reached)


def _line_document(line: bytes, number: int) -> Document:
    try:
        if len(line) > MAX_BYTES:
            raise InvalidValue(f"it has more than {MAX_BYTES:,} bytes.")
        return _document(_parsed(line))
    except InvalidText:
        raise
    except InvalidInput as error:
        raise type(error)(f"line {number}: {error}") from None


def _parsed(content: bytes) -> object:
    try:
        return json.loads(_decoded(content))
    except ValueError as error:
        raise InvalidValue(f"it is not JSON: {error}.") from None


def _document(value: object) -> Document:
    """Return a document of JSON: `id` and `text`, perhaps `title` and `metadata`; nothing else."""
    if not isinstance(value, dict):
        raise InvalidValue("a document is an object with id, text and perhaps title and metadata.")
    strange = sorted(value.keys() - {"id", "text", "title", "metadata"})
    if strange:
        raise InvalidValue(f"a document has no field {strange[0]!r}; what is to be filtered by goes into metadata.")
    id, metadata = value.get("id"), value.get("metadata", {})
    if not isinstance(metadata, dict):
        raise InvalidValue("the metadata of a document is an object.")
    known: dict[str, Scalar] = {name: each for name, each in metadata.items() if each is not None}
    return check_document(
        Document(
            id=str(id) if isinstance(id, int) else _text("id", id),
            text=_text("text", value.get("text")),
            title=_text("title", value.get("title", "")),
            metadata=known,
        )
    )


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValue(f"the {name} of a document is text.")
    return value
