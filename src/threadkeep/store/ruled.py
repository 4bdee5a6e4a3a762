"""A store whose writing follows the rules: every verb that writes to a log, once, for all backends, and the limits,
cursors and pages of lists and searches.

A backend adds `_write` (read the end of a log, let the rules decide, commit the record, answer), and the queries of
lists and searches.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Iterable, Sequence, Set
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Summary, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource, check_id
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Run, Tree
from threadkeep.conversation.turn import Lease, Turn
from threadkeep.errors import AlreadyExists, ConversationNotFound, ImportConflict, InvalidParent, LeaseLost, StoreBusy
from threadkeep.store import values
from threadkeep.store.audit import AuditRow, act_now
from threadkeep.store.base import ROOT, WALKED, Operations, Store
from threadkeep.store.caps import Caps
from threadkeep.store.checks import check_adopt, check_import
from threadkeep.store.import_rules import ImportRules
from threadkeep.store.paging import Listing, ListQuery, Search, activity_after, check_limit, list_page, search_after
from threadkeep.store.record import End
from threadkeep.store.rules import AddedText, Decision, EndMovedError, Verb, key_use, replayed
from threadkeep.store.unreached import Damage, Unreached
from threadkeep.text.query import Query
from threadkeep.text.words import MARK, query_forms

T = TypeVar("T")
IMPORT_ATTEMPTS = 10
"""How often others may write to a conversation while it is imported."""


class RuledStore(Store, Operations):
    """Writes what the rules decide."""

    def __init__(self, clock: Clock, ids: IdSource, max_bytes: int) -> None:
        self._clock = clock
        self._ids = ids
        self._rules = ImportRules(clock, max_bytes)
        self.caps = Caps()
        self.operations = self
        self.unreached = Unreached(self.ping, clock)
        self._damage = Damage(clock)

    @abstractmethod
    async def _write(self, scope: Scope, conversation: str, verb: Verb[T]) -> T:
        """Commit what is decided about the end of a log, if that is still its end, and return the answer."""

    async def _write_for(self, holder: Lease | Turn, verb: Verb[T]) -> T:
        """Write for a turn; `LeaseLost` if its conversation is gone."""
        try:
            return await self._write(holder.scope, holder.conversation, verb)
        except ConversationNotFound:
            raise LeaseLost from None

    async def update(
        self,
        scope: Scope,
        conversation: str,
        change: Update,
        *,
        expected_version: int | None = None,
        expected_entries: int | None = None,
        at: datetime | None = None,
    ) -> Conversation:
        act = None if change.status is None else self._act(scope, conversation, "status", status=change.status)
        if change.shares is not None:
            act = self._act(scope, conversation, "shares", links=[share.id for share in change.shares])
        verb = Verb(
            lambda end: self._rules.update(end, change, expected_version, expected_entries, at),
            brought=change.title is not None or change.metadata is not None,
            act=act,
        )
        await self._write(scope, conversation, verb)
        return await self.get(scope, conversation)

    async def choose_head(
        self, scope: Scope, conversation: str, head: int, *, expected_version: int | None = None
    ) -> Conversation:
        verb = Verb(lambda end: self._rules.choose_head(end, head, expected_version), parent=head)
        await self._write(scope, conversation, verb)
        return await self.get(scope, conversation)

    async def append(self, scope: Scope, conversation: str, append: values.Append) -> values.Appended:
        act = None if append.act is None else self.audit.row(scope.tenant, append.act)
        verb = Verb(
            lambda end: self._rules.append(end, append),
            append.key,
            append.parent,
            brought=append.lease is None and any(not isinstance(body, Summary) for body in append.bodies),
            act=act,
        )
        return await self._write(scope, conversation, verb)

    def _act(self, scope: Scope, conversation: str, verb: str, **details: Any) -> AuditRow:
        """Return the audit record of an act on a conversation."""
        act = act_now(self._clock, f"conversation.{verb}", f"conversation:{check_id(conversation)}", **details)
        return self.audit.row(scope.tenant, act)

    async def import_entries(self, scope: Scope, imported: values.Import) -> int:
        rows = check_import(imported, self._rules.max_bytes)
        name = check_id(imported.new.id)
        for _ in range(IMPORT_ATTEMPTS):
            last = await self._import_end(scope, imported)
            await self._compare(scope, name, [entry for entry in imported.entries if entry.seq <= last])
            added = [entry for entry in imported.entries if entry.seq > last]
            if not added:
                return 0
            besides = await self._besides(scope, name, last, added)
            # An import in many parts is recorded once, with its last part.
            act = self._act(scope, name, "imported", entries=added[-1].seq) if imported.version is not None else None
            with suppress(EndMovedError):
                decide = partial(self._rules.import_entries, imported=imported, rows=rows, besides=besides)
                return await self._write(scope, name, Verb(decide, brought=True, act=act))
        raise StoreBusy

    async def adopt(self, scope: Scope, conversation: str, adopt: values.Adopt) -> values.Appended:
        rows = check_adopt(adopt, self._rules.max_bytes)
        besides = await self._besides(scope, conversation, adopt.entries[0].seq - 1, adopt.entries)
        verb = Verb(lambda end: self._rules.adopt(end, adopt, rows, besides), adopt.key)
        return await self._write(scope, conversation, verb)

    async def made_by(self, scope: Scope, conversation: str, key: IdempotencyKey) -> tuple[int, int] | None:
        """Return the first and the last entry that a key made in a conversation; `KeyReused` if it came with another
        body."""

        def find(end: End) -> Decision[tuple[int, int] | None]:
            found = replayed(end, key_use(scope, key))
            return Decision(lambda _: found)

        return await self._write(scope, conversation, Verb(find, key))

    async def _import_end(self, scope: Scope, imported: values.Import) -> int:
        """Return how many entries there are of a conversation, which is created if none of it is there."""
        try:
            last = (await self.get(scope, imported.new.id or "")).entries
        except ConversationNotFound:
            if imported.entries and imported.entries[0].seq > 1:
                raise
            with suppress(AlreadyExists):
                return (await self.create(scope, imported.new, at=imported.created_at)).conversation.entries
            last = (await self.get(scope, imported.new.id or "")).entries  # made meanwhile, or another user's
        if imported.entries and imported.entries[0].seq > last + 1:
            raise ImportConflict("Entries before these are missing here.")
        return last

    async def _compare(self, scope: Scope, conversation: str, entries: Sequence[Entry]) -> None:
        """Refuse entries that differ from those that are stored."""
        while entries:
            here = (await self.log(scope, conversation, Cursor(seq=entries[0].seq - 1), limit=WALKED)).entries
            if any(mine.without_links() != theirs.without_links() for mine, theirs in zip(here, entries, strict=False)):
                raise ImportConflict
            entries = entries[len(here) :]

    async def _besides(self, scope: Scope, conversation: str, last: int, added: Sequence[Entry]) -> dict[int, int]:
        """Return what first continued each parent from which new entries jump; refuse a parent that is on no branch."""
        tree = await self._tree(scope, conversation)
        on_branch, runs = {entry.seq for entry in added if entry.continues_branch}, {jump.first for jump in tree.jumps}
        newest, after, besides = tree.newest, {tree.newest: 0}, dict[int, int]()
        for entry in added:
            parent = entry.parent or ROOT
            is_known = parent == ROOT or parent in on_branch or parent in after
            if not is_known and (parent > last or not (await self.entry(scope, conversation, parent)).continues_branch):
                raise InvalidParent
            if not entry.continues_branch:
                continue
            if parent == newest:
                after[parent] = entry.seq
            else:
                if parent not in after and parent not in on_branch:
                    after[parent] = await self._next(scope, conversation, parent, runs)
                besides[parent] = after.get(parent, 0)
            newest = entry.seq
        return besides

    async def _next(self, scope: Scope, conversation: str, parent: int, runs: Set[int]) -> int:
        """Return the entry that continued a stored one in its own run, or 0."""
        seq = parent
        while page := (await self.log(scope, conversation, Cursor(seq=seq), limit=WALKED)).entries:
            for entry in page:
                if entry.continues_branch:
                    return 0 if entry.seq in runs else entry.seq
            seq = page[-1].seq
        return 0

    async def begin(self, scope: Scope, conversation: str, begin: values.Begin) -> values.Begun:
        most = self.caps.queued_turns
        verb = Verb(lambda end: self._rules.begin(end, begin, most), begin.key, begin.parent, brought=True)
        return await self._write(scope, conversation, verb)

    async def start(self, scope: Scope, conversation: str, owner: str, lease_for: timedelta) -> values.Begun | None:
        return await self._write(scope, conversation, Verb(lambda end: self._rules.start(end, owner, lease_for)))

    async def take(self, turn: Turn, owner: str, lease_for: timedelta) -> Lease:
        return await self._write_for(turn, Verb(lambda end: self._rules.take(end, turn, owner, lease_for)))

    async def withdraw(self, scope: Scope, conversation: str, turn: int) -> None:
        await self._write(scope, conversation, Verb(lambda end: self._rules.withdraw(end, turn)))

    async def extend(self, lease: Lease, lease_for: timedelta) -> None:
        await self._write_for(lease, Verb(lambda end: self._rules.extend(end, lease, lease_for)))

    def write(self, lease: Lease, message: str, offset: int, text: str) -> Awaitable[None]:
        added = AddedText(lease, message, offset, text)
        return self._write_for(lease, Verb(lambda end: self._rules.write(end, added)))

    # Lists and searches

    @abstractmethod
    async def _tree(self, scope: Scope, conversation: str) -> Tree:
        """Return the shape of the tree."""

    @abstractmethod
    async def _list(self, asked: ListQuery) -> Listing:
        """Return the conversations that a list asks for."""

    @abstractmethod
    async def _search(self, asked: Search) -> values.HitPage:
        """Return what `hit_page` makes of the entries and the conversations that match."""

    @abstractmethod
    async def _related(
        self, scope: Scope, conversation: str, words: Sequence[Sequence[str]], path: Sequence[Run], limit: int
    ) -> Iterable[values.Related]:
        """Return the entries, the best first, that `text.search.relate` names given those that hold forms of words,
        and of marks behind them."""

    async def list(
        self, whose: Scope | str, where: values.ListFilter = values.EVERY, *, limit: int = 20, after: str | None = None
    ) -> values.ConversationPage:
        place = activity_after(whose if isinstance(whose, Scope) else check_id(whose), after)
        asked = ListQuery(whose, where, where.title_terms(), place, check_limit(limit) + 1)
        return list_page(asked, await self._list(asked))

    async def search(
        self,
        scope: Scope,
        text: str,
        *,
        conversation: str | None = None,
        order: values.Order = "rank",
        limit: int = 20,
        after: str | None = None,
    ) -> values.HitPage:
        if conversation is not None:
            check_id(conversation)
        query, place = Query(text), search_after(scope, text, order, after)
        return await self._search(Search(scope, text, query, conversation, order, check_limit(limit), *place))

    async def related(
        self,
        scope: Scope,
        conversation: str,
        words: Sequence[Sequence[str]],
        marks: Sequence[Sequence[str]] = (),
        *,
        head: int,
        limit: int = 20,
    ) -> tuple[values.Related, ...]:
        check_limit(limit)
        tree = await self._tree(scope, check_id(conversation))
        path = tree.path(min(head, tree.newest))
        asked = [*query_forms(words), *([MARK + form for form in forms] for forms in query_forms(marks))]
        found = await self._related(scope, conversation, asked, path, limit) if path else ()
        return tuple(related for related in found if isinstance(related.entry.body, Message))
