"""What clients get, field by field: conversations, messages, turns, hits and branches as JSON."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import ConfigDict, Field, JsonValue

from threadkeep.conversation.blocks import AnyBlock
from threadkeep.conversation.entry import Entry, Feedback
from threadkeep.conversation.event_json import UNSEEN
from threadkeep.conversation.facts import ListedFacts
from threadkeep.conversation.message import Message, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import AnyPart, Part
from threadkeep.conversation.tree import Tree
from threadkeep.conversation.turn import Failure, Turn, TurnChange, TurnState
from threadkeep.conversation.value import Adoptable
from threadkeep.conversation_handle import ConversationHandle


def _any_of(schema: dict[str, Any]) -> None:
    """Use `anyOf`: a block or part of a known kind also fits the schema of an unknown kind."""
    schema["items"] = {"anyOf": schema["items"]["oneOf"]}


ShownBlocks = Annotated[list[AnyBlock], Field(json_schema_extra=_any_of)]
ShownParts = Annotated[list[AnyPart], Field(json_schema_extra=_any_of, exclude_if=lambda parts: not parts)]

NO_OPINIONS: Mapping[int, Feedback] = {}


class Shown(Adoptable):
    """An answer."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class Identified(Shown):
    """Something with an id, which is shown first."""

    id: str


class ListedConversation(ListedFacts, Identified):
    """A conversation as a list shows it: without its messages, its instructions and its metadata. `incomplete` is one
    that is shown as far as this instance knows it, because the database is away."""

    model_config = ConfigDict(extra="ignore", json_schema_serialization_defaults_required=True)
    version: int
    head: int | None
    entries: int
    created_at: datetime
    updated_at: datetime
    incomplete: bool = False


class ShownConversation(ListedConversation):
    """A conversation without its messages."""

    system: str | None
    metadata: dict[str, Any]


class ShownFeedback(Shown):
    """What somebody thinks of a message."""

    rating: Literal["up", "down"] | None
    comment: str | None


class ShownPlace(Shown):
    """Where a message stands in the tree; `siblings` are all that continue the same entry, in order; `feedback` is what
    somebody thinks of it, and left out if that is nothing."""

    seq: int
    parent: int | None
    siblings: list[int]
    turn: int | None
    created_at: datetime
    feedback: ShownFeedback | None = Field(default=None, exclude_if=lambda feedback: feedback is None)


class ShownContent(Shown):
    """What a message holds; `parts` are what it has beside the text, and left out if that is nothing; `tool_result`
    says how the call went that it answers, `tool_trace` what a turn noted."""

    id: str
    role: str
    content: str
    parts: ShownParts = Field(default_factory=list)
    blocks: ShownBlocks
    tool_calls: list[ToolCall]
    tool_result: ToolResult | None
    tool_trace: list[dict[str, Any]]
    usage: Usage | None
    tokens: int | None
    status: str
    model: str | None
    started_at: datetime | None

    @classmethod
    def around(cls, message: Message, **place: Any) -> Self:
        """Return a message as clients see it, without checking it again, which would take half of the time of opening a
        conversation."""
        held = {**message.__dict__, **place}
        fields = {name: held[name] for name in cls.model_fields}  # in their order, in which they are written
        for name in ("blocks", "tool_calls", "tool_trace"):
            fields[name] = list(fields[name])
        fields["parts"] = [_seen(part) for part in message.parts]
        return cls.adopt(fields)


def _seen(part: Part) -> Part:
    """Return a part without its `UNSEEN` fields."""
    held = part.__dict__
    if not (part.model_extra or held.get("extract") or held.get("payload")):
        return part
    return part.model_validate(part.model_dump(exclude=UNSEEN))


class ShownMessage(ShownContent, ShownPlace):
    """A message with its place in the tree."""

    @classmethod
    def of(cls, entry: Entry, tree: Tree, opinions: Mapping[int, Feedback] = NO_OPINIONS) -> "ShownMessage":
        if not isinstance(entry.body, Message):
            raise TypeError("not a message")
        place = {"seq": entry.seq, "parent": entry.parent, "turn": entry.turn, "created_at": entry.created_at}
        given = opinions.get(entry.seq)
        feedback = None if given is None else ShownFeedback.model_validate(given)
        return cls.around(
            entry.body, **place, feedback=feedback, siblings=list(tree.siblings(entry.seq, entry.parent or 0))
        )


