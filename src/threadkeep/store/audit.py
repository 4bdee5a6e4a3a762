"""The contract of an audit log: who did what, to what, when and from where, in one chain of hashes for each tenant.

It has ids, counts and codes, never content. Legal holds and retention rules are acts in it: the present ones are
derived from the log, so a change and its record cannot differ. A person is named by a pseudonym, so that erasing the
person breaks no chain. What is hashed, derived and verified is decided here; backends only keep rows of text.
"""

import hmac
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Any, NamedTuple

from pydantic import Field, StringConstraints, ValidationError

from threadkeep.conversation.api_key import Login
from threadkeep.conversation.caller import CALLER
from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.value import JsonObject, Moment, Value
from threadkeep.errors import InvalidInput, InvalidLimit, StoreCorrupt

USER, ALIAS = "user:", "user:~"
"""The prefixes of a person's name in an act, and of the pseudonym in the log: no id begins with a tilde."""
PRUNED, ERASURE_BEGUN = "audit.pruned", "erasure.begun"
FACTS = ("hold.added", "hold.removed", "retention.set", "retention.removed")
"""Acts that stay in force, each for its topic and object, until another one replaces or removes it."""
MAX_ACTS = 2**31 - 1
"""How many records a log can have in every store."""
PAGE = 1000

Code = Annotated[str, StringConstraints(pattern=r"^[ -~]{0,300}$")]


class Act(Value):
    """What somebody did. `actor` is `user:ID`, `operator` (the command line) or `system`; `action` a code such as
    `hold.added`; `object` a kind and an id, such as `conversation:ID`; `request` the id of the request it came with."""

    at: Moment
    action: Code
    object: Code
    actor: Code = "system"
    details: JsonObject = Field(default_factory=dict)
    address: Code = ""
    request: Code = ""


def act_now(clock: Clock, action: str, concerned: str, **details: Any) -> Act:
    """Return what the present caller does."""
    caller = asdict(CALLER.get())
    if (via := caller.pop("via")) is not None:
        details["via"] = via
    return Act(at=clock(), action=action, object=concerned, details=details, **caller)


def login_act(login: Login, action: str) -> tuple[str, Act]:
    """Return that a login began or ended, and in which tenant."""
    scope, concerned = login.key.scope, f"login:{login.id}"
    return scope.tenant, act_now(utc_now, action, concerned, user=f"{USER}{scope.user}", key=login.key.id)


class AuditRow(NamedTuple):
    """A record as it is stored: text only, which is also what is hashed."""

    seq: int
    at: str
    actor: str
    action: str
    object: str
    details: str
    address: str
    request: str
    hash: str = ""

    @property
    def columns(self) -> list[str]:
        """What is known before it has its place."""
        return list(self[1:-1])

    @property
    def act(self) -> Act:
        """The act in it; `StoreCorrupt` if it cannot be read."""
        fields = {name: value for name, value in self._asdict().items() if name in Act.model_fields}
        try:
            return Act.model_validate({**fields, "details": json.loads(self.details)})
        except (ValueError, InvalidInput) as error:
            raise StoreCorrupt(f"Record {self.seq} of the audit log is damaged.") from error


class Recorded(NamedTuple):
    """A row for the log of a tenant, stored in the same commit as the change that it records."""

    tenant: str
    row: AuditRow


class Head(Value):
    """The newest record of a log. Kept elsewhere, it shows later whether the log still contains it."""

    seq: int = 0
    hash: str = ""


START = Head()


