"""What this instance knows of conversations of the database: what it read or wrote of them lately, within a bound.

It costs little while the database works; in an outage conversations are shown and answered with it.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Approval, Body, Entry, Summary, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.store.base import ROOT, characters
from threadkeep.store.record import KeyPlace, OpenTurn, Tip
from threadkeep.store.snapshot import Snapshot
from threadkeep.store.spool.spool_file import Holding
from threadkeep.store.values import Appended, Begun, Created, LogPage

MOST_CHARACTERS = 32 * 1024 * 1024
"""How much text is remembered of all conversations together."""
MOST_ENTRIES = 200
"""How many entries are remembered of one conversation, the newest ones."""
TRIMMED_AT = 4 * MOST_ENTRIES
"""At how many the oldest are forgotten: seldom, because that takes longer than remembering."""
ENTRY_OVERHEAD = 500
_NOTHING: Sequence[Entry] = ()
_WITH_ENTRIES = frozenset({Appended, Begun, LogPage, Snapshot})
_OTHERS = frozenset({Conversation, Created, Lease})


class Known:
    """What is known of one conversation: `tip` is its end, `turns` are the open ones (none: not known), `keys` what
    idempotency keys made, `own` the entries that are known to have come with no other key. `lease` is of the turn that
    runs here, `draft` the id of the message that it is writing and the pieces of it that are stored."""

    __slots__ = ("conversation", "draft", "entries", "keys", "lease", "own", "size", "tip", "turns")

    def __init__(self) -> None:
        self.conversation: Conversation | None = None
        self.entries: dict[int, Entry] = {}
        self.tip = Tip()
        self.turns: dict[int, TurnState] | None = None
        self.keys: dict[str, KeyPlace] = {}
        self.own: set[int] = set()
        self.lease: Lease | None = None
        self.draft: tuple[str, list[str]] = ("", [])
        self.size = 0

    def see(self, conversation: Conversation, *, by_us: bool) -> None:
        """Take note of the conversation as it is now. If others have added to it, turns may be open."""
        self.conversation = conversation
        if conversation.entries > self.tip.last + by_us:
            self.turns = None
        if conversation.entries >= self.tip.last:
            self.tip = Tip(conversation.entries, conversation.head or ROOT)

    def add(self, entries: Sequence[Entry]) -> int:
        """Remember entries; return by how much the size of all has changed."""
        before = self.size
        for entry in entries:
            if entry.seq not in self.entries:
                self.entries[entry.seq] = entry
                self.size += _size(entry)
                if entry.seq > self.tip.last:
                    self._grow(entry)
        if len(self.entries) > TRIMMED_AT:
            newest = sorted(self.entries)[-MOST_ENTRIES:]
            self.entries = {seq: self.entries[seq] for seq in newest}
            self.size = sum(map(_size, self.entries.values()))
            self.own = {seq for seq in self.own if seq in self.entries}
            self.keys = {name: key for name, key in self.keys.items() if key.last >= newest[0]}
        return self.size - before

    def _grow(self, entry: Entry) -> None:
        """Take note of a new entry: perhaps the end of a message or of a turn."""
        body = entry.body
        if entry.seq > self.tip.last + 1:
            self.turns = None
        self.tip = self.tip.after(entry)
        if isinstance(body, Message) and body.id == self.draft[0]:
            self.draft = ("", [])
        elif isinstance(body, TurnChange):
            if self.turns is not None and entry.turn is not None:
                self.turns[entry.turn] = body.state
                if not body.state.is_open:
                    del self.turns[entry.turn]
            if self.lease is not None and entry.turn == self.lease.turn and body.state is not TurnState.RUNNING:
                self.lease = None

    def branch(self) -> list[int]:
        """Return the entries of the current branch that are known, without a gap, the newest first."""
        found: list[int] = []
        seq = self.tip.head
        while seq in self.entries and seq > self.tip.last - TRIMMED_AT and self.entries[seq].continues_branch:
            found.append(seq)
            seq = self.entries[seq].parent or ROOT
        return found

    @property
    def is_enough(self) -> bool:
        """Whether a turn can go on with what is known: the newest entries, and if there is a state, all that led to it;
        and that no turn is open but ours."""
        branch = self.branch()
        is_whole = not branch or self.entries[branch[-1]].parent is None
        has_state = any(isinstance(self.entries[seq].body, StateChange) for seq in branch)
        return self._is_idle(branch) and bool(branch or not self.tip.head) and (is_whole or not has_state)

    def _is_idle(self, branch: Sequence[int]) -> bool:
        """Whether no turn is open but ours. Where that was not read, an answer at the end tells that one has ended."""
        if self.turns is not None:
            return not self.turns.keys() - ({self.lease.turn} if self.lease else ())
        newest = self.entries[branch[0]].body if branch else None
        return not branch or (isinstance(newest, Message) and newest.role is Role.ASSISTANT and not newest.tool_calls)


def _size(entry: Entry) -> int:
    """Return about how much room an entry takes; a turn that begins or ends holds next to nothing."""
    body = entry.body
    is_small = type(body) is TurnChange and body.message is None
    return ENTRY_OVERHEAD if is_small else ENTRY_OVERHEAD + characters(entry)


class Memory:
    """The conversations that were used last."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, str], Known] = OrderedDict()
        self._size = 0

    def find(self, scope: Scope, conversation: str) -> Known | None:
        """Return what is known of a conversation."""
        return self._known.get((scope.tenant, scope.user, conversation))

    def learn(self, scope: Scope, conversation: str, answer: Any, *, by_us: bool = False) -> None:
        """Remember what the database has answered about a conversation, or about what we wrote to it."""
        # By its exact type, because every answer passes here: matching patterns takes longer than all the rest.
        kind, entries = type(answer), _NOTHING
        if kind in _WITH_ENTRIES:
            entries = answer.entries
        elif kind is tuple:
            if not answer or type(answer[0]) is not Entry:
                return
            entries = answer
        elif kind not in _OTHERS:
            return
        place = (scope.tenant, scope.user, conversation)
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = Known()
        else:
            self._known.move_to_end(place)
        if kind is Conversation:
            known.see(answer, by_us=by_us)
        elif kind is Snapshot:
            known.see(answer.conversation, by_us=by_us)
        elif kind is Created:
            known.see(answer.conversation, by_us=by_us)
            if not answer.conversation.entries:
                known.turns = {}
        elif kind is Lease or (kind is Begun and answer.lease is not None):
            known.lease, known.draft = answer if kind is Lease else answer.lease, ("", [])
            if kind is Lease:
                known.tip = known.tip._replace(last=known.tip.last + 1)  # the entry that says that it was taken up
        if entries and not (entries[0].seq in known.entries and entries[-1].seq in known.entries):
            self._size += known.add(entries)
            while self._size > MOST_CHARACTERS and len(self._known) > 1:
                self._size -= self._known.popitem(last=False)[1].size

    def note_turns(self, scope: Scope, conversation: str, turns: Sequence[Turn]) -> None:
        """Remember which turns are open."""
        if (known := self.find(scope, conversation)) is not None:
            known.turns = {turn.number: turn.state for turn in turns}

    def note_sent(self, scope: Scope, conversation: str, made: Appended | Begun, key: IdempotencyKey | None) -> None:
        """Remember what somebody sent through this instance, with a key or without."""
        self.learn(scope, conversation, made)
        if (known := self.find(scope, conversation)) is None or not made.entries:
            return
        known.own.update(entry.seq for entry in made.entries)
        if isinstance(made, Begun) and made.lease is not None:
            known.turns = {made.turn: TurnState.RUNNING}  # it runs, so that no other was open
        if key is not None:
            name, digest = key.name(scope).hex(), key.digest.hex()
            first, last = made.entries[0].seq, made.entries[-1].seq
            known.keys[name] = KeyPlace(name=name, digest=digest, first=first, last=last)

    def note_text(self, lease: Lease, message: str, text: str) -> None:
        """Remember text of the message that a turn of ours is writing."""
        if (known := self.find(lease.scope, lease.conversation)) is not None:
            if known.draft[0] != message:
                known.draft = (message, [])
            known.draft[1].append(text)

    def let_go(self, scope: Scope, conversation: str, lease: Lease | None = None) -> None:
        """Take note that no other turn runs here; which are open is not known."""
        if (known := self.find(scope, conversation)) is not None:
            known.lease, known.turns = lease, None

    def forget(self, scope: Scope, conversation: str | None = None) -> None:
        """Remember nothing of a conversation, or of a user, any more."""
        for place in [place for place in self._known if place[:2] == (scope.tenant, scope.user)]:
            if conversation in (None, place[2]):
                self._size -= self._known.pop(place).size

    def owner(self, tenant: str, conversation: str) -> str | None:
        """Return whose a conversation is, if it is known."""
        return next((user for owned, user, name in self._known if (owned, name) == (tenant, conversation)), None)

    def conversations(self, scope: Scope) -> Iterator[Conversation]:
        """Yield the conversations of a user that are known."""
        for (tenant, user, _), known in self._known.items():
            if (tenant, user) == (scope.tenant, scope.user) and known.conversation is not None:
                yield known.conversation

    def may_have(self, scope: Scope, conversation: str, key: IdempotencyKey | None, message: Message | None) -> bool:
        """Whether the database may have made something with this key that is not known here: there is a message with
        the same text, and nobody here knows with which key it came."""
        known = self.find(scope, conversation)
        if known is None or key is None or message is None or key.name(scope).hex() in known.keys:
            return False
        texts = (_sent(entry.body) for seq, entry in known.entries.items() if seq not in known.own)
        return any(sent is not None and sent.content == message.content for sent in texts)


