"""What this instance knows of conversations of the database: what it read or wrote of them lately, within a bound.

It costs little while the database works; in an outage conversations are shown and answered with it.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Entry, HeadChoice, Update
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.store.base import characters
from threadkeep.store.spool.copies import Copy, Key
from threadkeep.store.values import Appended, Begun, Created, Import, LogPage

MOST_CHARACTERS = 32 * 1024 * 1024
"""How much text is remembered of all conversations together."""
MOST_ENTRIES = 200
"""How many entries are remembered of one conversation, the newest ones."""
TRIMMED_AT = 4 * MOST_ENTRIES
"""At how many the oldest are forgotten: seldom, because that takes longer than remembering."""
ENTRY_OVERHEAD = 500
_NOTHING: Sequence[Entry] = ()
_WITH_ENTRIES = frozenset({Appended, Begun, LogPage})
_OTHERS = frozenset({Conversation, Created, Lease})


class Known:
    """What is known of one conversation. `lease` is of the turn that runs here, `draft` the id of the message that it
    is writing and the pieces of it that are stored."""

    __slots__ = ("conversation", "draft", "entries", "lease", "size")

    def __init__(self) -> None:
        self.conversation: Conversation | None = None
        self.entries: dict[int, Entry] = {}
        self.lease: Lease | None = None
        self.draft: tuple[str, list[str]] = ("", [])
        self.size = 0

    def add(self, entries: Sequence[Entry]) -> int:
        """Remember entries; return by how much the size of all has changed."""
        before = self.size
        for entry in entries:
            if entry.seq not in self.entries:
                self.entries[entry.seq] = entry
                self.size += _size(entry)
                if self.lease is not None:
                    self._note(entry)
        if len(self.entries) > TRIMMED_AT:
            newest = sorted(self.entries)[-MOST_ENTRIES:]
            self.entries = {seq: self.entries[seq] for seq in newest}
            self.size = sum(map(_size, self.entries.values()))
        return self.size - before

    def _note(self, entry: Entry) -> None:
        """Take note of the end of a message or of a turn."""
        body = entry.body
        if isinstance(body, Message) and body.id == self.draft[0]:
            self.draft = ("", [])
        elif isinstance(body, TurnChange) and self.lease is not None and entry.turn == self.lease.turn:
            self.lease = self.lease if body.state is TurnState.RUNNING else None


def _size(entry: Entry) -> int:
    """Return about how much room an entry takes; a turn that begins or ends holds next to nothing."""
    body = entry.body
    is_small = type(body) is TurnChange and body.message is None
    return ENTRY_OVERHEAD if is_small else ENTRY_OVERHEAD + characters(entry)


class Memory:
    """The conversations that were used last."""

    def __init__(self) -> None:
        self._known: OrderedDict[Key, Known] = OrderedDict()
        self._size = 0

    def learn(self, scope: Scope, conversation: str, answer: Any) -> None:
        """Remember what the database has answered about a conversation."""
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
            known.conversation = answer
        elif kind is Created:
            known.conversation = answer.conversation
        elif kind is Lease or (kind is Begun and answer.lease is not None):
            known.lease, known.draft = answer if kind is Lease else answer.lease, ("", [])
        if entries and not (entries[0].seq in known.entries and entries[-1].seq in known.entries):
            self._size += known.add(entries)
            while self._size > MOST_CHARACTERS and len(self._known) > 1:
                self._size -= self._known.popitem(last=False)[1].size

    def note_text(self, lease: Lease, message: str, text: str) -> None:
        """Remember text of the message that a turn of ours is writing."""
        known = self._known.get((lease.scope.tenant, lease.scope.user, lease.conversation))
        if known is not None:
            if known.draft[0] != message:
                known.draft = (message, [])
            known.draft[1].append(text)

    def let_go(self, scope: Scope, conversation: str) -> None:
        """Take note that no turn runs here, or none that is ours."""
        known = self._known.get((scope.tenant, scope.user, conversation))
        if known is not None:
            known.lease = None

    def draft(self, scope: Scope, conversation: str) -> tuple[str, str]:
        """Return the id of the message that is being written here and its text; nothing if there is none."""
        known = self._known.get((scope.tenant, scope.user, conversation))
        return (known.draft[0], "".join(known.draft[1])) if known is not None and known.lease is not None else ("", "")

    def forget(self, scope: Scope, conversation: str) -> None:
        """Remember nothing of a conversation any more."""
        known = self._known.pop((scope.tenant, scope.user, conversation), None)
        self._size -= known.size if known else 0

    def conversations(self, scope: Scope) -> Iterator[Conversation]:
        """Yield the conversations of a user that are known."""
        for (tenant, user, _), known in self._known.items():
            if (tenant, user) == (scope.tenant, scope.user) and known.conversation is not None:
                yield known.conversation

    def copy(self, scope: Scope, conversation: str) -> tuple[Copy, Import] | None:
        """Return a copy of what is known of a conversation, and how the spool takes it in; none if nothing is."""
        known = self._known.get((scope.tenant, scope.user, conversation))
        if known is None or known.conversation is None:
            return None
        last = max([known.conversation.entries, *known.entries])
        first = max(min(known.entries, default=last + 1), last - 2 * MOST_ENTRIES + 1)
        copy = Copy(scope=scope, id=conversation, shift=first - 1, base=last, last=last)
        copy.answers = _is_enough(known, last)
        states, lease = _open_turns(known, copy), known.lease
        copy.carried = [
            (turn, lease.owner, lease.fence) if lease is not None and state is TurnState.RUNNING else (turn, None, 0)
            for turn, state in states.items()
        ]
        imported = _import(known.conversation, copy, known.entries)
        open_turns = {turn - copy.shift: state for turn, state in states.items()}
        is_held = lease is not None and lease.turn in states
        return copy, replace(imported, open_turns=open_turns, lease=copy.into(lease) if is_held else None)


def _is_enough(known: Known, last: int) -> bool:
    """Whether a turn can go on with what is known: the newest entries, and if there is a state, all that led to it."""
    on_branch = [seq for seq, entry in known.entries.items() if entry.continues_branch]
    if not on_branch:
        return last == 0
    if not any(isinstance(known.entries[seq].body, StateChange) for seq in on_branch):
        return True
    seq: int | None = max(on_branch)
    while seq is not None and seq in known.entries:
        seq = known.entries[seq].parent
    return seq is None


def _open_turns(known: Known, copy: Copy) -> dict[int, TurnState]:
    """Return the open turns of the database that can go on in a copy: the one that runs here, and those that wait,
    unless another instance runs one or something is not known that came after them."""
    states: dict[int, TurnState] = {}
    whole = copy.base + 1
    while whole - 1 in known.entries:
        whole -= 1
    for _, entry in sorted(known.entries.items()):
        if isinstance(entry.body, TurnChange) and entry.turn in known.entries:
            states[entry.turn] = entry.body.state
    running = {turn for turn, state in states.items() if state is TurnState.RUNNING}
    ours = running & {known.lease.turn if known.lease is not None and copy.answers else 0}
    waiting = {turn for turn, state in states.items() if state.is_open and turn >= whole} if running == ours else set()
    return {turn: states[turn] for turn in sorted(ours | (waiting - running))}


def _import(conversation: Conversation, copy: Copy, known: dict[int, Entry]) -> Import:
    names = ("id", "assistant", "title", "system", "model", "metadata")
    return Import(
        new=NewConversation.model_construct(**{name: getattr(conversation, name) for name in names}),
        created_at=conversation.created_at,
        entries=tuple(_kept(conversation, copy, seq, known) for seq in range(copy.shift + 1, copy.base + 1)),
        version=conversation.version,
    )


def _kept(conversation: Conversation, copy: Copy, seq: int, known: dict[int, Entry]) -> Entry:
    """Return an entry as the spool numbers it. What is not known, or was said of the whole, leaves an empty remark; the
    last one that was seen tells the head."""
    entry = known.get(seq)

    def number(outside: int | None, *, on_branch: bool = False) -> int | None:
        is_known = outside is not None and outside > copy.shift
        if is_known and on_branch:
            is_known = outside in known and known[outside].continues_branch
        return outside - copy.shift if is_known and outside is not None else None

    body = entry.body if entry is not None else Update()
    head = number(conversation.head, on_branch=True)
    if entry is None and seq == conversation.entries and head is not None:
        entry = Entry.trusted(
            conversation=conversation.id,
            seq=seq,
            parent=conversation.head,
            turn=None,
            created_at=conversation.updated_at,
            body=(body := HeadChoice()),
        )
    elif isinstance(body, Update):
        body = Update()
    elif isinstance(body, TurnChange):
        body = body.model_copy(update={"parent": number(body.parent, on_branch=True)})
    return Entry.trusted(
        conversation=conversation.id,
        seq=seq - copy.shift,
        parent=number(entry.parent, on_branch=True) if entry else None,
        turn=number(entry.turn) if entry else None,
        created_at=entry.created_at if entry else conversation.updated_at,
        body=body,
    )
