"""`threadkeep index`: fill an index of documents, look into it and search it, so that assistants can look things up.

Documents are written in groups, each whole or not at all: an interrupted command leaves an index that is valid, and a
second run goes on where it stopped. How an index works is not decided here but in `hybrid`.
"""

import argparse
import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import cast

from threadkeep.errors import InvalidInput, InvalidValue
from threadkeep.turn.lookup import Scalar
from threadkeep_commands.progress import Progress
from threadkeep_commands.terminal import Terminal
from threadkeep_retrieval.base import Document, Filter, Operator, Query
from threadkeep_retrieval.embeddings import Embeddings, NoEmbeddings
from threadkeep_retrieval.errors import IndexUnusable
from threadkeep_retrieval.files import KINDS, find_files, read_documents
from threadkeep_retrieval.hybrid import Added, HybridIndex
from threadkeep_retrieval.loading import load_embeddings

GROUP_DOCUMENTS = 64
GROUP_CHARACTERS = 500_000
SHOWN_CHARACTERS = 200

_OPERATOR = re.compile("[<>!]=|[<>=]")


def add_index_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="add|list|remove|search")
    add = actions.add_parser("add", help="add documents, or bring them up to date")
    add.add_argument("index", type=Path, help="the file of the index; it is made if it is missing")
    add.add_argument("paths", type=Path, nargs="+", metavar="path", help=f"files ({' '.join(KINDS)}) and folders")
    add.add_argument(
        "--embeddings",
        metavar="NAME",
        help="what makes vectors in a new index: wordllama (default, offline) or provider:model of LangChain",
    )
    listing = actions.add_parser("list", help="list the documents: id, passages, characters, title")
    remove = actions.add_parser("remove", help="take documents out")
    search = actions.add_parser("search", help="search as an assistant would")
    for action in (listing, remove, search):
        action.add_argument("index", type=Path, help="the file of the index")
    remove.add_argument("ids", nargs="+", metavar="id", help="the ids that `list` shows")
    search.add_argument("question", help="what to look for")
    search.add_argument(
        "--where", action="append", default=[], metavar="FILTER", help="only where this is so, such as 'price<500'"
    )
    search.add_argument("--limit", type=int, default=5, help="how many passages at most (default: 5)")


def run_index(arguments: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdin, sys.stdout, sys.stderr, os.environ)
    try:
        return asyncio.run(_act_on_index(arguments, terminal))
    except BrokenPipeError:
        # The reader of our output has closed it; nothing more may be written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


async def _act_on_index(arguments: argparse.Namespace, terminal: Terminal) -> int:
    async with HybridIndex.open(arguments.index, _embeddings_for(arguments)) as index:
        match arguments.action:
            case "add":
                return await _add_documents(index, arguments, terminal)
            case "list":
                return await _list_documents(index, terminal)
            case "remove":
                return await _remove_documents(index, arguments.ids, terminal)
            case _:
                return await _search_index(index, arguments, terminal)


def _embeddings_for(arguments: argparse.Namespace) -> Embeddings:
    """Return the embeddings of the index; only `add` creates a new index."""
    made_with = HybridIndex.made_with(arguments.index)
    if arguments.action == "add":
        return load_embeddings(arguments.embeddings or made_with or "wordllama")
    if made_with is None:
        raise IndexUnusable(f"There is no index {arguments.index}.")
    return load_embeddings(made_with) if arguments.action == "search" else NoEmbeddings(made_with)


async def _add_documents(index: HybridIndex, arguments: argparse.Namespace, terminal: Terminal) -> int:
    files = [path for path in find_files(arguments.paths) if path != arguments.index]
    adding = _Adding(index, terminal, sum(map(_file_size, files)))
    with adding.progress:
        for path in files:
            await adding.add(path)
        await adding.write()
    written, unchanged = adding.added
    terminal.show(f"{_count_of_documents(written)} added or changed, {unchanged} unchanged in {arguments.index}\n")
    return 1 if adding.bad_files else 0


class _Adding:
    """The documents of many files on their way into an index, in groups."""

    def __init__(self, index: HybridIndex, terminal: Terminal, size: int) -> None:
        self.progress = Progress(size, sys.stderr)
        self.added = Added(0, 0)
        self.bad_files = 0
        self._index = index
        self._terminal = terminal
        self._group: list[Document] = []
        self._done = 0

    async def add(self, path: Path) -> None:
        """Add the documents of a file. Errors are shown, and the next file is tried."""
        try:
            for document, reached in read_documents(path):
                self._group.append(document)
                self.progress.show(self._done + reached, path.name)
                if self._is_full():
                    await self.write()
        except InvalidInput as error:
            self.bad_files += 1
            self.progress.clear()
            self._terminal.complain(error)
        self._done += _file_size(path)

    async def write(self) -> None:
        group, self._group = self._group, []
        written, unchanged = await self._index.add(group)
        self.added = Added(self.added.written + written, self.added.unchanged + unchanged)

    def _is_full(self) -> bool:
        characters = sum(len(document.text) for document in self._group)
        return len(self._group) >= GROUP_DOCUMENTS or characters >= GROUP_CHARACTERS


def _file_size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


async def _list_documents(index: HybridIndex, terminal: Terminal) -> int:
    after = ""
    while page := await index.documents(after=after):
        for each in page:
            id, title = _one_line(terminal, each.id), _one_line(terminal, each.title)
            terminal.show(f"{id}  {each.passages}  {each.characters}  {title}\n")
        after = page[-1].id
    return 0


async def _remove_documents(index: HybridIndex, ids: list[str], terminal: Terminal) -> int:
    missing = [id for id in ids if await index.document(id) is None]
    removed = await index.remove(ids)
    terminal.show(f"{_count_of_documents(removed)} removed\n")
    for id in missing:
        terminal.complain(f"There is no document {id!r}.")
    return 1 if missing else 0


async def _search_index(index: HybridIndex, arguments: argparse.Namespace, terminal: Terminal) -> int:
    where = tuple(map(parse_filter, arguments.where))
    for found in await index.search(Query(text=arguments.question, where=where), limit=arguments.limit):
        terminal.show(f"{found.score:.2f}  {_one_line(terminal, found.id)}  {_one_line(terminal, found.title)}\n")
        terminal.show(f"      {_one_line(terminal, found.text)[:SHOWN_CHARACTERS]}\n")
    return 0


def _count_of_documents(documents: int) -> str:
    return "1 document" if documents == 1 else f"{documents} documents"


def _one_line(terminal: Terminal, text: str) -> str:
    return terminal.harmless(" ".join(text.split()))


def parse_filter(text: str) -> Filter:
    """Return the filter. A value that looks like a number, true or false is one; quoted, it is text."""
    match = _OPERATOR.search(text)
    field = text[: match.start()].strip() if match else ""
    if match is None or not field or "!" in field:
        raise InvalidValue(
            f"{text!r} is no filter: write a field, one of = != < <= > >=, and a value, as in 'price<500'."
        )
    return Filter(field, cast(Operator, match[0]), _filter_value(text[match.end() :].strip()))


def _filter_value(text: str) -> Scalar:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float) else text
