"""What this instance knows of the database: what it read or wrote lately, within a bound. It costs little while the
database works; in an outage conversations are shown and answered with it, people are let in, and files are read."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Approval, Body, Entry, Summary, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.store.base import ROOT, characters
from threadkeep.store.record import KeyPlace, Tip
from threadkeep.store.rules import key_use
from threadkeep.store.values import Adopt, Begin, Begun
from threadkeep_postgres.spool.outage import OUTAGES
from threadkeep_postgres.spool.spool_file import BLIND, Copy, Holding, StoredKey

MOST_CHARACTERS = 32 * 1024 * 1024
"""How much is remembered of all conversations together, and how much of keys, and of files."""
MOST_ENTRIES = 200
"""How many entries are remembered of one conversation, the newest ones."""
TRIMMED_AT = 4 * MOST_ENTRIES
"""At how many the oldest are forgotten: seldom, because that takes longer than remembering."""
OVERHEAD = 500


@dataclass(slots=True)
class Known:
    """What is known of one conversation. `last` is how many entries there are at least; `keys` is what idempotency keys
    made, `own` the entries that are known to have come with no other key. `lease` is of the turn that runs here,
    `draft` the id of the message that it is writing and the pieces of it that are stored."""

    conversation: Conversation | None = None
    entries: dict[int, Entry] = field(default_factory=dict)
    last: int = 0
    keys: dict[str, KeyPlace] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    lease: Lease | None = None
    draft: tuple[str, list[str]] = field(default_factory=lambda: ("", []))
    size: int = OVERHEAD

    def learn(self, verb: str, scope: Scope, args: Sequence[Any], answer: Any) -> None:
        """Remember what the database has answered to a verb with these arguments."""
        match verb:
            case "get" | "update" | "choose_head":
                self._see(answer)
            case "log":
                self._add(answer.entries)
            case "newest" | "before" | "after":
                self._add(answer)
            case "write":
                if self.draft[0] != args[1]:
                    self.draft = (args[1], [])
                self.draft[1].append(args[3])
            case "append" | "begin":
                self._add(answer.entries)
                self.own.update(entry.seq for entry in answer.entries)
                if (use := key_use(scope, args[2].key)) is not None:
                    first, last = answer.entries[0].seq, answer.entries[-1].seq
                    self.keys[use.name] = KeyPlace(**dict(use), first=first, last=last)
            case "start" if answer is not None:
                self._add(answer.entries)
            case "take" | "withdraw":
                self.last += 1  # the entry that says so
            case "snapshot":
                self._add(answer.entries)
                self._add(answer.remarks)
                self._see(answer.conversation)
            case "create":
                self._see(answer.conversation)
        lease = answer if verb == "take" else answer.lease if type(answer) is Begun else None
        if lease is not None:
            self.lease, self.draft = lease, ("", [])

    def _see(self, conversation: Conversation) -> None:
        self.conversation = conversation
        if conversation.entries > self.last:
            self.last = conversation.entries

    def _add(self, entries: Sequence[Entry]) -> None:
        known = self.entries
        if not entries or (entries[0].seq in known and entries[-1].seq in known):
            return
        for entry in entries:
            if entry.seq not in known:
                known[entry.seq] = entry
                # Most entries are turns that begin or end, which hold next to nothing.
                is_small = type(entry.body) is TurnChange and entry.body.message is None
                self.size += OVERHEAD if is_small else OVERHEAD + characters(entry)
                self.last = max(self.last, entry.seq)
                if self.draft[0] and self.draft[0] == getattr(entry.body, "id", None):
                    self.draft = ("", [])
        if len(self.entries) > TRIMMED_AT:
            newest = [self.entries[seq] for seq in sorted(self.entries)[-MOST_ENTRIES:]]
            self.entries, self.size = {}, OVERHEAD
            self._add(newest)
            self.own &= self.entries.keys()
            self.keys = {name: key for name, key in self.keys.items() if key.last >= newest[0].seq}

    def may_have(self, scope: Scope, begin: Begin) -> bool:
        """Whether the database may have made something with a key that is not known here: there is a message with the
        same text, and nobody here knows with which key it came."""
        use, message = key_use(scope, begin.key), begin.message
        if use is None or message is None or use.name in self.keys:
            return False
        sent = (sent_with(entry.body) for seq, entry in self.entries.items() if seq not in self.own)
        return any(each is not None and each.content == message.content for each in sent)

    # What the spool takes in of it

    def hold(self, scope: Scope) -> Holding | None:
        """Return how the spool takes in what is known; none if it is not known what the next message continues."""
        about = self.conversation
        tip = Tip(about.entries, about.head or ROOT) if about else Tip()
        for seq in sorted(self.entries):
            tip = tip.after(self.entries[seq]) if seq > tip.last else tip
        branch = self._branch(tip)
        if about is None or (tip.head and not branch):
            return None
        first, last = max(1, branch[-1] if branch else tip.last), max(tip.last, self.last)
        entries = [self.entries.get(seq) for seq in range(first, last + 1)]
        states, lease = _states(entries), self.lease
        # A turn goes on only where all of it is known: what comes next is decided from its entries.
        is_running = lease is not None and states.get(lease.turn) is TurnState.RUNNING
        if lease and (not is_running or lease.turn < first or None in entries[lease.turn - first :]):
            lease = None
        adopt = Adopt(
            entries=tuple(self._placed(seq, first, set(branch), states) for seq in range(first, last + 1)),
            key=IdempotencyKey.of("spool", about.id, None),
            keys=tuple(
                (StoredKey.of_use(key), key.first, key.last) for key in self.keys.values() if key.first >= first
            ),
            lease=lease,
            version=about.version,
        )
        answers = self._is_enough(branch, states, lease)
        return Holding(
            copy=Copy(scope=scope, id=about.id, first=first, base=last, last=last, answers=answers, lease=lease),
            new=NewConversation.model_construct(
                **{name: getattr(about, name) for name in NewConversation.model_fields}
            ),
            created_at=about.created_at,
            adopt=adopt if last else None,
            draft=(self.draft[0], "".join(self.draft[1])),
        )

    def _branch(self, tip: Tip) -> list[int]:
        """Return the entries of the current branch that are known, without a gap, the newest first."""
        found: list[int] = []
        seq = tip.head
        while seq in self.entries and seq > tip.last - TRIMMED_AT and self.entries[seq].continues_branch:
            found.append(seq)
            seq = self.entries[seq].parent or ROOT
        return found

    def _is_enough(self, branch: Sequence[int], states: Mapping[int, TurnState], lease: Lease | None) -> bool:
        """Whether a turn can go on with what is known: all that led to the state if there is one, and no turn is open
        but ours. Where the end of a turn was not read, an answer at the end tells of it."""
        known = [self.entries[seq] for seq in branch]
        if known and known[-1].parent and any(isinstance(entry.body, StateChange) for entry in known):
            return False
        if {turn for turn, state in states.items() if state.is_open} - {lease.turn if lease else 0}:
            return False
        newest = known[0].body if known else None
        is_answer = isinstance(newest, Message) and newest.role is Role.ASSISTANT and not newest.tool_calls
        return not known or known[0].turn is None or known[0].turn in states or is_answer

    def _placed(self, seq: int, first: int, branch: set[int], states: Mapping[int, TurnState]) -> Entry:
        """Return an entry as the spool keeps it. What is not known, is on another branch, or was said of the whole,
        leaves an empty remark."""
        about, entry = self.conversation, self.entries.get(seq)
        if about is None or entry is None:
            at = about.updated_at if about else None
            return Entry.trusted(conversation="", seq=seq, parent=None, turn=None, created_at=at, body=Update())
        parent, body = entry.parent if entry.parent in branch else None, entry.body
        is_remark = isinstance(body, Approval | Summary) or (isinstance(body, TurnChange) and entry.turn in states)
        if seq not in branch and not (parent and is_remark):
            body = Update()
        elif isinstance(body, TurnChange) and body.parent not in branch:
            body = body.model_copy(update={"parent": None})
        turn = entry.turn if (entry.turn or 0) >= first else None
        return entry.model_copy(update={"parent": parent, "turn": turn, "body": body})


def _states(entries: Sequence[Entry | None]) -> dict[int, TurnState]:
    """Return in which states turns are, as far as what was told since the last entry that is not known says so."""
    states: dict[int, TurnState] = {}
    for entry in entries:
        if entry is None:
            states.clear()
        elif isinstance(entry.body, TurnChange) and entry.turn is not None:
            states[entry.turn] = entry.body.state
    return states


def sent_with(body: Body) -> Message | None:
    """Return the message that an entry holds, also of a turn that is queued."""
    return body if isinstance(body, Message) else body.message if isinstance(body, TurnChange) else None


def unknown(scope: Scope, conversation: str) -> Holding:
    """Return how the spool takes in a conversation of which nothing is known."""
    remark = Entry(conversation=conversation, seq=BLIND, parent=None, created_at=utc_now(), body=Update())
    copy = Copy(scope=scope, id=conversation, first=BLIND, base=BLIND, last=BLIND, answers=False)
    adopt = Adopt(entries=(remark,), key=IdempotencyKey.of("spool", conversation, None))
    return Holding(copy=copy, new=NewConversation(id=conversation), adopt=adopt)


class Memory:
    """The conversations that were used last."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, str], Known] = OrderedDict()
        self._size = 0

    def find(self, scope: Scope, conversation: str) -> Known | None:
        """Return what is known of a conversation."""
        return self._known.get((scope.tenant, scope.user, conversation))

    def learn(self, verb: str, scope: Scope, conversation: str, args: Sequence[Any], answer: Any) -> None:
        """Remember what the database has answered to a verb about a conversation."""
        place = (scope.tenant, scope.user, conversation)
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = Known()
            self._size += known.size
        else:
            self._known.move_to_end(place)
        before = known.size
        known.learn(verb, scope, args, answer)
        self._size += known.size - before
        while self._size > MOST_CHARACTERS and len(self._known) > 1:
            self._size -= self._known.popitem(last=False)[1].size

    def let_go(self, scope: Scope, conversation: str, lease: Lease | None = None) -> None:
        """Take note that no other turn runs here."""
        if (known := self.find(scope, conversation)) is not None:
            known.lease = lease

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


