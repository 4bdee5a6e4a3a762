"""What is told of a store's verbs: to its listener what was written, so that readers hear of it, and who read what.

A verb tells by being a verb of the contract: no backend, and no caller, has to remember to. Readers of a conversation
are told of everything that its log or draft gains; readers of the user's list of what the list shows: conversations and
the states of their turns, but not what a running turn appends on its way.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease

VerbT = TypeVar("VerbT", bound=Callable[..., Any])


class Change(NamedTuple):
    """Something was written: to which conversation, whether the user's list shows it, and if it is text of the message
    being written, its id, the place of the text in it and the text, so that a reader need not read it from the store.
    """

    scope: Scope
    conversation: str
    in_list: bool = True
    text: tuple[str, int, str] | None = None


def text_change(lease: Lease, message: str, offset: int, text: str) -> Change:
    """Return the change that text for a message is."""
    return Change(lease.scope, lease.conversation, False, (message, offset, text))


_WRITES: dict[str, Callable[..., Change | None]] = {
    **dict.fromkeys(
        ("update", "delete", "restore", "choose_head", "adopt", "begin", "withdraw"),
        lambda _, scope, conversation, *args, **options: Change(scope, conversation),
    ),
    "create": lambda made, scope, *args, **options: Change(scope, made.conversation.id),
    "append": lambda _, scope, conversation, append: Change(
        scope, conversation, in_list=append.lease is None or append.settle is not None
    ),
    "import_entries": lambda _, scope, imported: imported.new.id and Change(scope, imported.new.id),
    "start": lambda begun, scope, conversation, *args, **options: begun and Change(scope, conversation),
    "take": lambda _, turn, *args, **options: Change(turn.scope, turn.conversation),
    "write": lambda _, lease, message, offset, text: text_change(lease, message, offset, text),
}
"""What each verb that writes has changed, given its answer and what it was asked."""
_READS = ("snapshot", "newest", "after", "log")


class Telling:
    """Lets every verb of its subclasses tell what it did."""

    listeners: tuple[Callable[[Change], None], ...] = ()
    """Who is told of every change."""
    note_read: Callable[[Scope, str], None] = staticmethod(lambda scope, conversation: None)
    """Is called with every conversation whose entries are read."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in cls.__dict__.keys() & {*_WRITES, *_READS}:
            verb = cls.__dict__[name]
            if not getattr(verb, "__isabstractmethod__", False) and verb not in _TELLING:
                setattr(cls, name, _noting(verb) if name in _READS else _telling(verb, _WRITES[name]))

    def tell(self, change: Change) -> None:
        """Tell of a change."""
        for listener in self.listeners:
            listener(change)


def _telling(verb: Callable[..., Any], change_of: Callable[..., Change | None]) -> Callable[..., Any]:
    @wraps(verb)
    async def write(self: Telling, *args: Any, **options: Any) -> Any:
        answer = await verb(self, *args, **options)
        if change := change_of(answer, *args, **options):
            self.tell(change)
        return answer

    return tells_itself(write)


_TELLING = set[Callable[..., Any]]()


def tells_itself(verb: VerbT) -> VerbT:
    """Mark a verb that tells what it did, so that nobody else does."""
    _TELLING.add(verb)
    return verb


def _noting(verb: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(verb)
    async def read(self: Telling, scope: Scope, conversation: str, *args: Any, **options: Any) -> Any:
        found = await verb(self, scope, conversation, *args, **options)
        self.note_read(scope, conversation)
        return found

    return read


MOST_BYTES = 7000
"""How long a word may be."""


class NotifyChannel(ABC):
    """A channel between the processes that use the same store, for short messages ("words"). They say that there is
    something to read and never carry content: everybody with access to the store may listen. Words may get lost or
    change their order. A channel is opened and closed any number of times, by one task."""

    reaches_all = True
    """Whether every process on the store has this channel."""

    @abstractmethod
    async def open(self, hear: Callable[[str], None]) -> None:
        """Connect, and from now on call `hear` with every word that is sent by anybody, ourselves included.

        Raises an error of `StoreError` if that is not possible.
        """

    @abstractmethod
    async def send(self, words: Sequence[str]) -> None:
        """Send words; an empty list only checks whether the channel works. Raises an error of `StoreError`."""

    @abstractmethod
    async def close(self) -> None:
        """Close the channel, if it is open."""
