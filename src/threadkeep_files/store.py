"""Conversations in a folder: the SQLite store in a hidden file of it, and a readable document for each of them.

The documents are written behind the commits, for people and other programs. What another program wrote is taken in
when the conversation is next read, listed or written to. Safe with several processes.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from threadkeep.background import supervised
from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource, check_id
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import ConversationNotFound, StoreCorrupt, StoreError, UnknownRole
from threadkeep.store import filesystem
from threadkeep.store.filesystem import NEVER, FileSignature, translating_os_errors
from threadkeep.store.paging import Listing, ListQuery, Search
from threadkeep.store.rules import Verb
from threadkeep.store.sqlite.log import SqliteLog
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.values import Created, HitPage, Statistics
from threadkeep_files import view_table
from threadkeep_files.taking_in import TakingIn
from threadkeep_files.view_file import (
    FileProblem,
    FileProblems,
    ViewFile,
    database_of,
    files_in,
    folder_of,
    in_thread,
)
from threadkeep_files.view_writer import ViewWriter

T = TypeVar("T")
VIEW_SECONDS = 2.0
"""How long after a commit a view is written: it is rewritten as a whole, which costs more the longer it is."""
MOST_REFUSED = 10_000


class FilesStore(SqliteStore):
    """Conversations in one folder, with a folder inside for the documents of each tenant but the local one."""

    def __init__(self, path: Path, clock: Clock, ids: IdSource, max_bytes: int) -> None:
        self._folder = Path(os.path.abspath(path))
        database = database_of(self._folder)
        filesystem.make_folder(database.parent)
        super().__init__(database, clock, ids, max_bytes)
        view_table.make_tables(self.writer.connection)
        self._problems = FileProblems(clock)
        self._taking_in = TakingIn(self, self._log, self._problems, max_bytes)
        self._views = ViewWriter(self._folder, self, self._taking_in)
        self._refused: dict[Path, FileSignature] = {}
        self._showing: asyncio.Task[None] | None = None
        self._is_closing = False

    database_of = staticmethod(database_of)

    @classmethod
    async def open(cls, path: Path, clock: Clock, ids: IdSource, max_bytes: int) -> "FilesStore":
        store = await super().open(path, clock, ids, max_bytes)
        await store.write_views()
        return store

    async def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        if self._showing is not None:
            self._showing.cancel()
            await asyncio.wait([self._showing])
        with suppress(StoreError):
            await self.write_views()
        await super().close()

    def problems(self) -> tuple[FileProblem, ...]:
        """Return what was found wrong with files since the store was opened, and what was done about it."""
        return self._problems.all()

    # Conversations

    async def create(
        self,
        scope: Scope,
        new: NewConversation,
        *,
        key: IdempotencyKey | None = None,
        at: datetime | None = None,
        within_caps: bool = True,
    ) -> Created:
        if new.id is not None:
            await self._take_in(scope.tenant, new.id)
        return await super().create(scope, new, key=key, at=at, within_caps=within_caps)

    async def delete(self, scope: Scope, conversation: str, *, expected_entries: int | None = None) -> None:
        await self._take_in(scope.tenant, conversation)
        await super().delete(scope, conversation, expected_entries=expected_entries)
        await self.write_views()

    async def restore(self, scope: Scope, conversation: str, *, within_caps: bool = False) -> Conversation:
        await self._take_in(scope.tenant, conversation)
        restored = await super().restore(scope, conversation, within_caps=within_caps)
        await self.write_views()
        return restored

    async def purge(self, kept_for: timedelta, *, owner: Scope | None = None) -> int:
        await self.write_views()
        count = await super().purge(kept_for, owner=owner)
        await self.run(lambda: view_table.forget_purged(self.writer.connection))
        await self._views.remove_put_away()
        return count

    # What concerns more than one conversation looks at all files of a tenant first

    async def _list(self, asked: ListQuery) -> Listing:
        await self._refresh(asked.tenant)
        return await super()._list(asked)

    async def _search(self, asked: Search) -> HitPage:
        await self._refresh(asked.scope.tenant)
        return await super()._search(asked)

    async def statistics(self, tenant: str, *, user: str | None = None, conversation: str | None = None) -> Statistics:
        await self._refresh(tenant)
        return await super().statistics(tenant, user=user, conversation=conversation)

    async def users(self, tenant: str) -> tuple[str, ...]:
        await self._refresh(tenant)
        return await super().users(tenant)

    async def owner(self, tenant: str, conversation: str) -> Scope:
        await self._refresh(tenant)
        return await super().owner(tenant, conversation)

    async def tenants(self) -> tuple[str, ...]:
        await self._refresh(LOCAL.tenant)
        return await super().tenants()

    # Seams

    async def _read(self, scope: Scope, conversation: str, read: Callable[[SqliteLog], T]) -> T:
        await self._take_in(scope.tenant, conversation)
        try:
            return await super()._read(scope, conversation, read)
        except ConversationNotFound:
            await self._check_missing(scope.tenant, conversation)
            raise

    async def _write(self, scope: Scope, conversation: str, verb: Verb[T]) -> T:
        await self._take_in(scope.tenant, conversation)
        try:
            return await super()._write(scope, conversation, verb)
        except ConversationNotFound:
            await self._check_missing(scope.tenant, conversation)
            raise

    async def _follow(self) -> None:
        await super()._follow()
        if (self._showing is None or self._showing.done()) and not self._is_closing:
            self._showing = asyncio.create_task(supervised("writing views", self._show))

    def _file(self, tenant: str, conversation: str) -> ViewFile:
        return ViewFile(folder_of(self._folder, tenant), check_id(conversation))

    async def write_views(self) -> int:
        """Write the views that are behind now, instead of some seconds later; return how many."""
        return await self._views.write_all()

    async def _show(self) -> None:
        while True:
            await asyncio.sleep(VIEW_SECONDS)
            if not await self.write_views():
                return

    # Taking in

    async def _take_in(self, tenant: str, conversation: str) -> None:
        """Take in what another program wrote into the file of a conversation, or see to it that a lost one comes."""
        file = self._file(tenant, conversation)
        with translating_os_errors():
            signature = file.signature()
        if signature != view_table.signature_of(self._reader.db, tenant, conversation):
            await self._taking_in.take_in(tenant, conversation, file)

    async def _refresh(self, tenant: str) -> None:
        """Take in everything that other programs wrote into the folder of a tenant."""
        folder = folder_of(self._folder, tenant)
        found = await in_thread(lambda: files_in(folder))
        known = await self.look(lambda reader: view_table.signatures(reader.db, tenant))
        for name in sorted(found.keys() | known.keys()):
            path, signature = folder / f"{name}.json", found.get(name)
            if known.get(name) == signature or self._refused.get(path) == (signature or NEVER):
                continue
            try:
                await self._take_in(tenant, name)
            except (StoreCorrupt, UnknownRole) as error:
                self._problems.report(path, str(error))
                if len(self._refused) >= MOST_REFUSED:
                    self._refused.clear()
                self._refused[path] = signature or NEVER

    async def _check_missing(self, tenant: str, conversation: str) -> None:
        """Raise `StoreCorrupt` if all that there is of a conversation is a file that was set aside."""
        file = self._file(tenant, conversation)
        aside = await in_thread(file.aside)
        if aside and view_table.find(self._reader.db, tenant, conversation) is None:
            raise StoreCorrupt(f"{file.path.name} was no JSON document; it is kept in {aside[-1].name}.")