class ShownTurn(Shown):
    """A turn by its number and its state; `failure` says why it failed, `detail` what else there is to say. A queued
    one shows its `message`, which is in no branch yet, a waiting one the ids of the tool `calls` that it waits for, and
    which of those its client runs (`client_calls`). One that is `spooled` is kept on this instance's disk, and not yet
    in the database."""

    id: int
    state: str
    failure: Failure | None = None
    detail: str | None = None
    message: ShownContent | None = None
    calls: list[str] = Field(default_factory=list)
    client_calls: list[str] = Field(default_factory=list)
    spooled: bool = False

    @classmethod
    async def of(cls, conversation: ConversationHandle, turn: Turn) -> "ShownTurn":
        queued = None
        if turn.state is TurnState.QUEUED:
            opening = (await conversation.reading.entry(turn.number)).body
            queued = opening.message if isinstance(opening, TurnChange) else None
        asked, theirs = await conversation.waiting_calls(turn), await conversation.client_calls(turn)
        message = ShownContent.around(queued) if queued else None
        spooled = conversation.reading.is_spooled
        return cls(
            id=turn.number,
            state=turn.state,
            message=message,
            calls=[call.id for call in (*asked, *theirs)],
            client_calls=[call.id for call in theirs],
            spooled=spooled,
        )

    @classmethod
    def after(cls, turn: int, change: TurnChange) -> "ShownTurn":
        """Return a turn as a change left it."""
        return cls(id=turn, state=change.state, failure=change.failure, detail=change.detail)


class WholeConversation(ShownConversation):
    """A conversation with a page of messages, oldest first; `before` asks for the page before it. `branch` is the
    newest entry of the branch that is shown, `turns` are the open ones, `ended` is how the newest one ended. `state` is
    what has been gathered."""

    branch: int | None
    messages: list[ShownMessage]
    before: int | None
    after: int | None
    turns: list[ShownTurn]
    ended: ShownTurn | None
    state: dict[str, Any]
    cursor: str
    position: int | None


class ConversationList(Shown):
    """A page of conversations, and the cursor of the next page if there is one; with `metadata` and `system` where they
    were asked for."""

    data: Sequence[ShownConversation | ListedConversation]
    next: str | None


class Answered(Shown):
    """How a turn ended, and its answer."""

    turn: ShownTurn
    message: ShownMessage | None = None


class ShownHit(Shown):
    """A message or the title of a conversation that was found; a title has no entry, no branch and no role."""

    kind: Literal["message", "title"]
    conversation: str
    title: str | None
    entry: int | None = Field(validation_alias="seq")
    branch: int | None
    role: str | None
    created_at: datetime
    snippet: str
    highlights: list[tuple[int, int]]


class HitList(Shown):
    """A page of hits in the order that was asked for."""

    data: list[ShownHit]
    next: str | None


LAST_WORDS = 10
"""Among so many newest entries of a branch there is a message with text: few entries follow an answer."""
EXAMPLE: dict[str, JsonValue] = {
    "head": 9,
    "fork": 6,
    "parted": {"entry": 6, "branch": 8, "preview": "When is the meeting?", "role": "user"},
    "is_current": True,
    "preview": "You told me: the meeting is on Friday.",
    "role": "assistant",
    "updated_at": "2026-01-01T12:00:00Z",
}


class ShownParting(Shown):
    """Where a branch left an older one: after which entry, what was said there, and which `branch` it left, by head."""

    entry: int
    branch: int
    preview: str
    role: str | None


class ShownBranch(Shown):
    """A branch: its newest entry, when that was stored, and the beginning of its newest message with words. `fork` is
    the entry where it parted from an older branch, and `parted` tells more of that; a first branch has neither."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    head: int
    fork: int | None
    parted: ShownParting | None
    is_current: bool
    preview: str
    role: str | None
    updated_at: datetime


class ShownTree(Shown):
    """All branches, oldest first."""

    head: int | None
    version: int
    branches: list[ShownBranch]


class _Words(TypedDict):
    preview: str
    role: str | None


async def shown_tree(handle: ConversationHandle) -> ShownTree:
    """Read the tree of a conversation."""
    found = await handle.snapshot()
    shape = found.tree

    async def newest(head: int) -> tuple[Entry, ...]:
        return await handle.reading.newest(limit=LAST_WORDS, head=head)

    async def parting(fork: int) -> ShownParting:
        return ShownParting(entry=fork, branch=shape.older(fork), **_words(await newest(fork)))

    branches = []
    for branch in shape.branches():
        entries = await newest(branch.head)
        branches.append(
            ShownBranch(
                head=branch.head,
                fork=branch.fork,
                parted=None if branch.fork is None else await parting(branch.fork),
                is_current=branch.is_current,
                updated_at=entries[-1].created_at,
                **_words(entries),
            )
        )
    return ShownTree(head=found.conversation.head, version=found.conversation.version, branches=branches)


def _words(entries: Sequence[Entry]) -> _Words:
    """Return what was said last in some entries of a branch, oldest first."""
    said = [entry.body for entry in entries if isinstance(entry.body, Message) and entry.body.content]
    return {"preview": said[-1].content[:120], "role": said[-1].role} if said else {"preview": "", "role": None}
