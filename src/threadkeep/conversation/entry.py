"""An entry: one node of a conversation's log, with its place in it.

Messages and state changes continue the branch and become its head. The others are remarks about an entry (`parent`):
they are in the log and have a `seq`, but belong to no branch.
"""

from typing import Annotated, Literal

from pydantic import Field

from threadkeep.conversation.facts import SomeFacts
from threadkeep.conversation.message import MAX_TOKENS, Message
from threadkeep.conversation.share import MOST_SHARES, Share
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange
from threadkeep.conversation.value import JsonObject, Moment, Text, Value


class Summary(Value):
    """A digest of the branch up to and including the entry that it remarks on. The originals stay."""

    kind: Literal["summary"] = "summary"
    content: Text
    tokens: int | None = Field(default=None, ge=0, le=MAX_TOKENS)


class Approval(Value):
    """The answer to a tool call that waits for one: whether a person allows it, or, for a tool that a client runs, what
    it returned (`result`) or why it failed (`error`)."""

    kind: Literal["approval"] = "approval"
    tool_call_id: Text
    approved: bool
    reason: Text | None = None
    result: Text | None = Field(default=None, exclude_if=lambda result: result is None)
    error: Text | None = Field(default=None, exclude_if=lambda error: error is None)

    @property
    def is_result(self) -> bool:
        """Whether a client ran the call."""
        return self.result is not None or self.error is not None


class Update(SomeFacts):
    """A change of the conversation as a whole. A field that is not set was not changed. `shares` are all of its links
    from now on."""

    kind: Literal["update"] = "update"
    metadata: JsonObject | None = None
    shares: tuple[Share, ...] | None = Field(
        default=None, max_length=MOST_SHARES, exclude_if=lambda shares: shares is None
    )


class Feedback(Value):
    """What somebody thinks of the message that it remarks on: without a rating, nothing any more. The newest counts."""

    kind: Literal["feedback"] = "feedback"
    rating: Literal["up", "down"] | None = None
    comment: Annotated[Text, Field(max_length=2000)] | None = None


class HeadChoice(Value):
    """Another branch was chosen: its head is the entry that this remarks on, or the root where there is none."""

    kind: Literal["head"] = "head"


class Kept(Value):
    """What a program of another form keeps in the log beside the messages, such as a framework's checkpoint: neither
    models nor people are shown it. `of` names the form."""

    kind: Literal["kept"] = "kept"
    of: Annotated[Text, Field(min_length=1, max_length=64)]
    content: Text


PathBody = Message | StateChange
Remark = Summary | Approval | Update | TurnChange | HeadChoice | Feedback | Kept
Body = Annotated[PathBody | Remark, Field(discriminator="kind")]


class Entry(Value):
    """A body with its place: `seq` counts all entries of a conversation from 1, `parent` is another entry's seq."""

    conversation: str
    seq: int
    parent: int | None
    turn: int | None = None
    created_at: Moment
    body: Body

    @property
    def continues_branch(self) -> bool:
        """Whether this entry is part of a branch, not a remark."""
        return isinstance(self.body, PathBody)

    def without_links(self) -> "Entry":
        """Return this entry for an export or import: share links are not carried to another store."""
        if not isinstance(self.body, Update) or self.body.shares is None:
            return self
        return self.model_copy(update={"body": self.body.model_copy(update={"shares": None})})
