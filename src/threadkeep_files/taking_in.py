"""Taking in what other programs wrote: a file without a conversation begins one, a changed file continues it.

Read and compared in threads, then committed together with the note which file that was, if nobody else was faster.
"""

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import AlreadyExists, InvalidInput, StoreBusy, StoreCorrupt, StoreError, UnknownRole
from threadkeep.store.caps import Caps
from threadkeep.store.codec import Row
from threadkeep.store.filesystem import FileSignature
from threadkeep.store.record import Tip
from threadkeep.store.sqlite.reader import Reader
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.sqlite.writing import LogWriter
from threadkeep_files import view_table
from threadkeep_files.view import Document, Taken, begun, digest, parse, read, taken
from threadkeep_files.view_file import FileProblems, FoundFile, ViewFile, in_thread
from threadkeep_files.view_table import KnownView

ATTEMPTS = 10
"""How often others may change a file or its conversation while it is taken in."""


class TakingIn:
    """Takes in the files of one folder."""

    def __init__(self, store: SqliteStore, log: LogWriter, problems: FileProblems, max_bytes: int) -> None:
        self._store = store
        self._log = log
        self.problems = problems
        self._max_bytes = max_bytes

    async def take_in(self, tenant: str, conversation: str, file: ViewFile) -> None:
        """Take in what is in the file of a conversation. Where there is none, `StoreCorrupt` or `UnknownRole` say why
        it cannot begin one; where there is one, it goes on and the problem is reported."""
        for _ in range(ATTEMPTS):
            known, leaving = await self._store.look(lambda reader: _known(reader, tenant, conversation))
            found = await in_thread(file.read)
            if known is None:
                if (
                    found is None
                    or found.signature in leaving
                    or await self._begin(Scope(tenant=tenant, user=LOCAL.user), conversation, file, found)
                ):
                    return
                continue
            try:
                if await (self._change(known, file, found) if found else self._note(known, None, None)):
                    return
            except StoreError as error:
                self.problems.report(file.path, f"changes of another program could not be taken over: {error}")
                return
        raise StoreBusy

    # A file without a conversation

    async def _begin(self, scope: Scope, conversation: str, file: ViewFile, found: FoundFile) -> bool:
        """Begin a conversation; return whether nobody else did so meanwhile."""
        document, rows = await in_thread(lambda: self._opened(file, found))
        added = Taken(Tip(), None, document.messages)

        def work() -> bool:
            try:
                self._log.create(scope, conversation, begun(document), None, document.created_at, Caps())
            except AlreadyExists:
                return False
            return self._commit(scope, conversation, added, rows, found)

        return await self._store.run(work)

    def _opened(self, file: ViewFile, found: FoundFile) -> tuple[Document, list[Row]]:
        """Return what the file holds. One that is no JSON is set aside, any other is left as it is."""
        now = self._log.clock()
        try:
            document = read(parse(found.data), now)
            rows = Taken(Tip(), None, document.messages).rows(self._max_bytes)
        except (StoreCorrupt, InvalidInput) as error:
            kind = UnknownRole if isinstance(error, UnknownRole) else StoreCorrupt
            raise kind(f"{file.path.name} was left as it is and cannot be imported: {error}") from None
        except ValueError as error:
            aside = file.set_aside(now)
            self.problems.report(file.path, f"it is no JSON document ({error}); it is kept in {aside}")
            raise StoreCorrupt(f"{file.path.name} was no JSON document; it is kept in {aside.name}.") from None
        if document.rest:
            file.keep_original(found.data, now)
        return document, rows

    # The file of a conversation

    async def _note(self, known: KnownView, signature: FileSignature | None, made: bytes | None) -> bool:
        """Note which file there is, or that there is none; one that is not the last of ours is written again."""

        def work() -> bool:
            if made is None or made != known.digest:
                view_table.note_change(self._log.db, known)
            view_table.note_file(self._log.db, known, signature, made)
            return True

        return await self._store.run(work)

    async def _change(self, known: KnownView, file: ViewFile, found: FoundFile) -> bool:
        """Take in a file that is not the known one; return whether nobody changed something meanwhile."""
        made = digest(found.data)
        if await self._store.look(lambda reader: view_table.has_digest(reader.db, known, made)):
            return await self._note(known, found.signature, made)
        try:
            document = await in_thread(lambda: read(parse(found.data), self._log.clock()))
            shown = None if known.changed == known.shown else known.head
            added = await self._store.look(lambda reader: taken(reader.log(known.scope, known.id), document, shown))
            rows = await in_thread(lambda: added.rows(self._max_bytes))
        except (ValueError, StoreCorrupt, InvalidInput) as error:
            return await self._set_aside(known, file, error)
        if document.rest:
            await in_thread(lambda: file.keep_original(found.data, self._log.clock()))

        def work() -> bool:
            if view_table.find(self._log.db, known.scope.tenant, known.id) != known:
                return False
            return self._commit(known.scope, known.id, added, rows, found)

        return await self._store.run(work)

    async def _set_aside(self, known: KnownView, file: ViewFile, error: Exception) -> bool:
        aside = await in_thread(lambda: file.set_aside(self._log.clock()))
        self.problems.report(file.path, f"it was damaged ({error}) and is kept in {aside}; it is written anew")
        return await self._note(known, None, None)

    def _commit(self, scope: Scope, conversation: str, added: Taken, rows: list[Row], found: FoundFile) -> bool:
        """Store what was added, and note the file it came from; return whether the log still ends where it did."""
        end = self._log.end(scope, conversation)
        if end.tip != added.tip:
            return False
        database = self._log.db
        before = view_table.find(database, scope.tenant, conversation)
        if rows:
            self._log.commit(end, added.record(self._log.clock(), end.version, end.log.follower), rows)
        after = view_table.find(database, scope.tenant, conversation)
        if before is None or after is None:
            raise StoreCorrupt(f"Nothing is known of the file of {conversation}.")
        view_table.add_digest(database, after, digest(found.data))
        view_table.note_file(database, after, found.signature, digest(found.data))
        if before.changed == before.shown or added.tip == Tip():
            view_table.note_shown(database, after, after.changed, end.tip.head)
        return True


def _known(reader: Reader, tenant: str, conversation: str) -> tuple[KnownView | None, set[FileSignature | None]]:
    """Return what is known of a file, and which files are not taken in since they are about to be removed."""
    known = view_table.find(reader.db, tenant, conversation)
    return known, set() if known else view_table.leaving(reader.db, tenant, conversation)
