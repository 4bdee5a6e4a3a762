"""A handle on one conversation: every verb on a conversation is here, once.

Made by `Conversations`. A handle holds no connection and needs not be closed.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import cached_property, partial
from typing import Any, Literal, Unpack, overload

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor, mark_of
from threadkeep.conversation.entry import Approval, Entry, Feedback, Kept, Update
from threadkeep.conversation.events import Event
from threadkeep.conversation.facts import Status
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.message import Message, ToolCall
from threadkeep.conversation.parts import Part, split_text
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.share import Share
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import AnswerOptions, BusyPolicy, SendOptions, Turn, TurnState
from threadkeep.conversation.value import check_json, checked
from threadkeep.errors import EntryNotFound, InvalidCursor, InvalidValue, LeaseLost
from threadkeep.llm.base import ModelOptions
from threadkeep.loop_turn import Loops, LoopTurn
from threadkeep.retention.holds import delete_unless_held
from threadkeep.rings import LOOPS, load
from threadkeep.store.audit import act_now
from threadkeep.store.base import ROOT
from threadkeep.store.paging import backwards, check_position, newest_messages, walk
from threadkeep.store.shares import add_share, end_shares, good_shares
from threadkeep.store.values import Append, Begun, Page, Snapshot
from threadkeep.tools.outcome import canonical
from threadkeep.transfer.exporter import log_of
from threadkeep.transfer.moving import branch_text
from threadkeep.turn.active_turn import EngineDeps
from threadkeep.turn.attached import Attachable, attached
from threadkeep.turn.follow import MOVED, cursor_at, follow
from threadkeep.turn.runner import TurnRunner
from threadkeep.turn.steps.accept import Loop, Sending, accept, accept_again
from threadkeep.turn.steps.approve import approve, waiting_calls
from threadkeep.turn_handle import TurnHandle

logger = logging.getLogger(__name__)

MOST_DIGITS = 17
"""A position is below 2^53."""
Key = str | IdempotencyKey
"""An idempotency key. A text is a key for this verb in this conversation."""


class ConversationHandle:
    """One conversation of one user; `replayed` is whether a repeated key found it instead of making it. Its verbs are
    the door for Python programs; what only routes and rings read stands in `reading`."""

    def __init__(
        self, runner: TurnRunner, scope: Scope, id: str, value: Conversation | None = None, *, replayed: bool = False
    ) -> None:
        self._runner = runner
        self._store = runner.deps.store
        self.scope = scope
        self.id = id
        self._value = value
        self.replayed = replayed

    # The conversation itself

    @property
    def value(self) -> Conversation:
        """The conversation as it was when it was created or got; ValueError for a handle that `at` made."""
        if self._value is None:
            raise ValueError("this conversation was not read; call read()")
        return self._value

    @cached_property
    def reading(self) -> "Reading":
        """What the store tells of it, entry by entry."""
        return Reading(self._runner.deps, self.scope, self.id)

    async def read(self) -> Conversation:
        """Return the conversation as it is now: title, status, head, version."""
        return await self._store.get(self.scope, self.id)

    @checked
    async def update(self, *, expected_version: int | None = None, **fields: Any) -> Conversation:
        """Change `fields` (those of `Update`: title, metadata, status, archived, model, assistant) and return the
        conversation; `StaleVersion` if the version is not the expected one."""
        if not fields:
            raise InvalidValue("There is nothing to change.")
        update = Update(**fields)
        ModelOptions.of(update.metadata or {})
        return await self._store.update(self.scope, self.id, update, expected_version=expected_version)

    async def delete(self) -> None:
        """Delete the conversation; for half a minute it can be restored. `LegalHold` if it is held."""
        await delete_unless_held(self._store, self.scope, self.id)

    async def clear(self) -> Conversation:
        """Complete the conversation, and let the next message begin a new branch. Its instructions stay, nothing is
        deleted, and the old branch can be chosen again."""
        await self._store.choose_head(self.scope, self.id, ROOT)
        return await self._store.update(self.scope, self.id, Update(status=Status.COMPLETED))

    async def restore(self) -> Conversation:
        """Bring the conversation back as it was when it was deleted."""
        return await self._store.restore(self.scope, self.id, within_caps=True)

    @checked
    async def choose_head(self, head: int, *, expected_version: int | None = None) -> Conversation:
        """Let the next message continue another entry (0: the beginning)."""
        return await self._store.choose_head(self.scope, self.id, head, expected_version=expected_version)

    # Links

    @checked
    async def share(self, head: int | None = None, *, lasts: timedelta | None = None) -> tuple[str, Share]:
        """Make a link by which anybody can read the branch up to the entry `head` (none: the present head), for so long
        (none: until it is removed). Return its token, which is not stored, and the link."""
        return await add_share(self._store, self._runner.deps.clock, (self.scope, self.id), head, lasts)

    async def shares(self) -> tuple[Share, ...]:
        """Return the links that work, oldest first."""
        return await good_shares(self._store, self._runner.deps.clock, (self.scope, self.id))

    @checked
    async def unshare(self, id: str | None = None) -> None:
        """Remove a link, or all of them; `ShareNotFound` if there is none with this id. It stops working at once."""
        await end_shares(self._store, self._runner.deps.clock, (self.scope, self.id), id)

    # Turns

    @checked
    async def send(
        self,
        content: str | list[Any],
        *,
        attach: Sequence[Attachable] = (),
        parent: int | None = None,
        policy: BusyPolicy | str = BusyPolicy.QUEUE,
        key: Key | None = None,
        **how: Unpack[SendOptions],
    ) -> TurnHandle:
        """Send a message, a text or a list of parts; when this returns it is stored for ever and its turn runs or is
        queued.

        `attach` are files that go before it: paths, names with bytes, or ids of stored files; `parent` continues
        another entry than the head (a branch); with the same `key`, or the same `id` of your own, the message is sent
        only once. `tools` are definitions (name, description, parameters) of tools that you run: the turn waits for
        `give_result` when the model calls one. `without_recall` names entries (`{"entry": 3}`) that are not to be
        recalled for the answer.
        """
        try:
            chosen = BusyPolicy(policy)
        except ValueError:
            raise InvalidValue(f"A policy is one of {', '.join(BusyPolicy)}.") from None
        files = [await attached(self._runner.deps, self.scope, file) for file in attach]
        return await self.accept(content, *files, parent=parent, policy=chosen, key=key, **how)

    async def accept(self, content: str | list[Any] | None, *files: Part, **how: Any) -> TurnHandle:
        """Do what `send` does, for a caller whose types are checked already, as those of an HTTP body are. Without
        content, what stands at `parent` is answered."""
        return self._begun(await accept(self._runner, self.scope, self.id, self.sending(content, *files, **how)))

    def sending(
        self,
        content: str | list[Any] | None,
        *files: Part,
        key: Key | None = None,
        id: str | None = None,
        parent: int | None = None,
        loop: Loop | None = None,
        **how: Any,
    ) -> Sending:
        """Return a message as it is to be accepted; one that is sent twice with one id, its own or that of the turn, is
        one message, whatever other key it comes with."""
        text, parts = (content, ()) if content is None or isinstance(content, str) else split_text(content)
        parts = (*files, *parts)
        if not text and not parts and content is not None:
            raise InvalidValue("A message needs text or parts.")
        sent = [text, *(part.model_dump(mode="json") for part in parts), parent]
        chosen = [("turn", loop and loop.id), ("message", id if content is not None else None)]
        verb, named = next(((verb, check_id(name)) for verb, name in chosen if name), ("send", key))
        made = self._key(verb, named, sent)
        return Sending(content=text, id=id, parts=parts, parent=parent, key=made, loop=loop, **how)

    @checked
    async def regenerate(
        self, entry: int | None = None, *, key: Key | None = None, **how: Unpack[AnswerOptions]
    ) -> TurnHandle:
        """Answer again beside the answer `entry` (none: the newest); with the same `key` only once. `tools` and
        `without_recall` are as to `send`."""
        named = self._key("regenerate", key, [entry])
        return self._begun(await accept_again(self._runner, self.scope, self.id, entry, key=named, **how))

    @checked
    async def cancel(self, number: int | None = None) -> int:
        """Stop a turn (none: the one that runs or waits) and return its number; the text so far is kept as interrupted,
        and a queued message is never answered."""
        for turn in await self.turns():
            if turn.number == number and turn.state is TurnState.QUEUED:
                await self._store.withdraw(self.scope, self.id, turn.number)
                return turn.number
            if turn.state is not TurnState.QUEUED and number in (None, turn.number):
                try:
                    await self._runner.stop_turn(turn, TurnState.CANCELLED)
                except LeaseLost:
                    break
                return turn.number
        raise self._runner.no_such_turn(self.scope, self.id)

    @checked
    async def approve(
        self, tool_call_id: str, *, approved: bool = True, reason: str | None = None, key: Key | None = None
    ) -> Entry:
        """Answer whether a tool call that waits for a person may run; with the same `key` only once."""
        answer = Approval(tool_call_id=tool_call_id, approved=approved, reason=reason)
        named = self._key("approve", key, [tool_call_id, approved, reason])
        return await approve(self._runner, self.scope, self.id, answer, named)

    @checked
    async def give_result(
        self, tool_call_id: str, result: Any = None, *, error: str | None = None, key: Key | None = None
    ) -> Entry:
        """Give what a call returned whose tool you run: text, or a value that becomes JSON; or why it failed. The same
        again changes nothing."""
        text = result if isinstance(result, str) else canonical(check_json(result))
        said = text if error is None else None
        answer = Approval(tool_call_id=tool_call_id, approved=True, result=said, error=error)
        named = self._key("result", key, [tool_call_id, said, error])
        return await approve(self._runner, self.scope, self.id, answer, named)

    @checked
    async def give_feedback(
        self, entry: int, rating: Literal["up", "down"] | None, comment: str | None = None, *, key: Key | None = None
    ) -> Entry:
        """Keep what somebody thinks of a message; without a rating, what they thought is taken back."""
        if not isinstance((await self.reading.entry(entry)).body, Message):
            raise EntryNotFound
        body = Feedback(rating=rating, comment=comment)
        act = act_now(self._runner.deps.clock, "feedback.given", f"conversation:{self.id}", entry=entry, rating=rating)
        named = self._key("feedback", key, [entry, rating, comment])
        appended = await self._store.append(
            self.scope, self.id, Append(bodies=(body,), parent=entry, key=named, act=act)
        )
        return appended.entries[0]

    @checked
    async def append(
        self,
        *messages: Message | StateChange | Kept,
        key: Key | None = None,
        parent: int | None = None,
        expected_head: int | None = None,
    ) -> tuple[Entry, ...]:
        """Add messages, what they change of the state and what a program keeps beside them, after the head, or after
        another entry (0: as a new beginning), without answering them, such as a history from elsewhere; `StaleHead` if
        the head is not the expected one (0: none yet)."""
        body = [message.model_dump(mode="json") for message in messages] if isinstance(key, str) else []
        added = Append(bodies=messages, parent=parent, expected_head=expected_head, key=self._key("append", key, body))
        appended = await self._store.append(self.scope, self.id, added)
        self._log_reuse()
        return appended.entries

    async def turns(self) -> tuple[Turn, ...]:
        """Return the open turns, oldest first."""
        return await self._store.turns(self.scope, self.id)

    @overload
    def turn(self, number: int, /) -> TurnHandle: ...
    @overload
    def turn(self, content: str | list[Any] | None, /, **how: Any) -> AbstractAsyncContextManager[LoopTurn]: ...
    def turn(
        self, of: int | str | list[Any] | None, /, **how: Any
    ) -> TurnHandle | AbstractAsyncContextManager[LoopTurn]:
        """Return a handle on the turn with this number; or a turn that answers a message (none: what `parent` or the
        head says), for a loop of your own that runs inside `async with`. How is told as to `send`, but `id` is that of
        the turn and `message` that of the message; the same `key` or id takes the turn up again while it is open."""
        if isinstance(of, int):
            return TurnHandle(self._runner.deps, self.scope, self.id, of)
        return self.loops.begin(of, **how)

    @property
    def loops(self) -> Loops:
        """The turns that loops of your own run."""
        made: Loops = load(LOOPS, "own", "turns of loops of your own")(self, self._runner)
        return made

    async def waiting_calls(self, turn: Turn | None = None) -> tuple[ToolCall, ...]:
        """Return the calls that a person has yet to decide about, of one open turn or of all."""
        return await self._waiting_calls(turn, by_client=False)

    async def client_calls(self, turn: Turn | None = None) -> tuple[ToolCall, ...]:
        """Return the calls that a client has yet to run, of one open turn or of all."""
        return await self._waiting_calls(turn, by_client=True)

    async def _waiting_calls(self, turn: Turn | None, *, by_client: bool) -> tuple[ToolCall, ...]:
        turns = await self.turns() if turn is None else (turn,)
        return tuple([call for each in turns for call in await waiting_calls(self._store, each, by_client=by_client)])

    def _begun(self, begun: Begun) -> TurnHandle:
        self._log_reuse()
        return TurnHandle(self._runner.deps, self.scope, self.id, begun.turn, begun)

    def _log_reuse(self) -> None:
        """Log the use of a conversation that was neither created nor got with this handle, which log it themselves."""
        if self._value is None:
            log_use(self.id, "reused")

    def _key(self, verb: str, key: Key | None, body: list[Any]) -> IdempotencyKey | None:
        return IdempotencyKey.of(f"{verb} {self.id}", key, body) if isinstance(key, str) else key

    # Reading

    @checked
    async def snapshot(
        self, *, messages: int = 0, head: int | None = None, before: int | None = None, around: int | None = None
    ) -> Snapshot:
        """Return all that is shown of the conversation, as of one moment: a page of the entries of a branch (see
        `Page`), the tree, the open turns, the state, and the text being written."""
        page = Page(messages=messages, head=head, before=before, around=around)
        return await self._store.snapshot(self.scope, self.id, page)

    async def cursor(self, text: str | int | None) -> Cursor | None:
        """Return the cursor that a client sent, which may also be a position, None if it sent none; `InvalidCursor` if
        there is no such place."""
        conversation = await self.read()
        if text is None:
            return None
        is_position = isinstance(text, int) or (text.isascii() and text.isdigit() and len(text) < MOST_DIGITS)
        cursor = Cursor.at(int(text))[0] if is_position else Cursor.decode(text, self.id)
        check_position(cursor.seq, conversation.entries)
        if is_position:
            return await cursor_at(self._store, self.scope, self.id, int(text))
        if cursor.mark and mark_of((await self.reading.entry(cursor.seq)).created_at) != cursor.mark:
            raise InvalidCursor(MOVED)
        return cursor

    @checked
    def follow(self, after: Cursor | None = None, *, presence: bool = False) -> AsyncGenerator[Event, None]:
        """Yield every event behind the cursor (none: from now on; `Cursor()`: from the beginning), for ever.

        With `presence` the caller counts as a reader, and is told how many there are.
        """
        return follow(self._store, self._runner.deps.bus, self.scope, self.id, after, presence=presence)

    @checked
    async def messages(self, limit: int | None = 10, *, head: int | None = None) -> list[Message]:
        """Return the newest messages of a branch (none: the current one), oldest first; all if there is no limit."""
        return [message for _, message in await self.reading.message_entries(limit=limit, head=head)]


class Reading:
    """What the store tells of one conversation: its own verbs of reading, asked about this conversation.

    `entry` finds one entry, `newest` the newest of a branch, `message_entries` its messages with their entries;
    `branch` walks through one from its beginning, `backwards` from its end, `written` as a writer shows it; `count`
    counts its messages, `state` is what was gathered, `log` a page of all branches and remarks.
    """

    def __init__(self, deps: EngineDeps, scope: Scope, id: str) -> None:
        store = deps.store
        self.entry = partial(store.entry, scope, id)
        self.newest = partial(store.newest, scope, id)
        self.count = partial(store.count, scope, id)
        self.state = partial(store.state, scope, id)
        self.log = partial(store.log, scope, id)
        self.message_entries = partial(newest_messages, store, scope, id)
        self.branch = partial(walk, store, scope, id)
        self.backwards = partial(backwards, store, scope, id)
        self.written = partial(branch_text, store, deps.attachments, scope, id)
        self._spool_state = partial(store.operations.spool_state, scope, id)
        self._read = partial(store.get, scope, id)
        self._log_of = partial(log_of, store)

    @property
    def is_spooled(self) -> bool:
        """Whether some of it is in this instance's spool and not yet in the database."""
        return self._spool_state().is_spooled

    async def entries(self, of: Conversation | None = None) -> AsyncIterator[Entry]:
        """Yield the whole log as it was when the conversation was read (none: as it is now), with nothing left out."""
        async for entry in self._log_of(of or await self._read()):
            yield entry


def log_use(conversation: str, how: Literal["created", "reused"]) -> None:
    """Log that a conversation was created, or is used again (R-B5)."""
    logger.debug("conversation %s %s", conversation, how)
