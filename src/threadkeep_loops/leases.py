"""Who may write for a turn of a loop: for a loop elsewhere, whoever shows the token; the store decides if it holds."""

import secrets
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple, Self

from threadkeep.conversation.draft_text import split_stream
from threadkeep.conversation.entry import Approval
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.errors import LeaseLost, TurnNotFound
from threadkeep.loop_turn import TurnOver
from threadkeep.turn.active_turn import LOOP_LEASE, turn_entries
from threadkeep.turn.decision import is_outside
from threadkeep.turn.runner import TurnRunner

TAKINGS = 10
"""How often a turn may change hands while it is being taken."""
LEASE_SECONDS = int(LOOP_LEASE.total_seconds())


class Token(NamedTuple):
    """What proves that a turn is a loop's own: the fencing number and a secret, of which the store knows a digest."""

    fence: int
    secret: str

    @classmethod
    def new(cls) -> Self:
        """Return a token for a turn that begins."""
        return cls(1, secrets.token_urlsafe(18))

    @classmethod
    def read(cls, text: str) -> Self:
        """Return what a client was given; `TurnOver` for anything else."""
        fence, dot, secret = text.partition(".")
        if not (dot and fence.isascii() and fence.isdigit() and len(fence) < 10):
            raise TurnOver
        return cls(int(fence), secret)

    @property
    def owner(self) -> str:
        """The owner that the store knows."""
        return f"loop {blake2b(self.secret.encode(errors='replace'), digest_size=16).hexdigest()}"

    def __str__(self) -> str:
        return f"{self.fence}.{self.secret}"


async def taken(runner: TurnRunner, scope: Scope, conversation: str, number: int, token: Token | None = None) -> Lease:
    """Take up a turn that a loop of one's own runs, so that a former holder can write no more; for whom has a `token`,
    or else for this process. `TurnNotFound` for turns of ours and those in the queue, `TurnOver` for one that ended."""
    deps = runner.deps
    owner, lasts = (deps.owner, deps.lease_for) if token is None else (token.owner, LOOP_LEASE)
    for _ in range(TAKINGS):
        turn = await open_turn(runner, scope, conversation, number)
        if turn.state is TurnState.QUEUED:
            raise TurnNotFound("This turn is still in the queue.")
        with suppress(LeaseLost):  # it changed hands between the two
            return await deps.store.take(turn, owner, lasts)
    raise LeaseLost


async def open_turn(runner: TurnRunner, scope: Scope, conversation: str, number: int) -> Turn:
    """Return an open turn that is run by a loop of one's own; errors as of `taken`."""
    store = runner.deps.store
    entries = await turn_entries(store, scope, conversation, number)
    if not is_outside([entry for entry in entries if entry.turn == number]):
        raise runner.no_such_turn(scope, conversation, "No loop of yours runs such a turn.")
    for turn in await store.turns(scope, conversation):
        if turn.number == number:
            return turn
    changes = [entry.body for entry in entries if isinstance(entry.body, TurnChange) and entry.turn == number]
    raise TurnOver(changes[-1].state)


class SeenLoop(NamedTuple):
    """A turn of a loop, as anybody may see it who may see the conversation."""

    id: str | None
    state: TurnState
    draft: dict[str, Any] | None
    decisions: tuple[Approval, ...]


async def seen_loop(runner: TurnRunner, scope: Scope, conversation: str, number: int) -> SeenLoop:
    """Return how a turn of a loop stands."""
    store = runner.deps.store
    entries = await turn_entries(store, scope, conversation, number)
    changes = [entry.body for entry in entries if isinstance(entry.body, TurnChange) and entry.turn == number]
    if not is_outside(entries) or not changes:
        raise runner.no_such_turn(scope, conversation, "No loop of yours runs such a turn.")
    draft, shown = (await store.snapshot(scope, conversation)).draft, None
    if draft is not None and draft.turn == number:
        text, thoughts = split_stream(draft.text)
        shown = {"message": draft.message, "offset": len(draft.text), "text": text, "started_at": draft.started_at}
        shown["reasoning"] = "".join(part.text for part in thoughts)
    made = {call.id for entry in entries if isinstance(entry.body, Message) for call in entry.body.tool_calls}
    decisions = (entry.body for entry in entries if isinstance(entry.body, Approval))
    id = next((change.id for change in changes if change.id is not None), None)
    return SeenLoop(id, changes[-1].state, shown, tuple(each for each in decisions if each.tool_call_id in made))
