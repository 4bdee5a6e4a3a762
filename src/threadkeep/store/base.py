"""The contract of a store: what every backend promises. The conformance suite in `threadkeep.testing` checks it.

For all verbs:
- Everything is scoped. A conversation of another tenant or user answers exactly like a missing one:
  `ConversationNotFound`.
- A verb that writes is atomic and durable: when it returns, everything is on disk; when it raises, nothing was written
  (`StoreUnavailable` alone may leave open whether the very last write arrived; an idempotency key settles that).
- Invalid input raises an error of `InvalidInput` and changes nothing.
- `seq` numbers of a conversation start at 1 and have no gaps, whoever writes.
- `ROOT` (0) stands for the place before the first entry.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from datetime import datetime, timedelta

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State
from threadkeep.conversation.turn import Lease, Turn
from threadkeep.store import values
from threadkeep.store.audit import AuditLog
from threadkeep.store.caps import Caps
from threadkeep.store.changes import NotifyChannel, Telling
from threadkeep.store.file_tables import FileTables
from threadkeep.store.keyring import KeyRing
from threadkeep.store.notes import Notes
from threadkeep.store.unreached import Unreached
from threadkeep.store.usage import UsageTables
from threadkeep.store.values import NO_ENTRIES, Page, Snapshot

ROOT = 0
MAX_LIMIT = 1000
WALKED = 20
"""How many entries, each of which may be large, a walk through a log holds at a time, at first."""
MAX_BYTES = 1024 * 1024

_NOT_SPOOLED = values.SpoolState()


class Operations(ABC):
    """What concerns a store as a whole: what administrators of a tenant, operators and background work ask it."""

    unreached: Unreached
    """Runs background work tenant by tenant, and knows the tenants for whom it fails."""
    usage: UsageTables
    """What answers have used."""
    notes: Notes
    """What packages around the core remember."""
    caps: Caps
    """How much may be kept: whoever opens the store says so. `StorageFull` or `TooManyConversations` refuses what
    people bring beyond it: `create`, `begin`, `import_entries`, an `append` without a lease, titles and metadata."""

    @abstractmethod
    async def ping(self) -> None:
        """Return if the store can be read and written, else raise the `StoreError` that a write would."""

    def notify_channel(self) -> NotifyChannel | None:
        """Return a new notify channel to the other processes on this store; None if the store has none."""
        return None

    @abstractmethod
    async def tenants(self) -> tuple[str, ...]:
        """Return every tenant that may have conversations, by name."""

    @abstractmethod
    async def users(self, tenant: str) -> tuple[str, ...]:
        """Return the users of a tenant who have at least one conversation, by name."""

    @abstractmethod
    async def owner(self, tenant: str, conversation: str) -> Scope:
        """Return whose a conversation of a tenant is; `ConversationNotFound` if there is none."""

    @abstractmethod
    async def statistics(
        self, tenant: str, *, user: str | None = None, conversation: str | None = None
    ) -> values.Statistics:
        """Return how much a tenant, or one user or one conversation of it, has stored."""

    @abstractmethod
    async def purge(self, kept_for: timedelta, *, owner: Scope | None = None) -> int:
        """Remove for good what was deleted that long ago or longer, in all tenants or of one user; return how many
        conversations. Afterwards its bytes are in no file of ours, and neither is the name of who has nothing left, as
        far as no API key has it. With an `owner`, what that user has used is forgotten; the tenant's sums stay.

        It goes in small steps and holds nobody up. What it has begun to remove cannot be restored; if it is cut off,
        the next purge finishes it.
        """

    @abstractmethod
    async def expired(self, lease_for: timedelta, *, limit: int = 100) -> tuple[Turn, ...]:
        """Return turns of all tenants that nobody sees to: running ones whose lease has run out, the longest ago first,
        and queued ones that could be started because no other turn of their conversation is open.

        Leases last `lease_for`: one that ends later than two of them from now was given by a clock that was ahead, and
        counts as run out. With a `lease_for` of zero every lease has run out.
        """

    async def release(self) -> None:
        """Release what is cached of conversations; it is read again when needed."""
        return

    # Outages of a database that can be away alone

    def outage(self) -> values.Outage | None:
        """Return the present outage of the database; None if there is none."""
        return None

    def spool_state(self, scope: Scope, conversation: str) -> values.SpoolState:
        """Return whether a conversation is kept on this instance's disk, because of an outage of the database."""
        return _NOT_SPOOLED

    def damage(self) -> str | None:
        """Return what was found to be wrong with the spool; None if there is nothing."""
        return None

    async def reach(self, lease: Lease) -> None:
        """Return when the database knows of a turn, so that it may act on the world: at once, but for an outage."""
        return


