"""Stores that read in this process by plain calls (memory, files, SQLite): reading one conversation, written once.

What a backend adds is a `ConversationLog`, which finds single entries and stretches of them, and where it comes from.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeVar

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Summary
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State, StateChange, fold
from threadkeep.conversation.tree import Run, Tree
from threadkeep.conversation.turn import Turn, TurnChange
from threadkeep.errors import EntryNotFound, StoreCorrupt
from threadkeep.store.base import ROOT, WALKED
from threadkeep.store.paging import check_limit, check_position
from threadkeep.store.record import Tip
from threadkeep.store.ruled import RuledStore
from threadkeep.store.snapshot import NO_ENTRIES, REMARKS, Page, Snapshot, page_of
from threadkeep.store.values import Draft, LogPage

T = TypeVar("T")


class ConversationLog(ABC):
    """One conversation as of one moment, to be read."""

    id: str

    @property
    @abstractmethod
    def tip(self) -> Tip:
        """Where the log ends."""

    @property
    @abstractmethod
    def conversation(self) -> Conversation:
        """The conversation as a whole."""

    @property
    @abstractmethod
    def tree(self) -> Tree:
        """The shape of the tree."""

    @property
    @abstractmethod
    def turns(self) -> tuple[Turn, ...]:
        """The open turns, oldest first."""

    @abstractmethod
    def path(self, head: int) -> Iterable[Run]:
        """Return the runs of the branch that ends in `head`, the newest first."""

    @abstractmethod
    def entry(self, seq: int) -> Entry:
        """Return one entry."""

    @abstractmethod
    def between(self, first: int, last: int) -> tuple[Entry, ...]:
        """Return the entries with these numbers, as far as the log has them."""

    @abstractmethod
    def on_branch(self, first: int, last: int, limit: int, order: Literal["ASC", "DESC"]) -> list[Entry]:
        """Return the entries with these numbers that continue a branch, in this order, at most so many."""

    @abstractmethod
    def of_kind(self, kind: type[StateChange | Summary], first: int, last: int) -> Iterable[Entry]:
        """Return the entries with these numbers and such a body, the newest first."""

    @abstractmethod
    def is_on_branch(self, seq: int) -> bool:
        """Whether this is the number of an entry that continues a branch."""

    @abstractmethod
    def messages_up_to(self, seq: int) -> int:
        """Return how many messages the log holds up to an entry, of all branches."""

    @abstractmethod
    def draft_after(self, message: str | None, offset: int) -> Draft | None:
        """Return what is being written, from `offset` on if it is this message, else from its beginning."""

    # Written once

    def head(self, head: int | None) -> int:
        """Return the head that was asked for, which must be an entry of a branch, or the current one."""
        if head is None:
            return self.tip.head
        if not self.is_on_branch(head):
            raise EntryNotFound
        return head

    def queued(self, turn: int) -> TurnChange:
        body = self.entry(turn).body
        if not isinstance(body, TurnChange):
            raise StoreCorrupt(f"Entry {turn} of conversation {self.id} does not tell of a queued turn.")
        return body

    def newest(self, head: int, limit: int) -> tuple[Entry, ...]:
        """Return the newest entries of the branch that ends in `head`, oldest first."""
        entries: list[Entry] = []
        for run in self.path(head):
            entries += self.on_branch(run.first, run.last, limit - len(entries), "DESC")
            if len(entries) >= limit:
                break
        entries.reverse()
        self._check_chain(ROOT if len(entries) < limit else entries[0].parent or ROOT, entries, head)
        return tuple(entries)

    def before(self, seq: int, limit: int) -> tuple[Entry, ...]:
        """Return the entries of a branch that come before `seq`, the newest of them, oldest first."""
        return self.newest(self.entry(self.head(seq)).parent or ROOT, limit)

    def after(self, seq: int, head: int, limit: int) -> tuple[Entry, ...]:
        """Return what follows `seq` on the branch that ends in `head`, oldest first."""
        entries: list[Entry] = []
        for first, last in self._stretches(seq, head):
            entries += self.on_branch(first, last, limit - len(entries), "ASC")
            if len(entries) >= limit:
                break
        self._check_chain(seq, entries, head if len(entries) < limit else None)
        return tuple(entries)

    def _check_chain(self, parent: int, entries: Sequence[Entry], head: int | None) -> None:
        """Refuse entries of a branch that do not continue `parent` and each other, up to the head if it is given."""
        seqs = [parent, *(entry.seq for entry in entries)]
        if seqs[:-1] != [entry.parent or ROOT for entry in entries] or head not in (None, seqs[-1]):
            raise self.gap()

    def gap(self) -> StoreCorrupt:
        return StoreCorrupt(f"Entries of conversation {self.id} cannot be found: an index is damaged.")

    def count(self, head: int) -> int:
        """Return how many messages there are on the branch that ends in `head`."""
        return sum(self.messages_up_to(run.last) - self.messages_up_to(run.first - 1) for run in self.path(head))

    def _stretches(self, seq: int, head: int) -> list[tuple[int, int]]:
        """Return the first and the last number of what each run adds behind `seq`, oldest first."""
        if seq != ROOT:
            self.head(seq)
        runs: list[Run] = []
        for run in self.path(head):
            runs.append(run)
            if run.first <= seq:
                break
        if seq != ROOT and not (runs and runs[-1].first <= seq <= runs[-1].last):
            raise EntryNotFound
        return [(max(run.first, seq + 1), run.last) for run in reversed(runs)]

    def snapshot(self, page: Page) -> Snapshot:
        page.check()
        tree, end = self.tree, self.head(page.head)
        if page.around is not None and page.head is None:
            end = self.head(tree.branch_with(page.around))
        return Snapshot(
            conversation=self.conversation,
            branch=end or None,
            entries=self._page(page, end),
            state=self.state(end or None),
            remarks=self.log(Cursor(seq=end - 1), REMARKS).entries if end else (),
            tree=tree,
            turns=self.turns,
            draft=self.draft_after(None, 0),
        )

    def _page(self, page: Page, end: int) -> tuple[Entry, ...]:
        if page.around is None:
            last = end if page.before is None else self.entry(self.head(page.before)).parent or ROOT
            return page_of(self._backwards(last), page.messages)
        older = self.newest(self.head(page.around), page.messages - page.messages // 2)
        return older + self.after(page.around, end, page.messages // 2)

    def _backwards(self, last: int) -> Iterator[Entry]:
        """Yield the branch that ends in `last`, newest first."""
        while last != ROOT:
            found = self.newest(last, WALKED)
            yield from reversed(found)
            last = found[0].parent or ROOT

    def log(self, after: Cursor, limit: int) -> LogPage:
        last = self.tip.last
        check_position(after.seq, last)
        entries = self.between(after.seq + 1, after.seq + limit)
        if after.seq + len(entries) < min(last, after.seq + limit):
            raise self.gap()
        draft = self.draft_after(after.message, after.offset) if after.seq + len(entries) == last else None
        return LogPage(entries=entries, draft=draft)

    def state(self, at: int | None) -> State:
        runs = self.path(self.head(at))
        changes = (entry.body for run in runs for entry in self.of_kind(StateChange, run.first, run.last))
        return fold(body for body in changes if isinstance(body, StateChange))

    def summary(self, head: int | None) -> Entry | None:
        runs = list(self.path(self.head(head)))
        for entry in self.of_kind(Summary, 1, self.tip.last):
            if any(run.first <= (entry.parent or ROOT) <= run.last for run in runs):
                return entry
        return None


class EmbeddedStore(RuledStore):
    """Reads what a conversation's log holds."""

    @abstractmethod
    async def _read(self, scope: Scope, conversation: str, read: Callable[[ConversationLog], T]) -> T:
        """Read the log of a conversation of this user."""

    async def get(self, scope: Scope, conversation: str) -> Conversation:
        return await self._read(scope, conversation, lambda log: log.conversation)

    async def snapshot(self, scope: Scope, conversation: str, page: Page = NO_ENTRIES) -> Snapshot:
        return await self._read(scope, conversation, lambda log: log.snapshot(page))

    async def tree(self, scope: Scope, conversation: str) -> Tree:
        return await self._read(scope, conversation, lambda log: log.tree)

    async def entry(self, scope: Scope, conversation: str, seq: int) -> Entry:
        return await self._read(scope, conversation, lambda log: log.entry(seq))

    async def newest(
        self, scope: Scope, conversation: str, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        check_limit(limit)
        return await self._read(scope, conversation, lambda log: log.newest(log.head(head), limit))

    async def before(self, scope: Scope, conversation: str, seq: int, *, limit: int = 20) -> tuple[Entry, ...]:
        check_limit(limit)
        return await self._read(scope, conversation, lambda log: log.before(seq, limit))

    async def after(
        self, scope: Scope, conversation: str, seq: int, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        check_limit(limit)
        return await self._read(scope, conversation, lambda log: log.after(seq, log.head(head), limit))

    async def count(self, scope: Scope, conversation: str, *, head: int | None = None) -> int:
        return await self._read(scope, conversation, lambda log: log.count(log.head(head)))

    async def log(self, scope: Scope, conversation: str, after: Cursor, *, limit: int = 100) -> LogPage:
        check_limit(limit)
        return await self._read(scope, conversation, lambda log: log.log(after, limit))

    async def state(self, scope: Scope, conversation: str, *, at: int | None = None) -> State:
        return await self._read(scope, conversation, lambda log: log.state(at))

    async def summary(self, scope: Scope, conversation: str, *, head: int | None = None) -> Entry | None:
        return await self._read(scope, conversation, lambda log: log.summary(head))

    async def turns(self, scope: Scope, conversation: str) -> tuple[Turn, ...]:
        return await self._read(scope, conversation, lambda log: log.turns)