class Remembering:
    """A key ring, or the tables of files, asked through `ask`: in an outage the answer is what it was the last time."""

    def __init__(self, inside: Any, ask: Callable[..., Awaitable[Any]]) -> None:
        self._inside = inside
        self._ask = ask
        self._facts: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._inside, name)
        if not iscoroutinefunction(verb):
            return verb

        async def asked(*args: Any, **kwargs: Any) -> Any:
            try:
                answer = await self._ask(verb, *args, **kwargs)
            except OUTAGES:
                if (name, *args) not in self._facts:
                    raise
                return self._facts[name, *args]
            match name:
                case "revoke" | "forget" | "end_login" | "drop":
                    self._facts.clear()
                    self._size = 0
                case "secret" | "find" | "find_login" | "get":
                    self._note((name, *args), answer)
                case "put":
                    self._note(("get", *args[:3]), args[3])
                case "finish" if answer is not None:
                    self._note(("find", args[0], answer[0].id), answer[0])
            return answer

        return asked

    def _note(self, question: tuple[Any, ...], answer: Any) -> None:
        self._size -= _size(self._facts.pop(question, None))
        if answer is not None:
            self._facts[question] = answer
            self._size += _size(answer)
        while self._size > MOST_CHARACTERS:
            self._size -= _size(self._facts.popitem(last=False)[1])


def _size(answer: Any) -> int:
    return 0 if answer is None else OVERHEAD + (len(answer) if isinstance(answer, bytes) else 0)
