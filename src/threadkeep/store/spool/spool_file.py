"""The spool itself: an embedded store in a folder that only one process uses at a time, and how a conversation of the
database is kept in it.

Entries have the numbers that they have in the database; those before the first that is known here are left out. Each
user has a tenant of their own in it, so that nobody can take an id from somebody else.
"""

import fcntl
import json
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, Self

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease
from threadkeep.errors import InvalidValue, StoreBusy, StoreCorrupt, StoreUnavailable
from threadkeep.store.base import MAX_LIMIT, ROOT
from threadkeep.store.checks import encode_within
from threadkeep.store.filesystem import make_folder, translating_os_errors, unused_name, write_file
from threadkeep.store.import_rules import ADOPTED_FOR
from threadkeep.store.record import Imported, ImportedPlace, KeyPlace, OpenTurn, Record, Tip
from threadkeep.store.rules import Verb
from threadkeep.store.sqlite.opening import set_log_aside
from threadkeep.store.sqlite.store import SqliteStore

logger = logging.getLogger(__name__)

OF_DATABASE, DAMAGE = "database", "damage"
"""Files of a spool: the secret of its database, and what was found to be wrong with it."""
IN_USE = "Another process uses this spool, and drains it by itself: every instance needs a folder of its own."
REPAIRS = 2
Place = tuple[str, str]
"""The tenant of a user in the spool, and a conversation."""


@lru_cache(maxsize=10_000)
def inside(scope: Scope) -> Scope:
    """Return whose a user's conversations are in the spool."""
    name = json.dumps([scope.tenant, scope.user]).encode()
    return Scope(tenant=f"u{blake2b(name, digest_size=16).hexdigest()}", user=scope.user)


@dataclass(frozen=True, kw_only=True)
class Holding:
    """A conversation as it is brought into the spool: what is known of it, with `draft` the id and the text of the
    message that `lease` is being used to write."""

    new: NewConversation
    about: Conversation | None = None
    entries: Sequence[Entry] = ()
    turns: tuple[OpenTurn, ...] = ()
    keys: tuple[KeyPlace, ...] = ()
    lease: Lease | None = None
    draft: tuple[str, str] = ("", "")


class KeptKey(NamedTuple):
    """A key in the spool: its name and digest, and the first and the last entry that it made."""

    name: bytes
    digest: bytes
    first: int
    last: int


class SpoolFile(SqliteStore):
    """A spool in a folder. `damage` tells what was found to be wrong with it, until somebody removes that file."""

    folder: Path
    _locked: int | None = None

    @classmethod
    async def open_in(cls, folder: Path, clock: Clock, ids: IdSource, max_bytes: int) -> Self:
        """Open the spool of this folder; `StoreBusy` if another process has it. One that is damaged is kept aside."""
        with translating_os_errors():
            make_folder(folder)
            locked = os.open(folder / "spool.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for _ in range(REPAIRS):
                try:
                    spool = await cls._opened(folder, clock, ids, max_bytes)
                    break
                except StoreCorrupt as error:
                    _repair(folder, clock, error)
            else:
                spool = await cls._opened(folder, clock, ids, max_bytes)
        except BlockingIOError:
            os.close(locked)
            raise StoreBusy(IN_USE) from None
        except BaseException:
            os.close(locked)
            raise
        spool._locked = locked
        return spool

    @classmethod
    async def _opened(cls, folder: Path, clock: Clock, ids: IdSource, max_bytes: int) -> Self:
        spool = await cls.open(spool_path(folder), clock, ids, max_bytes)
        spool.folder = folder
        try:
            await spool.conversations()
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
        if path.exists() and path.read_bytes() != secret and await self.conversations():
            raise InvalidValue(f"The spool in {self.folder} belongs to another database: drain it into that one.")
        with translating_os_errors():
            write_file(path, secret)

    # What it holds

    async def conversations(self) -> list[Conversation]:
        """Return everything that it holds."""
        found: list[Conversation] = []
        for tenant in await self.tenants():
            after: str | None = None
            while True:
                page = await self.list_tenant(tenant, limit=MAX_LIMIT, after=after)
                found += [await self.get(item.scope, item.id) for item in page.items]
                if (after := page.next) is None:
                    break
        return found

    async def hold(self, scope: Scope, holding: Holding) -> None:
        """Bring a conversation in, in one step; its entries keep their numbers."""
        new, about, lease = holding.new, holding.about, holding.lease
        name, rows = new.id or "", [encode_within(entry.body, self._rules.max_bytes) for entry in holding.entries]
        places = [
            ImportedPlace.trusted(parent=entry.parent or ROOT, turn=entry.turn, at=entry.created_at, beside=0)
            for entry in holding.entries
        ]
        until = self._clock() + ADOPTED_FOR
        turns = [turn.model_copy(update={"until": until}) if turn.owner else turn for turn in holding.turns]
        version = about.version if about else 1
        imported = Imported(places=tuple(places), version=version, turns=tuple(turns), keys=holding.keys)

        def work() -> None:
            self._log.create(scope, name, new, None, about.created_at if about else None, self.caps)
            if holding.entries:
                end = self._log.end(scope, name)
                end.tip = Tip(last=holding.entries[0].seq - 1)
                bodies = tuple(entry.body for entry in holding.entries)
                self._log.commit(end, Record(at=self._clock(), bodies=bodies, imported=imported), rows)
            if lease is not None and holding.draft[1]:
                message, text = holding.draft
                verb = Verb(lambda end: self._rules.write(end, lease, message, 0, text))
                self._log.write(scope, name, verb, self.caps)

        await self._run(work)

    async def keys_of(self, scope: Scope, conversation: str) -> list[KeptKey]:
        """Return the keys that made entries of a conversation."""
        found = "SELECT name, digest, first, last FROM key WHERE tenant = ? AND conversation = ? AND first > 0"
        return await self._read(
            scope, conversation, lambda log: [KeptKey(*row) for row in self._reader.db.rows(found, log.key[:2])]
        )


def spool_path(folder: Path) -> Path:
    """Return the file of a spool."""
    return folder / "spool.db"


def damage_in(folder: Path) -> str | None:
    """Return what was found to be wrong with a spool, until its file is removed."""
    with suppress(FileNotFoundError):
        return (folder / DAMAGE).read_text().strip() or None
    return None


def add_damage(folder: Path, said: str) -> None:
    """Keep what is wrong with a spool for health, doctor and whoever looks into the folder."""
    logger.error("the spool in %s is damaged: %s", folder, said)
    with translating_os_errors():
        write_file(folder / DAMAGE, f"{damage_in(folder) or ''}\n{said}\n".lstrip().encode())


def _repair(folder: Path, clock: Clock, why: StoreCorrupt) -> None:
    """Go on with what a spool still holds, or without it, and keep aside what cannot be used."""
    path = spool_path(folder)
    with suppress(StoreCorrupt):
        if (done := set_log_aside(path)) is not None:
            return add_damage(folder, done)
    aside = unused_name(path, "damaged", clock())
    for file in folder.glob(f"{path.name}*"):
        if file.name.removeprefix(path.name) in ("", "-wal", "-shm", "-mark"):
            os.replace(file, f"{aside}{file.name.removeprefix(path.name)}")
    return add_damage(folder, f"{path.name} cannot be read and is kept as {aside.name}: {why}")
