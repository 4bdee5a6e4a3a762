"""A record: one step in the life of a conversation, as it is decided, kept and applied. Plain JSON can hold it."""

from pydantic import Field

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Body
from threadkeep.conversation.ids import Id
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation.value import Moment, Text, Value


class Opening(Value):
    """The beginning of a conversation: whose it is, and a mark that tells it from a later one with the same id."""

    tenant: Id
    user: Id
    id: Id
    mark: Text
    new: NewConversation


class KeyUse(Value):
    """An idempotency key that a record protects: its name and the digest of the body, both in hexadecimal digits."""

    name: str
    digest: str


class OpenTurn(Value):
    """A turn as it is after a record. A final state takes it off the list of open turns."""

    number: int
    state: TurnState
    owner: str | None = None
    fence: int = 0
    taken: int = 0
    until: Moment | None = None


class Chunk(Value):
    """Text that is added to the message being written."""

    turn: int
    message: Id
    text: Text


class Record(Value):
    """What one step changes. `bodies` continue `parent` (none: the head) as entries of `turn`; `bytes` is their size.

    `head` moves the head without an entry of a branch. `view` is the digest of the readable file that goes with the
    state after this record; stores without such files leave it out.
    """

    at: Moment
    opening: Opening | None = None
    parent: int | None = None
    head: int | None = None
    turn: int | None = None
    bodies: tuple[Body, ...] = ()
    bytes: int = 0
    open_turn: OpenTurn | None = None
    chunk: Chunk | None = None
    key: KeyUse | None = None
    view: str | None = Field(default=None, max_length=64)
