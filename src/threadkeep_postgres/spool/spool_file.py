"""The spool itself: the SQLite store in a folder that only one process uses at a time, and a table of what is known of
each conversation in it, by which it is carried over to the database.

Entries have the numbers that they have in the database; those before the first that is known here are left out. Each
user has a tenant of their own in it, so that nobody can take an id from somebody else.
"""

import asyncio
import fcntl
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease
from threadkeep.errors import InvalidValue, SpoolFull, StoreBusy, StoreCorrupt, StoreUnavailable
from threadkeep.store.checks import check_adopt
from threadkeep.store.filesystem import make_folder, translating_os_errors, unused_name, write_file
from threadkeep.store.record import KeyPlace, KeyUse, Tip
from threadkeep.store.rules import AddedText, Verb
from threadkeep.store.sqlite.opening import set_log_aside
from threadkeep.store.sqlite.pair import make_tables
from threadkeep.store.sqlite.reader import Reader
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.values import Adopt, Append, Snapshot

logger = logging.getLogger("threadkeep.store.spool.spool_file")

OF_DATABASE, DAMAGE = "database", "damage"
"""Files of a spool: the secret of its database, and what was found to be wrong with it."""
IN_USE = "Another process uses this spool, and drains it by itself: every instance needs a folder of its own."
REPAIRS = 2
BLIND = 2**40
"""Entries of a conversation of which nothing is known here, not even its length, are numbered from here on."""
Place = tuple[Scope, str]
WRITES = frozenset({"update", "choose_head", "append", "begin", "start", "withdraw", "take", "extend", "write"})
_TABLE = "CREATE TABLE copy (conversation INTEGER PRIMARY KEY, about TEXT)"


