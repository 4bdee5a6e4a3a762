"""The branches of a conversation as clients see them: what was said last on each, and where it left an older one."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from pydantic import ConfigDict, JsonValue

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.server.shown import Shown
from threadkeep.store.base import Store

LAST_WORDS = 10
"""Among so many newest entries of a branch is one with words: a turn ends with its answer, and what it noted."""
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

    model_config = ConfigDict(frozen=True, json_schema_extra={"examples": [EXAMPLE]})

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


async def shown_tree(store: Store, scope: Scope, id: str) -> ShownTree:
    """Read the tree of a conversation."""
    conversation, shape = await store.get(scope, id), await store.tree(scope, id)

    async def newest(head: int) -> tuple[Entry, ...]:
        return await store.newest(scope, id, limit=LAST_WORDS, head=head)

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
    return ShownTree(head=conversation.head, version=conversation.version, branches=branches)


def _words(entries: Sequence[Entry]) -> _Words:
    """Return what was said last in some entries of a branch, oldest first."""
    said = [entry.body for entry in entries if isinstance(entry.body, Message) and entry.body.content]
    return {"preview": said[-1].content[:120], "role": said[-1].role} if said else {"preview": "", "role": None}