class Store(Telling, ABC):
    """Keeps conversations. Opened by `threadkeep.runtime.open_store`, closed by `close`."""

    keyring: KeyRing
    """The API keys of those who may come in."""
    audit: AuditLog
    """Who did what: see `threadkeep.store.audit`."""
    files: FileTables | None = None
    """The tables of attachments; none where a store keeps no files."""
    operations: Operations
    """What concerns the store as a whole."""

    @abstractmethod
    async def close(self) -> None:
        """Finish every accepted write, then release files and connections. A second call does nothing."""

    # Conversations

    @abstractmethod
    async def create(
        self,
        scope: Scope,
        new: NewConversation,
        *,
        key: IdempotencyKey | None = None,
        at: datetime | None = None,
        within_caps: bool = True,
    ) -> values.Created:
        """Create a conversation, now or as of another time; `AlreadyExists` if the tenant has one with this id (of any
        user).

        A repeated key returns the conversation of the first time as it is now; with another body it is `KeyReused`.
        What was acknowledged elsewhere is not held `within_caps`.
        """

    @abstractmethod
    async def get(self, scope: Scope, conversation: str) -> Conversation:
        """Return the conversation as it is now."""

    @abstractmethod
    async def list(
        self, whose: Scope | str, where: values.ListFilter = values.EVERY, *, limit: int = 20, after: str | None = None
    ) -> values.ConversationPage:
        """Return the conversations of a user, or of all users of the tenant with this name, that a filter lets through,
        the one with the newest entry first, from the cursor `after` on, which is good for this list only. A filter
        looks at `paging.LOOKED_AT` of them for one page, and the next page goes on there."""

    @abstractmethod
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
        """Change what `change` sets, raise the version and record the change as an entry, now or as of another time;
        `StaleVersion` if the version is not the expected one, `ConversationBusy` if the log has not so many entries
        (any more)."""

    @abstractmethod
    async def delete(self, scope: Scope, conversation: str, *, expected_entries: int | None = None) -> None:
        """Hide the conversation and everything that belongs to it: entries, turns, keys, index. `ConversationBusy` if
        the log has not the expected number of entries (any more): somebody uses it.

        From then on it answers like one that never was, wherever it is looked for; a lease of it is `LeaseLost`; its id
        and its keys can be used again. All of it is kept aside, with the time of its deletion, until it is purged.
        """

    @abstractmethod
    async def restore(self, scope: Scope, conversation: str, *, within_caps: bool = False) -> Conversation:
        """Bring back the user's conversation that was deleted last under this id, as it was: entries, tree, search,
        keys, and open turns with their leases, whose time has gone on. Where it need not come back, `within_caps` only.

        `ConversationNotFound` if none is kept aside, `AlreadyExists` if the tenant uses the id again. A key that was
        used again meanwhile stays with what it made then.
        """

    @abstractmethod
    async def snapshot(self, scope: Scope, conversation: str, page: Page = NO_ENTRIES) -> Snapshot:
        """Return the conversation, a page of its entries and all that is shown beside them, as of one moment.
        `EntryNotFound` if an entry that the page names is none of a branch, or `around` is not on its branch."""

    # The log and its tree

    @abstractmethod
    async def append(self, scope: Scope, conversation: str, append: values.Append) -> values.Appended:
        """Append entries in one step.

        `StaleHead` and `StaleVersion` if an expectation fails, `InvalidParent` if the parent is no entry of a branch,
        `LeaseLost` if the lease is not the turn's present one. A repeated key returns the entries of the first time
        whatever else is asked; with another body it is `KeyReused`. A state change raises the version. With a lease the
        entries belong to its turn; a message with the id of the message being written finishes it and removes its
        text (`DraftMismatch` if it is shorter than that text). `settle` ends or pauses the turn in the same step and
        adds an entry that says so; it needs that nothing is left being written (`DraftMismatch`).
        """

    @abstractmethod
    async def choose_head(
        self, scope: Scope, conversation: str, head: int, *, expected_version: int | None = None
    ) -> Conversation:
        """Make an entry of a branch (or `ROOT`) the head, raise the version, record it as an entry."""

    @abstractmethod
    async def entry(self, scope: Scope, conversation: str, seq: int) -> Entry:
        """Return one entry, remark or not; `EntryNotFound` if there is none."""

    @abstractmethod
    async def newest(
        self, scope: Scope, conversation: str, *, limit: int = 20, head: int | None = None, before: int | None = None
    ) -> tuple[Entry, ...]:
        """Return the newest entries of the branch that ends in `head` (none: the current one), or of those that come
        before the entry `before` on its branch, oldest first and without remarks; `EntryNotFound` if that is no entry
        of a branch."""

    @abstractmethod
    async def after(
        self, scope: Scope, conversation: str, seq: int, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        """Return the entries that follow `seq` (or `ROOT`) on the branch that ends in `head`, oldest first;
        `EntryNotFound` if `seq` is not on that branch."""

    @abstractmethod
    async def count(self, scope: Scope, conversation: str, *, head: int | None = None) -> int:
        """Return how many messages the branch that ends in `head` (none: the current one) holds; `EntryNotFound` if
        `head` is no entry of a branch. It takes the same time however many messages there are."""

    @abstractmethod
    async def log(self, scope: Scope, conversation: str, after: Cursor, *, limit: int = 100) -> values.LogPage:
        """Return what the log holds after the cursor, entries of all branches and remarks, in order, and the text being
        written beyond the cursor's, all as of one moment. `InvalidCursor` if it lies beyond the end of the log."""

    @abstractmethod
    async def state(self, scope: Scope, conversation: str, *, at: int | None = None) -> State:
        """Return the state as of the entry `at` of a branch (none: the head); empty where nothing was set."""

    @abstractmethod
    async def summary(self, scope: Scope, conversation: str, *, head: int | None = None) -> Entry | None:
        """Return the newest summary that remarks on an entry of the branch that ends in `head`, if there is one."""

    @abstractmethod
    async def import_entries(self, scope: Scope, imported: values.Import) -> int:
        """Take in entries of another store, with their numbers, parents, turns and times; return how many are new.

        The conversation is created if it is not there (`ConversationNotFound` if the first entries are missing). What
        is stored already is compared: the same entries again change nothing, more of them are added, and
        `ImportConflict` tells that the log went on differently here. `ConversationBusy` if a turn runs. What a turn did
        elsewhere is taken for done; one that was open there is open here, a running one with a lease that has run out,
        unless that lease comes along.
        """

    @abstractmethod
    async def adopt(self, scope: Scope, conversation: str, adopt: values.Adopt) -> values.Appended:
        """Append entries that were acknowledged elsewhere, whatever runs here meanwhile; their numbers are those that
        follow the end of the log, `ImportConflict` if it has gone on. A repeated key returns the entries of the first
        time, whatever their numbers are now.

        The turns that they tell of are open here if they are open there; a running one is left alone for
        `ADOPTED_FOR`, and nobody's unless its lease comes along. `ConversationBusy` if one has ended there whose
        answer is being written here, unless that answer is among them; `InvalidParent` if a parent is no entry of a
        branch.
        """

    # Turns

    @abstractmethod
    async def begin(self, scope: Scope, conversation: str, begin: values.Begin) -> values.Begun:
        """Begin a turn: its message and an entry that it runs, with a lease, in one step.

        While another turn is open the turn is queued instead (its message is kept in the entry that says so) or, by
        `when_busy`, refused with `ConversationBusy`; `QueueFull` if as many turns wait already as may. Key, parent and
        expected head are as for `append`, for a queued turn too.
        """

    @abstractmethod
    async def start(self, scope: Scope, conversation: str, owner: str, lease_for: timedelta) -> values.Begun | None:
        """Start the oldest queued turn if no turn is running or waiting: its message is appended now. Else None."""

    @abstractmethod
    async def take(self, turn: Turn, owner: str, lease_for: timedelta) -> Lease:
        """Take up a running or waiting turn as it was seen: the fencing number rises, an entry says so, and the former
        owner can write no more. `LeaseLost` if the turn changed hands or was settled since it was seen."""

    @abstractmethod
    async def withdraw(self, scope: Scope, conversation: str, turn: int) -> None:
        """Take a queued turn back: an entry says that it was cancelled, and its message is never asked. `TurnNotFound`
        if it is not queued (any more)."""

    @abstractmethod
    async def extend(self, lease: Lease, lease_for: timedelta) -> None:
        """Keep a lease for longer, from now on; `LeaseLost` if it is not the present one."""

    @abstractmethod
    async def turns(self, scope: Scope, conversation: str) -> tuple[Turn, ...]:
        """Return the open turns of a conversation, oldest first."""

    @abstractmethod
    def write(self, lease: Lease, message: str, offset: int, text: str) -> Awaitable[None]:
        """Add text to the message being written, which begins with offset 0; durable when it was awaited.

        `DraftMismatch` unless `offset` is the number of characters stored so far and the message is the one being
        written; `LeaseLost` if the lease is not the present one; `ContentTooLarge` if the message would become larger
        than an entry may be. The writes of many turns share commits.
        """

    # Across conversations

    @abstractmethod
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
        """Return the user's messages that hold every word of `text` (the last may be a beginning; words in quotes stand
        together; see `text.query` for exclusions and filters) and the titles that do, best or newest first, from the
        cursor `after` on. Filters alone find conversations. Within a conversation only messages are looked for.
        Everything that was acknowledged is found.

        The newest `text.search.CANDIDATES` messages and titles that match are ranked, and filters look at no more than
        the newest `SCANNED` that hold the words. `InvalidSearch`, which says why, if that cannot be searched for.
        """

    @abstractmethod
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
        """Return messages of the branch that ends in `head` that have to do with some words, best first: those that
        hold the rarest and most of them, and their neighbours. A word is a list of its forms; one of them is enough.
        Marks are the speaker, a day and a month ("ada", "20230507", "202305"). For each word the newest
        `text.search.RELATED` messages that hold it are considered, so that it costs the same in a long conversation;
        `text.search.relate` decides for every backend."""


def characters(entry: Entry) -> int:
    """Return about how much text an entry holds; what most entries are is seen at a glance."""
    body = entry.body
    if isinstance(body, Message):
        fields = body.__dict__
        if not (fields["parts"] or fields["blocks"] or fields["tool_calls"] or fields["tool_trace"]):
            return len(fields["content"])
    return len(body.model_dump_json())