class Copy(BaseModel):
    """What is known of one conversation that the spool holds. `first` is the first entry that is known here, `base` the
    newest that came from the database, `last` the newest here; `answers` is whether enough is known for turns to go on;
    `is_new` is whether it was begun in the outage, with a `key` if it had one; `lease` is of the turn of the database
    that goes on here; `is_changed` is whether this process has written to it; `left` is set when it has left."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    scope: Scope
    id: str
    first: int = 1
    base: int = 0
    answers: bool = True
    is_new: bool = False
    key: KeyUse | None = None
    lease: Lease | None = None
    last: int = Field(default=0, exclude=True)
    is_changed: bool = Field(default=False, exclude=True)
    bytes: int = Field(default=0, exclude=True)
    left: asyncio.Event = Field(default_factory=asyncio.Event, exclude=True)
    lock: asyncio.Lock = Field(default_factory=asyncio.Lock, exclude=True)

    @property
    def place(self) -> tuple[Scope, str]:
        return self.scope, self.id

    @property
    def is_blind(self) -> bool:
        """Whether nothing is known of what it continues."""
        return self.base == BLIND

    @property
    def is_spooled(self) -> bool:
        """Whether it holds anything that is not in the database."""
        return self.last > self.base or self.is_new or self.is_changed

    def runs(self, turn: int) -> bool:
        """Whether a turn is run here, and not in the database."""
        return turn > self.base or (self.lease is not None and self.lease.turn == turn)


@dataclass(frozen=True, kw_only=True)
class Holding:
    """A copy as it is brought into the spool: what is known of its log, and the id and the text of the message that its
    lease is being used to write."""

    copy: Copy
    new: NewConversation
    created_at: datetime | None = None
    adopt: Adopt | None = None
    draft: tuple[str, str] = ("", "")


class StoredKey(IdempotencyKey):
    """An idempotency key of which only the name and the digest were kept."""

    stored: bytes

    @classmethod
    def of_use(cls, use: KeyUse) -> Self:
        return cls(route="kept", key="kept", stored=bytes.fromhex(use.name), digest=bytes.fromhex(use.digest))

    def name(self, scope: Scope) -> bytes:
        return self.stored


class _OwnTenants(Reader):
    def tenant_name(self, scope: Scope) -> str:
        return f"{scope.tenant} {scope.user}"


class SpoolFile(SqliteStore):
    """A spool in a folder. `held` are the copies in it, by their places, and `gone` the owners of turns that an earlier
    process has left; `most` is how many bytes of text it may hold."""

    reading = _OwnTenants
    most = 1024**3
    folder: Path
    _locked: int | None = None

    def __init__(self, path: Path, clock: Clock, ids: IdSource, max_bytes: int) -> None:
        super().__init__(path, clock, ids, max_bytes)
        make_tables(self.writer.connection, "copy", _TABLE)
        self.held: dict[Place, Copy] = {}
        self.gone: set[str | None] = set()

    @classmethod
    async def open_in(cls, folder: Path, clock: Clock, ids: IdSource, max_bytes: int) -> Self:
        """Open the spool of this folder; `StoreBusy` if another process has it. One that is damaged is kept aside."""
        with translating_os_errors():
            make_folder(folder)
            locked = os.open(folder / "spool.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
            spool = await cls._repaired(folder, clock, ids, max_bytes, REPAIRS)
        except BaseException as error:
            os.close(locked)
            raise StoreBusy(IN_USE) if isinstance(error, BlockingIOError) else error from None
        spool._locked = locked
        return spool

    @classmethod
    async def _repaired(cls, folder: Path, clock: Clock, ids: IdSource, max_bytes: int, repairs: int) -> Self:
        try:
            return await cls.looked_at(folder, clock, ids, max_bytes)
        except StoreCorrupt as error:
            if not repairs:
                raise
            _repair(folder, clock, error)
            return await cls._repaired(folder, clock, ids, max_bytes, repairs - 1)

    @classmethod
    async def looked_at(cls, folder: Path, clock: Clock, ids: IdSource, max_bytes: int) -> Self:
        """Open the spool of this folder, also while another process has it."""
        spool = await cls.open(spool_path(folder), clock, ids, max_bytes)
        spool.folder = folder
        try:
            await spool.copies()
        except BaseException:
            await spool.close()
            raise
        return spool

    async def close(self) -> None:
        await super().close()
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    # What it is for

    def database_secret(self, away: StoreUnavailable) -> bytes:
        """Return the secret of the database that this spool is for; raises why it is away if it is not known yet."""
        try:
            return (self.folder / OF_DATABASE).read_bytes()
        except FileNotFoundError:
            raise away from None

    async def belong_to(self, secret: bytes) -> None:
        """Take note whose spool this is; `InvalidValue` if it holds what was sent to another database."""
        path = self.folder / OF_DATABASE
        if path.exists() and path.read_bytes() != secret and await self.copies():
            raise InvalidValue(f"The spool in {self.folder} belongs to another database: drain it into that one.")
        with translating_os_errors():
            write_file(path, secret)

    # What it holds

    async def copies(self) -> list[Copy]:
        """Return everything that it holds."""
        with self._snapshot():
            rows = self._reader.db.rows("SELECT about FROM copy")
        found = [Copy.model_validate_json(about) for (about,) in rows]
        for copy in found:
            copy.last = (await self.get(*copy.place)).entries
        return found

    async def load(self) -> None:
        """Take up what an earlier process has left."""
        for copy in await self.copies():
            scope = copy.scope
            copy.bytes = (await self.statistics(scope.tenant, user=scope.user, conversation=copy.id)).bytes
            self.gone.update(turn.owner for turn in await self.turns(*copy.place))
            self.held[copy.place] = copy

    def spooled(self) -> list[Copy]:
        """Return the copies that hold something that is not in the database."""
        return [copy for copy in self.held.values() if copy.is_spooled]

    def find(self, scope: Scope, conversation: str) -> Copy | None:
        return self.held.get((scope, conversation)) if self.held else None

    async def hold(self, holding: Holding) -> None:
        """Bring a conversation in, in one step; its entries keep their numbers."""
        copy, adopt, (message, text) = holding.copy, holding.adopt, holding.draft
        entries, rows = (adopt.entries, check_adopt(adopt, self._rules.max_bytes)) if adopt else ((), [])
        self._make_room(copy, sum(len(each.model_dump_json()) for each in (holding.new, *entries)))

        def work() -> None:
            self._log.create(*copy.place, holding.new, None, holding.created_at, self.caps)
            end = self._log.end(*copy.place)
            end.tip = Tip(last=copy.first - 1)
            about = (end.log.key.conversation, copy.model_dump_json())
            self.writer.connection.execute("INSERT INTO copy VALUES (?, ?)", about)
            if adopt is not None:
                self._log.write(*copy.place, Verb(lambda end: self._rules.adopt(end, adopt, rows, {})), self.caps)
            if (lease := copy.lease) is not None and text:
                written = Verb(lambda end: self._rules.write(end, AddedText(lease, message, 0, text)))
                self._log.write(*copy.place, written, self.caps)

        await self.run(work)
        self.held[copy.place] = copy

    def _make_room(self, copy: Copy, size: int, *, is_sent: bool = True) -> None:
        """Count what is to be kept; `SpoolFull` if that is too much: half of what others leave is for each user."""
        own = sum(each.bytes for each in self.held.values() if each.scope == copy.scope)
        others = sum(each.bytes for each in self.held.values()) - own
        if is_sent and own + size > (self.most - others) // 2:
            raise SpoolFull
        copy.bytes += size

    async def do(self, copy: Copy, verb: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Do something with a copy. A turn that runs may go beyond what may be held; what is new is refused."""
        sent = args[-1]
        if verb == "log" and sent.seq < copy.first - 1:
            args = (*args[:-1], Cursor(seq=copy.first - 1))
        elif verb in ("append", "begin"):
            bodies = sent.bodies if isinstance(sent, Append) else filter(None, (sent.message,))
            size = sum(len(body.model_dump_json()) for body in bodies)
            self._make_room(copy, size, is_sent=verb == "begin" or sent.lease is None)
        # Before it is written: nobody may discard it meanwhile.
        copy.is_changed = copy.is_changed or (verb in WRITES and verb != "extend")
        answer = await getattr(self, verb)(*args, **kwargs)
        if verb in WRITES and verb != "write":
            copy.last = (await self.get(*copy.place)).entries
        if isinstance(answer, Snapshot):
            return replace(answer, conversation=_incomplete(answer.conversation))
        return _incomplete(answer) if isinstance(answer, Conversation) else answer

    async def remove(self, copy: Copy) -> None:
        """Take a conversation out again."""
        act = self._act(*copy.place, "deleted")

        def work() -> None:
            key = self._log.end(*copy.place).log.key.conversation
            self.writer.connection.execute("DELETE FROM copy WHERE conversation = ?", (key,))
            self._remover.hide(*copy.place, None, act)

        await self.run(work)
        self.held.pop(copy.place, None)
        copy.left.set()

    async def discard(self, copy: Copy) -> bool:
        """Forget a copy that holds nothing of its own, and return whether it did not: the database has answered after
        all, and has more."""
        async with copy.lock:
            if self.held.get(copy.place) is copy and not copy.is_spooled:
                await self.remove(copy)
        return self.held.get(copy.place) is not copy

    async def erase(self, scope: Scope) -> None:
        """Throw away what a user has here."""
        for copy in [copy for copy in self.held.values() if copy.scope == scope]:
            async with copy.lock:
                await self.remove(copy)
        await self.purge(timedelta(0))

    async def keys_of(self, copy: Copy) -> list[KeyPlace]:
        """Return the keys that made entries of a conversation."""
        found = "SELECT hex(name), hex(digest), first, last FROM key WHERE tenant = ? AND conversation = ?"
        rows = await self._read(*copy.place, lambda log: list(self._reader.db.rows(found, log.key[:2])))
        return [KeyPlace(name=name, digest=digest, first=first, last=last) for name, digest, first, last in rows]