class Audited(Value):
    """An act with its place in the chain."""

    seq: int
    hash: str
    act: Act


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which records to read: those after the record `after`, oldest first, or before it, newest first."""

    actor: str | None = None
    actions: tuple[str, ...] = ()
    object: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: int | None = None
    newest_first: bool = False

    def conditions(self) -> list[tuple[str, str, Any]]:
        """Return column, comparison and value of all that was asked for."""
        asked = [
            ("seq", "<" if self.newest_first else ">", self.after),
            ("actor", "=", self.actor),
            ("object", "=", self.object),
            ("at", ">=", self.since and at_text(self.since)),
            ("at", "<", self.until and at_text(self.until)),
        ]
        return [condition for condition in asked if condition[2] is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """How many records there are, the newest of them, and whatever does not fit, by its place."""

    records: int
    head: Head
    breaks: tuple[str, ...]


class AuditLog(ABC):
    """Keeps acts. Like every write of a store, a record is durable when its verb returns. `secret` is the store's."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    # What a backend adds

    @abstractmethod
    async def _append(self, tenant: str, row: AuditRow) -> None:
        """Add a row whose number and hash are not known yet; `chained` gives them."""

    @abstractmethod
    async def _rows(self, tenant: str, wanted: Wanted, limit: int) -> list[AuditRow]:
        """Return rows in order, everything that was appended before among them."""

    @abstractmethod
    async def _prune(self, tenant: str, through: int, head: Head, row: AuditRow) -> bool:
        """Add a row and remove those up to `through` in one step, unless `head` is not the newest one any more."""

    # Written once

    async def append(self, tenant: str, act: Act) -> None:
        """Add an act."""
        await self._append(check_id(tenant), self.row(tenant, act))

    async def read(self, tenant: str, wanted: Wanted | None = None, *, limit: int = 100) -> tuple[Audited, ...]:
        """Return records of a tenant. A filter names a person as `user:ID` or by the pseudonym."""
        wanted = wanted or Wanted()
        if not 1 <= limit <= PAGE:
            raise InvalidLimit
        actor, concerned = (name and self.alias(tenant, name) for name in (wanted.actor, wanted.object))
        rows = await self._rows(check_id(tenant), replace(wanted, actor=actor, object=concerned), limit)
        return tuple(Audited(seq=row.seq, hash=row.hash, act=row.act) for row in rows)

    async def walk(self, tenant: str, wanted: Wanted) -> AsyncIterator[Audited]:
        """Yield all records that are wanted, page by page."""
        while found := await self.read(tenant, wanted, limit=PAGE):
            for record in found:
                yield record
            wanted = replace(wanted, after=found[-1].seq)

    async def head(self, tenant: str) -> Head:
        """Return the newest record; `START` if there is none."""
        newest = await self._rows(check_id(tenant), Wanted(newest_first=True), 1)
        return Head(seq=newest[0].seq, hash=newest[0].hash) if newest else START

    async def facts(self, tenant: str) -> dict[tuple[str, str], Act]:
        """Return the acts in force by topic (`hold`, `retention`) and object, a person as the log names it."""
        return (await self._fold(check_id(tenant)))[1]

    async def prune(self, tenant: str, before: datetime, at: datetime) -> int:
        """Remove the records up to the first that is not older than `before`; return how many. A record says so, with
        the hash of the last one removed and the facts in force, so that the rest stays a chain that can be verified."""
        while True:
            head, facts = await self._fold(check_id(tenant))  # the head first: what comes while we look is kept
            kept = await self._rows(tenant, Wanted(since=before), 1)
            first = await self._rows(tenant, Wanted(), 1)
            through = min(kept[0].seq - 1, head.seq) if kept else head.seq
            if not first or through < first[0].seq:
                return 0
            last = await self._rows(tenant, Wanted(after=through - 1), 1)
            said = [act.model_dump(mode="json", exclude_defaults=True) for act in facts.values()]
            details = {"through": through, "hash": last[0].hash, "facts": said}
            act = Act(at=at, action=PRUNED, object=f"tenant:{tenant}", details=details)
            if await self._prune(tenant, through, head, self.row(tenant, act)):
                return through + 1 - first[0].seq

    async def verify(self, tenant: str, kept: Head | None = None) -> Verified:
        """Follow the chain, from what was pruned last; `kept` is a head that was kept elsewhere."""
        records, seen, breaks = 0, 0, list[str]()
        try:
            checkpoint = await self._checkpoint(tenant)
            details = checkpoint.act.details if checkpoint else {}
            newest = Head(seq=details.get("through", 0), hash=details.get("hash", ""))
            while rows := await self._rows(tenant, Wanted(after=seen), PAGE):
                for row in rows:
                    if (wrong := _break(tenant, newest, row)) is not None:
                        breaks.append(wrong)
                    if kept and row.seq == kept.seq and row.hash != kept.hash:
                        breaks.append(f"record {row.seq}: it is not the one of the head that was kept")
                    newest = Head(seq=row.seq, hash=row.hash)
                records, seen = records + len(rows), newest.seq
        except (StoreCorrupt, ValidationError) as error:
            return Verified(records=0, head=START, breaks=(str(error),))
        if kept and kept.seq > newest.seq:
            breaks.append(f"record {newest.seq + 1}: cut off; the head that was kept is {kept.seq}")
        return Verified(records=records, head=newest, breaks=tuple(breaks))

    def alias(self, tenant: str, name: str) -> str:
        """Return the name of an actor or object in the log: for a person a pseudonym that only this store can make."""
        if not name.startswith(USER) or name.startswith(ALIAS):
            return name
        person = f"{tenant}\0{name.removeprefix(USER)}".encode()
        return ALIAS + hmac.digest(self._secret, person, "sha256").hex()[:20]

    def recorded(self, tenant: str, act: Act) -> Recorded:
        """Return an act for a verb that commits it together with what it does."""
        return Recorded(check_id(tenant), self.row(tenant, act))

    def row(self, tenant: str, act: Act) -> AuditRow:
        """Return an act as it is kept: a person is named nowhere in it."""
        actor, concerned = self.alias(tenant, act.actor), self.alias(tenant, act.object)
        named = {
            name: self.alias(tenant, each) if isinstance(each, str) else each for name, each in act.details.items()
        }
        return AuditRow(0, at_text(act.at), actor, act.action, concerned, _json(named), act.address, act.request)

    async def _checkpoint(self, tenant: str) -> AuditRow | None:
        found = await self._rows(tenant, Wanted(actions=(PRUNED,), newest_first=True), 1)
        return found[0] if found else None

    async def _fold(self, tenant: str) -> tuple[Head, dict[tuple[str, str], Act]]:
        """Return the facts in force, and the newest record as it was then."""
        head, start = await self.head(tenant), await self._checkpoint(tenant)
        acts = [Act.model_validate(fields) for fields in start.act.details["facts"]] if start else []
        after = start.seq if start else 0
        while rows := await self._rows(tenant, Wanted(actions=FACTS, after=after), PAGE):
            acts += [row.act for row in rows if row.seq <= head.seq]
            after = rows[-1].seq
        return head, fold(acts)


