"""What is told of a store's verbs: to its listener what was written, so that readers hear of it, and who read what.

A verb tells by being a verb of the contract: no backend, and no caller, has to remember to. Readers of a conversation
are told of everything that its log or draft gains; readers of the user's list of what the list shows: conversations and
the states of their turns, but not what a running turn appends on its way.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn
from threadkeep.store.values import Append, Begun, Created, Import


class Change(NamedTuple):
    """Something was written: to which conversation, whether the user's list shows it, and if it is text of the message
    being written, its id, the place of the text in it and the text, so that a reader need not read it from the store.
    """

    scope: Scope
    conversation: str
    in_list: bool = True
    text: tuple[str, int, str] | None = None


def _of_conversation(_answer: object, scope: Scope, conversation: str, *_args: Any, **_options: Any) -> Change:
    return Change(scope, conversation)


def _of_create(answer: Created, scope: Scope, *_args: Any, **_options: Any) -> Change:
    return Change(scope, answer.conversation.id)


def _of_append(_answer: object, scope: Scope, conversation: str, append: Append) -> Change:
    return Change(scope, conversation, in_list=append.lease is None or append.settle is not None)


def _of_import(_answer: object, scope: Scope, imported: Import) -> Change | None:
    return None if imported.new.id is None else Change(scope, imported.new.id)


def _of_start(answer: Begun | None, scope: Scope, conversation: str, *_args: Any, **_options: Any) -> Change | None:
    return None if answer is None else Change(scope, conversation)


def _of_take(_answer: object, turn: Turn, *_args: Any, **_options: Any) -> Change:
    return Change(turn.scope, turn.conversation)


def _of_write(_answer: object, lease: Lease, message: str, offset: int, text: str) -> Change:
    return Change(lease.scope, lease.conversation, in_list=False, text=(message, offset, text))


_WRITES: dict[str, Callable[..., Change | None]] = {
    **dict.fromkeys(
        ("update", "delete", "restore", "choose_head", "adopt", "begin", "withdraw"),
        _of_conversation,
    ),
    "create": _of_create,
    "append": _of_append,
    "import_entries": _of_import,
    "start": _of_start,
    "take": _of_take,
    "write": _of_write,
}
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
            if not getattr(verb, "__isabstractmethod__", False):
                setattr(cls, name, _noting(verb) if name in _READS else _telling(verb, _WRITES[name]))

    def tell(self, change: Change) -> None:
        """Tell of a change."""
        for listener in self.listeners:
            listener(change)


def _telling(verb: Callable[..., Any], change_of: Callable[..., Change | None]) -> Callable[..., Any]:
    @wraps(verb)
    async def write(self: Telling, *args: Any, **options: Any) -> Any:
        answer = await verb(self, *args, **options)
        if (change := change_of(answer, *args, **options)) is not None:
            self.tell(change)
        return answer

    return write


def _noting(verb: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(verb)
    async def read(self: Telling, scope: Scope, conversation: str, *args: Any, **options: Any) -> Any:
        found = await verb(self, scope, conversation, *args, **options)
        self.note_read(scope, conversation)
        return found

    return read
