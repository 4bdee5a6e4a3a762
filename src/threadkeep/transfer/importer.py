"""Conversations on their way into a store: each by itself, again and again without harm, and all of it is counted.

What comes in is history: a turn that was open where it comes from is ended here, and never starts by itself.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Body, Entry, Feedback, Update
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import Conflict, ImportConflict, InvalidInput, LimitReached, NotFound, ThreadkeepError
from threadkeep.store.attachments import Attachments
from threadkeep.store.audit import ERASURE_BEGUN, USER, Wanted
from threadkeep.store.base import Store, characters
from threadkeep.store.values import Import
from threadkeep.transfer.files import PortableFile, take_files, with_files_of
from threadkeep.transfer.portable import MAX_PROBLEMS, Header, ImportProblem, Portable

STEP_ENTRIES = 500
STEP_CHARACTERS = 1_000_000
MOST_OPEN = 1000
"""How many conversations with open turns wait for the end of an import, because a longer version of them may follow."""
RATINGS = "feedback"
"""Where development versions kept ratings in the metadata of a conversation."""
WAS_OPEN = "It was not over when the conversation was imported."


@dataclass(slots=True)
class Report:
    """What an import did."""

    conversations: int = 0
    added: int = 0
    unchanged: int = 0
    entries: int = 0
    failed: int = 0
    problems: list[ImportProblem] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    acts: Counter[str] = field(default_factory=Counter)

    def count(self, entries: int) -> None:
        """Count a conversation with so many new entries."""
        self.conversations += 1
        self.entries += entries
        self.added += entries > 0
        self.unchanged += entries == 0

    def fail(self, problem: ImportProblem) -> None:
        """Count what could not be taken in."""
        self.failed += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


async def erased_at(store: Store, scope: Scope) -> datetime | None:
    """Return when a person was erased last; what is older may not come back."""
    wanted = Wanted(actions=(ERASURE_BEGUN,), object=f"{USER}{scope.user}", newest_first=True)
    found = await store.audit.read(scope.tenant, wanted, limit=1)
    return found[0].act.at if found else None


class Importer:
    """Fills a store, until it `is_full`: somebody may keep no more. Everything goes to `scope`, unless a header says
    whose it is and that is to be kept; files go to `attachments`. A move trusts the store that it comes from: turns
    stay open, and files have the ids that they had."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        *,
        keep_users: bool = False,
        keep_tenants: bool = False,
        assistant: str | None = None,
        attachments: Attachments | None = None,
        is_move: bool = False,
    ) -> None:
        self.report = Report()
        self._is_move = is_move
        self._open: dict[tuple[Scope, str], Import] = {}
        self.is_full = False
        self._attachments = attachments
        self._store = store
        self._scope = scope
        self._keep_users = keep_users
        self._keep_tenants = keep_tenants
        self._assistant = assistant

    async def add(self, item: Portable | ImportProblem) -> None:
        """Put a conversation into the store, or note a problem; a conversation that does not fit is a problem too."""
        if isinstance(item, ImportProblem):
            self.report.fail(item)
            return
        try:
            added = await self.put(item.header, _unhurried(item.entries()), item.open_turns, item.files)
        except (InvalidInput, Conflict, NotFound, LimitReached) as error:
            self.is_full = self.is_full or isinstance(error, LimitReached)
            self.report.fail(ImportProblem.of(item.place or item.header.id, _clear(error)))
            return
        self.report.count(added)

    def scope_of(self, header: Header) -> Scope:
        """Return whom a conversation will belong to."""
        tenant = header.tenant if self._keep_tenants else None
        user = header.user if self._keep_users else None
        return Scope(tenant=tenant or self._scope.tenant, user=user or self._scope.user)

    async def put(
        self,
        header: Header,
        entries: AsyncIterator[Entry],
        open_turns: Mapping[int, TurnState],
        files: Sequence[PortableFile] = (),
    ) -> int:
        """Put one conversation into the store, after the files that it uses; return how many entries are new.
        `open_turns` are those at its end."""
        added, scope = 0, self.scope_of(header)
        if self._keep_tenants and (at := await erased_at(self._store, scope)) and header.created_at <= at:
            raise ImportConflict("Whose it was has been erased here since.")
        if (id := await self._id(scope, header)) != header.id:
            header, entries = header.model_copy(update={"id": id}), _renamed(entries, id)
        new = NewConversation(**{name: getattr(header, name) for name in NewConversation.model_fields})
        if new.assistant is None and self._assistant is not None:
            new = new.model_copy(update={"assistant": self._assistant})
        if not self._is_move:
            entries = with_files_of(scope, entries, await take_files(self._attachments, scope, files))
        rated: dict[int, Feedback] = {}
        entries = _noting_rated(entries, _ratings(header.metadata), rated)
        whole = Import(new=new, created_at=header.created_at)
        async for step in _steps(entries):
            if not step or step[-1].seq == header.entries:
                whole = replace(whole, version=header.version, open_turns=open_turns if self._is_move else {})
            added += await self._store.import_entries(scope, replace(whole, entries=step))
        self._open.pop((scope, header.id), None)
        if not self._is_move and (endings := _endings(header, open_turns, rated)):
            self._open[scope, header.id] = replace(whole, version=header.version + bool(rated), entries=endings)
            if len(self._open) > MOST_OPEN:
                await self._end(*next(iter(self._open)))
        return added

    async def _id(self, scope: Scope, header: Header) -> str:
        """Return the id that a conversation gets here."""
        return header.id

    async def finish(self) -> None:
        """End the turns that were open. This comes last, because an export may hold a conversation twice: as it was
        first, and longer."""
        while self._open:
            await self._end(*next(iter(self._open)))

    async def _end(self, scope: Scope, conversation: str) -> None:
        """End the turns of a conversation, unless they go on here, or it went on by itself."""
        ending = self._open.pop((scope, conversation))
        with suppress(NotFound, Conflict, LimitReached):
            if not await self._store.turns(scope, conversation):
                await self._store.import_entries(scope, ending)


