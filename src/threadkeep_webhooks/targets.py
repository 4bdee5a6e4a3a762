"""Which addresses get the events of a tenant, those of the settings and those that administrators have added, and what
was given up for each. Their secrets are shown once, when they are made."""

import base64
import json
import secrets
from datetime import datetime

from threadkeep.conversation.clock import Clock, moment_text
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.value import Moment, Value
from threadkeep.errors import LimitReached, NotFound
from threadkeep.store.notes import Notes
from threadkeep_webhooks.tables import PREFIX, WebhooksTable, WebhookTarget

TARGET, BEGUN, DEAD = "webhooks/target/", "webhooks/begun/", "webhooks/dead/"
"""What the names of notes begin with: for targets, for when those of the settings began, for what was given up."""
MOST_TARGETS = 20
MOST_DEAD = 1000
"""How much of what was given up is kept for one target; the oldest goes first."""
_PAGE = 100


class WebhookNotFound(NotFound, code="webhook_not_found"):
    """There is no such webhook, or nothing of it under this id."""


class TooManyWebhooks(LimitReached, code="too_many_webhooks"):
    """There are too many webhooks; delete some."""


class DeadLetter(Value):
    """An event that was given up: where it is in which log, after how many attempts, and why. What it says is in the
    log alone."""

    id: str
    conversation: str
    seq: int
    index: int
    type: str
    attempts: int
    reason: str
    at: Moment


class Targets:
    """The targets of all tenants."""

    def __init__(self, notes: Notes, table: WebhooksTable, clock: Clock, ids: IdSource) -> None:
        self._notes = notes
        self._table = table
        self._clock = clock
        self._ids = ids

    async def tenants(self) -> set[str]:
        """Return the tenants that have one."""
        return {*(each.tenant for each in self._table.targets.values()), *await self._notes.tenants(TARGET)}

    async def of(self, tenant: str) -> list[WebhookTarget]:
        """Return those of a tenant."""
        found = []
        for name, table in self._table.targets.items():
            if table.tenant == tenant:
                found.append(WebhookTarget.of_settings(name, table, await self._begun(tenant, name)))
        for _, note in await self._notes.list(tenant, TARGET, limit=MOST_TARGETS):
            found.append(WebhookTarget.model_validate_json(note.text))
        return found

    async def _begun(self, tenant: str, name: str) -> datetime:
        """Return since when one of the settings gets events: since somebody first looked."""
        await self._notes.write(tenant, f"{BEGUN}{name}", moment_text(self._clock()))
        note = (await self._notes.read(tenant, [f"{BEGUN}{name}"]))[f"{BEGUN}{name}"]
        return datetime.fromisoformat(note.text)

    async def find(self, tenant: str, id: str) -> WebhookTarget:
        """Return one of a tenant."""
        for target in await self.of(tenant):
            if target.id == id:
                return target
        raise WebhookNotFound

    async def add(self, tenant: str, url: str, events: tuple[str, ...]) -> WebhookTarget:
        """Add one, which gets what happens from now on."""
        if len(await self._notes.list(tenant, TARGET, limit=MOST_TARGETS)) >= MOST_TARGETS:
            raise TooManyWebhooks(f"A tenant has at most {MOST_TARGETS} webhooks; delete some.")
        secret = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
        known = {"id": self._ids(), "tenant": tenant, "url": url, "events": events, "since": self._clock()}
        target = WebhookTarget.model_validate({**known, "secret": secret})
        text = json.dumps({**target.model_dump(mode="json"), "secret": secret})
        await self._notes.write(tenant, f"{TARGET}{target.id}", text)
        return target

    async def remove(self, tenant: str, id: str) -> None:
        """Remove one that an administrator has added, and what was given up for it."""
        name = f"{TARGET}{id}"
        note = (await self._notes.read(tenant, [name])).get(name)
        if note is None or not await self._notes.write(tenant, name, None, note.version):
            raise WebhookNotFound
        while letters := await self._notes.list(tenant, f"{DEAD}{id}/", limit=_PAGE):
            for each, letter in letters:
                await self._notes.write(tenant, each, None, letter.version)

    # What was given up

    async def bury(self, target: WebhookTarget, letter: DeadLetter) -> None:
        """Keep what was given up; of too much the oldest goes."""
        beginning = f"{DEAD}{target.id}/"
        await self._notes.write(target.tenant, f"{beginning}{letter.id}", letter.model_dump_json())
        kept = await self._notes.list(target.tenant, beginning, limit=MOST_DEAD + _PAGE)
        for name, note in kept[: max(0, len(kept) - MOST_DEAD)]:
            await self._notes.write(target.tenant, name, None, note.version)

    async def buried(self, target: WebhookTarget, *, limit: int, after: str = "") -> list[DeadLetter]:
        """Return what was given up, the oldest first."""
        beginning = f"{DEAD}{target.id}/"
        found = await self._notes.list(target.tenant, beginning, limit=limit, after=f"{beginning}{after}")
        return [DeadLetter.model_validate_json(note.text) for _, note in found]

    async def letter(self, target: WebhookTarget, id: str) -> DeadLetter:
        """Return one thing that was given up."""
        name = f"{DEAD}{target.id}/{id}"
        note = (await self._notes.read(target.tenant, [name])).get(name)
        if note is None:
            raise WebhookNotFound
        return DeadLetter.model_validate_json(note.text)

    async def dig_up(self, target: WebhookTarget, letter: DeadLetter) -> None:
        """Forget that something was given up."""
        name = f"{DEAD}{target.id}/{letter.id}"
        note = (await self._notes.read(target.tenant, [name])).get(name)
        if note is not None:
            await self._notes.write(target.tenant, name, None, note.version)