def fold(acts: Iterable[Act]) -> dict[tuple[str, str], Act]:
    """Return the acts that are in force after all of these, by topic and object."""
    facts: dict[tuple[str, str], Act] = {}
    for act in acts:
        topic, _, verb = act.action.rpartition(".")
        facts.pop((topic, act.object), None)
        if verb != "removed":
            facts[topic, act.object] = act
    return facts


def chained(tenant: str, head: Head, row: AuditRow) -> AuditRow:
    """Return a row as the next one after `head`."""
    row = row._replace(seq=head.seq + 1)
    return row._replace(hash=_hash(tenant, head.hash, row))


def _hash(tenant: str, before: str, row: AuditRow) -> str:
    return sha256(_json([before, tenant, *row[:-1]]).encode()).hexdigest()


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def signature(key: bytes, said: dict[str, Any]) -> str:
    """Return the signature of what is said: of a head that is kept elsewhere, or of a receipt."""
    return hmac.digest(key, _json(said).encode(), "sha256").hex()


def at_text(moment: datetime) -> str:
    """Return a moment as text that sorts like the moments do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _break(tenant: str, before: Head, row: AuditRow) -> str | None:
    """Return what is wrong with a row as the next one after another."""
    if row.seq != before.seq + 1:
        return f"record {row.seq}: it follows {before.seq}; the records between are missing or out of order"
    if row.hash != _hash(tenant, before.hash, row):
        return f"record {row.seq}: it, or the one before it, is not what was recorded"
    return None