class OwnImporter(Importer):
    """Takes in what a person brings along, under ids that nobody else can have. So nobody learns which ids others have,
    or takes one from them; the person's own conversations, exported and brought back, are found again."""

    async def _id(self, scope: Scope, header: Header) -> str:
        if scope.user == LOCAL.user:
            return header.id
        try:
            return (await self._store.get(scope, header.id)).id
        except NotFound:
            return scope.own_id(header.name or header.id)


def _ratings(metadata: Mapping[str, Any]) -> dict[int, Feedback]:
    """Return what somebody thinks of entries, where a development version kept it; others may mean something else."""
    given = metadata.get(RATINGS)
    try:
        return {int(entry): Feedback.model_validate(opinion) for entry, opinion in dict(given or {}).items()}
    except (ValueError, TypeError, InvalidInput):
        return {}


async def _noting_rated(
    entries: AsyncIterator[Entry], ratings: Mapping[int, Feedback], rated: dict[int, Feedback]
) -> AsyncIterator[Entry]:
    """Yield the entries, and note the ratings of those that are messages."""
    async for entry in entries:
        if entry.seq in ratings and isinstance(entry.body, Message):
            rated[entry.seq] = ratings[entry.seq]
        yield entry


def _endings(header: Header, open_turns: Mapping[int, TurnState], rated: Mapping[int, Feedback]) -> tuple[Entry, ...]:
    """Return the entries that end open turns and give ratings their place, the same ones every time."""
    added: list[tuple[int | None, int | None, Body]] = []
    for turn, state in sorted(open_turns.items()):
        ended = TurnState.CANCELLED if state is TurnState.QUEUED else TurnState.INTERRUPTED
        added.append((header.head, turn, TurnChange(state=ended, detail=WAS_OPEN)))
    added += [(entry, None, rated[entry]) for entry in sorted(rated)]
    if rated:
        others = {name: value for name, value in header.metadata.items() if name != RATINGS}
        added.append((header.head, None, Update(metadata=others)))
    return tuple(
        Entry(conversation=header.id, seq=seq, parent=parent, turn=turn, created_at=header.updated_at, body=body)
        for seq, (parent, turn, body) in enumerate(added, header.entries + 1)
    )


def _clear(error: ThreadkeepError) -> ThreadkeepError:
    """Return the error; that an id is somebody else's is told as what it means for an import."""
    if isinstance(error, NotFound):
        return type(error)("The tenant has a conversation with this id already, which is not this user's.")
    return error


async def _renamed(entries: AsyncIterator[Entry], conversation: str) -> AsyncIterator[Entry]:
    async for entry in entries:
        yield entry.model_copy(update={"conversation": conversation})


async def _unhurried(entries: Iterator[Entry]) -> AsyncIterator[Entry]:
    for entry in entries:
        yield entry


async def _steps(entries: AsyncIterator[Entry]) -> AsyncIterator[tuple[Entry, ...]]:
    """Yield entries in groups that are stored together; one empty group where there is none."""
    group: list[Entry] = []
    size, yielded = 0, False
    async for entry in entries:
        group.append(entry.without_links())  # a file must not open a conversation to whoever wrote it
        size += characters(entry)
        if len(group) >= STEP_ENTRIES or size >= STEP_CHARACTERS:
            yield tuple(group)
            group, size, yielded = [], 0, True
    if group or not yielded:
        yield tuple(group)
