"""One read of a conversation: a page of its entries and all that is shown beside them, as of one moment."""

from collections.abc import Iterable
from dataclasses import dataclass

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry, Feedback
from threadkeep.conversation.message import Message
from threadkeep.conversation.state import State
from threadkeep.conversation.tree import Tree
from threadkeep.conversation.turn import Turn, TurnChange
from threadkeep.errors import InvalidLimit
from threadkeep.store.values import Draft

MOST_MESSAGES = MOST_ENTRIES = 1000
MOST_CHARACTERS = 2_000_000
"""A page of messages ends early after so many characters, or after `MOST_ENTRIES` entries of all kinds."""
REMARKS = 50
"""How many entries, from the end of the branch on, are read for the end of its turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which entries are read: the newest of the branch that ends in `head` (none: the current one) until there are so
    many `messages`, those that come before the entry `before`, or so many entries `around` one (without a head: on the
    current branch if it holds that entry, else on the newest that does)."""

    messages: int = 0
    head: int | None = None
    before: int | None = None
    around: int | None = None

    def check(self) -> None:
        """Raise an error if so many messages are never read together."""
        if not 0 <= self.messages <= MOST_MESSAGES:
            raise InvalidLimit


NO_ENTRIES = Page()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A conversation as of one moment: the `entries` of the page, oldest first and without remarks, and the `feedback`
    about them; the end of their `branch`, the `state` there, and the `remarks` in the log from there on; the whole
    tree, the open turns, oldest first, and the text being written."""

    conversation: Conversation
    branch: int | None
    entries: tuple[Entry, ...]
    feedback: tuple[Entry, ...]
    state: State
    remarks: tuple[Entry, ...]
    tree: Tree
    turns: tuple[Turn, ...]
    draft: Draft | None

    @property
    def opinions(self) -> dict[int, Feedback]:
        """What is thought of the entries of the page, by their numbers."""
        given = {entry.parent: entry.body for entry in self.feedback if isinstance(entry.body, Feedback)}
        return {entry: body for entry, body in given.items() if entry is not None and body.rating is not None}

    @property
    def ended(self) -> tuple[int, TurnChange] | None:
        """The newest turn of the branch and how it ended, as long as nothing but remarks came behind it."""
        changes = [(entry.turn or 0, entry.body) for entry in self.remarks if isinstance(entry.body, TurnChange)]
        return changes[-1] if changes and not changes[-1][1].state.is_open else None


def page_of(newest_first: Iterable[Entry], messages: int) -> tuple[Entry, ...]:
    """Return the newest entries of a branch, oldest first, until there are so many messages, or a lot."""
    taken: list[Entry] = []
    characters = 0
    for entry in newest_first if messages else ():
        taken.append(entry)
        if isinstance(entry.body, Message):
            messages -= 1
            characters += len(entry.body.content)
        if not messages or characters >= MOST_CHARACTERS or len(taken) == MOST_ENTRIES:
            break
    taken.reverse()
    return tuple(taken)