def _sent(body: Body) -> Message | None:
    return body if isinstance(body, Message) else body.message if isinstance(body, TurnChange) else None


def holding(known: Known) -> Holding | None:
    """Return how the spool takes in what is known of a conversation; none if that is nothing."""
    about = known.conversation
    if about is None:
        return None
    branch, lease = known.branch(), known.lease
    first = branch[-1] if branch else known.tip.last
    names = ("id", "assistant", "title", "system", "model", "metadata")
    # A turn goes on only where all of it is known: what comes next is decided from its entries.
    is_held = lease is not None and all(seq in known.entries for seq in range(lease.turn, known.tip.last + 1))
    is_held = is_held and lease is not None and first <= lease.turn <= known.tip.last
    states = known.turns if known.turns is not None else {lease.turn: TurnState.RUNNING} if lease and is_held else {}
    turns = [OpenTurn(number=number, state=state) for number, state in states.items() if number >= first]
    if lease is not None and is_held:
        turns = [_held(turn, lease) if turn.number == lease.turn else turn for turn in turns]
    return Holding(
        new=NewConversation.model_construct(**{name: getattr(about, name) for name in names}),
        about=about,
        entries=[_kept(known, seq, first, set(branch)) for seq in range(first, known.tip.last + 1) if seq],
        turns=tuple(turns),
        keys=tuple(key for key in known.keys.values() if key.first >= first),
        lease=lease if is_held else None,
        draft=(known.draft[0], "".join(known.draft[1])),
    )


def _held(turn: OpenTurn, lease: Lease) -> OpenTurn:
    return turn.model_copy(update={"state": TurnState.RUNNING, "owner": lease.owner, "fence": lease.fence})


def _kept(known: Known, seq: int, first: int, branch: set[int]) -> Entry:
    """Return an entry as the spool keeps it. What is not known, is on another branch, or was said of the whole, leaves
    an empty remark."""
    about, entry = known.conversation, known.entries.get(seq)
    body: Body = Update()
    parent = entry.parent if entry is not None and entry.parent in branch else None
    if entry is not None and (seq in branch or (parent and isinstance(entry.body, TurnChange | Approval | Summary))):
        body = entry.body
        if isinstance(body, TurnChange) and body.parent not in branch:
            body = body.model_copy(update={"parent": None})
    return Entry.trusted(
        conversation=about.id if about else "",
        seq=seq,
        parent=parent,
        turn=entry.turn if entry is not None and (entry.turn or 0) >= first else None,
        created_at=entry.created_at if entry is not None else about.updated_at if about else None,
        body=body,
    )