def _incomplete(conversation: Conversation) -> Conversation:
    return conversation.model_copy(update={"incomplete": True})


def spool_path(folder: Path) -> Path:
    """Return the file of a spool."""
    return folder / "spool.db"


def damage_in(folder: Path) -> str | None:
    """Return what was found to be wrong with a spool, until its file is removed."""
    with suppress(FileNotFoundError):
        return (folder / DAMAGE).read_text().strip() or None
    return None


def _add_damage(folder: Path, said: str) -> None:
    """Keep what is wrong with a spool for health, doctor and whoever looks into the folder."""
    logger.error("the spool in %s is damaged: %s", folder, said)
    with translating_os_errors():
        write_file(folder / DAMAGE, f"{damage_in(folder) or ''}\n{said}\n".lstrip().encode())


def _repair(folder: Path, clock: Clock, why: StoreCorrupt) -> None:
    """Go on with what a spool still holds, or without it, and keep aside what cannot be used."""
    path = spool_path(folder)
    with suppress(StoreCorrupt):
        if (done := set_log_aside(path)) is not None:
            return _add_damage(folder, done)
    aside = unused_name(path, "damaged", clock())
    for suffix in ("", "-wal", "-shm", "-mark"):
        with suppress(FileNotFoundError):
            os.replace(f"{path}{suffix}", f"{aside}{suffix}")
    return _add_damage(folder, f"{path.name} cannot be read and is kept as {aside.name}: {why}")
