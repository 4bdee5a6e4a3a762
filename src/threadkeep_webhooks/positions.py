"""How far the log of a conversation was sent to a target, and who sends for a tenant: notes in the store, so that
another process goes on where one has died."""

import asyncio
import json
from datetime import datetime, timedelta
from typing import NamedTuple

from threadkeep.conversation.clock import Clock, moment_text
from threadkeep.errors import StoreError
from threadkeep.store.notes import Notes

AT, OPEN, LEASE, SEEN = "webhooks/at/", "webhooks/open/", "webhooks/lease", "webhooks/seen"
"""What notes are called: positions, what is tried again, who sends, and up to when activity was looked at."""
LEASE_SECONDS = 20.0


class LeaseGone(StoreError, code="webhook_lease_gone"):
    """Another process sends the webhooks of this tenant now."""


class Position(NamedTuple):
    """Everything up to entry `seq` was sent, and `done` events of the next; one more was tried `attempts` times."""

    seq: int = 0
    done: int = 0
    attempts: int = 0


class Positions:
    """Positions of a tenant. What is written is refused if somebody else has written meanwhile."""

    def __init__(self, notes: Notes, tenant: str, clock: Clock) -> None:
        self._notes = notes
        self._tenant = tenant
        self._clock = clock
        self._lease: tuple[str, int, datetime] | None = None
        self._holding = asyncio.Lock()

    async def read(self, target: str, conversation: str) -> tuple[int, Position | None]:
        """Return the version of a position and the position, none if nothing was sent."""
        name = f"{AT}{target}/{conversation}"
        note = (await self._notes.read(self._tenant, [name])).get(name)
        return (0, None) if note is None else (note.version, Position(*json.loads(note.text)[:3]))

    async def last(self, target: str, conversations: list[str]) -> dict[str, int]:
        """Return up to which entries conversations were sent."""
        names = {f"{AT}{target}/{each}": each for each in conversations}
        notes = await self._notes.read(self._tenant, list(names))
        return {names[name]: json.loads(note.text)[0] for name, note in notes.items()}

    async def write(self, target: str, conversation: str, version: int, position: Position) -> int:
        """Write a position and return its version; one that fails is noted, to be tried again by whoever sends then."""
        name = f"{target}/{conversation}"
        text = json.dumps([*position, moment_text(self._clock())])
        if not await self._notes.write(self._tenant, f"{AT}{name}", text, version):
            raise LeaseGone
        if position.attempts == 1:
            await self._notes.write(self._tenant, f"{OPEN}{name}", "")
        return version + 1

    async def close(self, target: str, conversation: str, *, is_gone: bool = False) -> None:
        """Note that nothing is to be tried again, and forget the position of a conversation that is gone."""
        name = f"{target}/{conversation}"
        names = [f"{OPEN}{name}", *([f"{AT}{name}"] if is_gone else [])]
        for each, note in (await self._notes.read(self._tenant, names)).items():
            await self._notes.write(self._tenant, each, None, note.version)

    async def open(self) -> list[tuple[str, str]]:
        """Return the targets and conversations of which something is to be tried again."""
        found: list[tuple[str, str]] = []
        after = ""
        while notes := await self._notes.list(self._tenant, OPEN, limit=500, after=after):
            after = notes[-1][0]
            found += [(name.split("/")[2], name.split("/")[3]) for name, _ in notes]
        return found

    async def forget_old(self, days: timedelta) -> None:
        """Forget the positions of conversations to which nothing was added for so long."""
        after, before = "", moment_text(self._clock() - days)
        while notes := await self._notes.list(self._tenant, AT, limit=500, after=after):
            after = notes[-1][0]
            for name, note in notes:
                if json.loads(note.text)[3] < before:
                    await self._notes.write(self._tenant, name, None, note.version)

    # Who sends

    async def hold(self, owner: str) -> bool:
        """Take the lease of the tenant, or keep it; return whether it is ours."""
        async with self._holding:
            return await self._hold(owner)

    async def _hold(self, owner: str) -> bool:
        now = self._clock()
        if self._lease is not None and self._lease[2] - now > timedelta(seconds=LEASE_SECONDS / 2):
            return True
        note = (await self._notes.read(self._tenant, [LEASE])).get(LEASE)
        if note is not None:
            held = json.loads(note.text)
            is_held = now < datetime.fromisoformat(held[1]) < now + timedelta(seconds=2 * LEASE_SECONDS)
            if held[0] != owner and is_held:
                self._lease = None
                return False
        until = now + timedelta(seconds=LEASE_SECONDS)
        version = note.version if note else 0
        taken = await self._notes.write(self._tenant, LEASE, json.dumps([owner, until.isoformat()]), version)
        self._lease = (owner, version + 1, until) if taken else None
        return taken

    async def let_go(self) -> None:
        """Give the lease back."""
        if self._lease is not None:
            await self._notes.write(self._tenant, LEASE, None, self._lease[1])
            self._lease = None

    # How far activity was looked at

    async def seen(self) -> datetime | None:
        """Return up to when all activity was seen to."""
        note = (await self._notes.read(self._tenant, [SEEN])).get(SEEN)
        return None if note is None else datetime.fromisoformat(note.text)

    async def note_seen(self, at: datetime) -> None:
        """Note that all activity up to then was seen to."""
        note = (await self._notes.read(self._tenant, [SEEN])).get(SEEN)
        await self._notes.write(self._tenant, SEEN, at.isoformat(), note.version if note else 0)
