"""Writes the views that are behind, and removes those of deleted conversations.

First it is noted which bytes will be ours, then the file is replaced, last it is noted which file there is: cut off in
between, the next look knows the file by its bytes.
"""

import asyncio
from functools import partial
from pathlib import Path
from typing import NamedTuple

from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.errors import ConversationNotFound, StoreError, ThreadkeepError
from threadkeep.store.filesystem import FileSignature
from threadkeep.store.sqlite.reader import Reader
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep_files import view_table
from threadkeep_files.taking_in import TakingIn
from threadkeep_files.view import digest, render
from threadkeep_files.view_file import HIDDEN, ViewFile, folder_of, in_thread, remove_put_away
from threadkeep_files.view_table import KnownView

BATCH = 16
"""How many views are written between two commits."""


class _Rendered(NamedTuple):
    """A view as it should be; of a deleted conversation there is none."""

    view: KnownView
    head: int = 0
    data: bytes | None = None


class ViewWriter:
    """Writes the views of one folder."""

    def __init__(self, folder: Path, store: SqliteStore, taking_in: TakingIn) -> None:
        self._folder = folder
        self._store = store
        self._taking_in = taking_in
        self._away = folder / HIDDEN / "deleted"
        self._lock = asyncio.Lock()

    async def write_all(self) -> int:
        """Write what is behind; return how many. Who has a changed file is tried once more, after taking that in."""
        async with self._lock:
            count, changed = await self._pass()
            if changed:
                count += (await self._pass())[0]
        return count

    async def _pass(self) -> tuple[int, int]:
        """Look at each view that is behind; return how many were written, and how many files were changed."""
        count = changed = last = 0
        while views := await self._store.look(partial(_behind, last)):
            written, others = await self._write(views)
            count, changed, last = count + written, changed + len(others), views[-1].key
            for view in others:
                await self._take_in(view)
        return count, changed

    async def _write(self, views: list[KnownView]) -> tuple[int, list[KnownView]]:
        """Write some views; return how many, and those whose files are others than the known ones."""
        rendered = await self._store.look(
            lambda reader: [each for view in views if (each := self._render(reader, view))]
        )
        database, others = self._store.writer.connection, list[KnownView]()
        written: list[tuple[_Rendered, FileSignature | None]] = []

        def announce() -> None:
            for view, _, data in rendered:
                if data is not None:
                    view_table.add_digest(database, view, digest(data))

        def note() -> None:
            for (view, head, data), signature in written:
                view_table.note_file(database, view, signature, None if data is None else digest(data))
                view_table.note_shown(database, view, view.changed, head)

        await self._store.writer.run(announce)
        for each in rendered:
            try:
                signature = await in_thread(partial(self._keep, each))
            except StoreError as error:
                self._report(each.view, error)
                continue
            if signature is None and each.data is not None:
                others.append(each.view)
            else:
                written.append((each, signature))
        await self._store.writer.run(note)
        return len(written), others

    def _render(self, reader: Reader, view: KnownView) -> _Rendered | None:
        if view.is_deleted:
            return _Rendered(view)
        try:
            log = reader.log(view.scope, view.id)
            head = log.tip.head
            return _Rendered(view, head, render(log.conversation, log.newest(head, MAX_SEQ)))
        except ConversationNotFound:
            return None
        except StoreError as error:
            self._report(view, error)
            return None

    def _keep(self, rendered: _Rendered) -> FileSignature | None:
        """Replace the file and return its signature, or nothing if it was another than the known one; or remove it."""
        view, file, away = rendered.view, self._file(rendered.view), self._away / f"{rendered.view.number:x}"
        if rendered.data is None:
            file.put_away(away, view.signature)
            return None
        file.put_back(away)
        return file.write(rendered.data, view.signature)

    async def _take_in(self, view: KnownView) -> None:
        try:
            await self._taking_in.take_in(view.scope.tenant, view.id, self._file(view))
        except ThreadkeepError as error:
            self._report(view, error)

    async def remove_put_away(self) -> None:
        """Remove for good what was put away with conversations that are gone."""
        kept = await self._store.look(lambda reader: {f"{number:x}" for number in view_table.numbers(reader.db)})
        await in_thread(lambda: remove_put_away(self._away, kept))

    def _file(self, view: KnownView) -> ViewFile:
        return ViewFile(folder_of(self._folder, view.scope.tenant), view.id)

    def _report(self, view: KnownView, error: Exception) -> None:
        self._taking_in.problems.report(self._file(view).path, f"it could not be written: {error}")


def _behind(after: int, reader: Reader) -> list[KnownView]:
    return view_table.behind(reader.db, after, BATCH)
