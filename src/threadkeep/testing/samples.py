"""Short ways to say what tests store: people, messages, turns. Not for anything that a test is about."""

from datetime import timedelta

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role, ToolResult
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Begin, Begun

ADA = Scope(tenant="acme", user="ada")
BOB = Scope(tenant="acme", user="bob")
EVE = Scope(tenant="umbrella", user="ada")
"""Ada and Bob share a tenant. Eve is another tenant's user with Ada's name."""

MINUTE = timedelta(minutes=1)
NO_TIME = timedelta(0)


def asked(text: str) -> Message:
    """Return a user's message."""
    return Message(role=Role.USER, content=text)


def answered(text: str) -> Message:
    """Return an assistant's message."""
    return Message(role=Role.ASSISTANT, content=text)


def returned(text: str, call: str = "call-1") -> Message:
    """Return a tool's message."""
    return Message(role=Role.TOOL, content=text, tool_result=ToolResult(tool_call_id=call))


def key(name: str, body: object = None, *, route: str = "POST /v1/things") -> IdempotencyKey:
    """Return an idempotency key as a route would make it from a body."""
    return IdempotencyKey.of(route, name, body)


async def new(store: Store, scope: Scope = ADA, *texts: str, name: str | None = None) -> str:
    """Create a conversation with these messages, asked and answered in turn, and return its id."""
    created = await store.create(scope, NewConversation(id=name))
    if texts:
        await say(store, created.conversation.id, *texts, scope=scope)
    return created.conversation.id


async def say(
    store: Store, conversation: str, *texts: str, scope: Scope = ADA, parent: int | None = None
) -> tuple[Entry, ...]:
    """Append messages, asked and answered in turn, in one step and return their entries."""
    bodies = tuple(answered(text) if at % 2 else asked(text) for at, text in enumerate(texts))
    return (await store.append(scope, conversation, Append(bodies=bodies, parent=parent))).entries


async def run(
    store: Store,
    conversation: str,
    text: str = "hello",
    *,
    owner: str = "one",
    scope: Scope = ADA,
    lease_for: timedelta = MINUTE,
) -> Begun:
    """Begin a turn."""
    begin = Begin(message=asked(text), owner=owner, lease_for=lease_for)
    return await store.begin(scope, conversation, begin)


async def running(
    store: Store, conversation: str, *, owner: str = "one", scope: Scope = ADA, lease_for: timedelta = MINUTE
) -> Lease:
    """Begin a turn in a conversation that has none, and return its lease."""
    lease = (await run(store, conversation, owner=owner, scope=scope, lease_for=lease_for)).lease
    if lease is None:
        raise AssertionError("the turn was queued or replayed")
    return lease


async def settle(
    store: Store, lease: Lease, *bodies: Message, state: TurnState = TurnState.COMPLETED
) -> tuple[Entry, ...]:
    """Append what is left to say and end the turn, in one step."""
    append = Append(bodies=bodies, lease=lease, settle=TurnChange(state=state))
    return (await store.append(lease.scope, lease.conversation, append)).entries


def texts_of(entries: tuple[Entry, ...]) -> list[str]:
    """Return the contents of the messages among these entries."""
    return [entry.body.content for entry in entries if isinstance(entry.body, Message)]
