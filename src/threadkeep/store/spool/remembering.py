"""Keys, logins and files in an outage: what was seen of them lately, within a bound, is answered with; the rest has to
wait for the database."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Set
from inspect import iscoroutinefunction
from typing import Any

from threadkeep.store.file_tables import FileTables
from threadkeep.store.keyring import KeyRing
from threadkeep.store.spool.outage import OUTAGES

MOST_BYTES = 32 * 1024 * 1024
"""How much is remembered of each kind."""
ENTRY_OVERHEAD = 500
Ask = Callable[..., Awaitable[Any]]
Fact = tuple[tuple[Any, ...], Any]
Facts = Mapping[str, Callable[[tuple[Any, ...], Any], Fact]]
"""What a verb with these arguments and this answer teaches: a question (verb and arguments) and its answer."""


def remembering_keys(keyring: KeyRing, ask: Ask) -> KeyRing:
    """Return a key ring by which those may come in whose key or login was good when the database last answered."""
    learns: Facts = {
        name: lambda args, answer, name=name: ((name, *args), answer)  # type: ignore[misc]
        for name in ("secret", "find", "find_login")
    }
    ring: KeyRing = _remembering(KeyRing, keyring, ask, learns, {"revoke", "forget", "end_login"})
    return ring


def remembering_files(files: FileTables, ask: Ask) -> FileTables:
    """Return tables whose files can be read in an outage if they passed through here lately."""
    learns: Facts = {
        "find": lambda args, found: (("find", *args), found),
        "get": lambda args, data: (("get", *args), data),
        "put": lambda args, _: (("get", *args[:3]), args[3]),
        "finish": lambda args, done: (("find", args[0], done[0].id if done else ""), done and done[0]),
    }
    tables: FileTables = _remembering(FileTables, files, ask, learns, {"drop"})
    return tables


def _remembering(kind: type, inside: Any, ask: Ask, learns: Facts, forgets: Set[str]) -> Any:
    """Return the same verbs, asked for through `ask`, which refuses while the database is known to be away."""
    memory = _Memory()

    def watched(name: str) -> Callable[..., Awaitable[Any]]:
        async def verb(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                answer = await ask(getattr(inside, name), *args, **kwargs)
            except OUTAGES:
                if (name, *args) not in memory.facts:
                    raise
                return memory.facts[name, *args]
            if name in forgets:
                memory.clear()
            if name in learns:
                memory.note(*learns[name](args, answer))
            return answer

        return verb

    verbs = [name for name in dir(kind) if name[0] != "_" and iscoroutinefunction(getattr(kind, name))]
    return type(f"Remembering{kind.__name__}", (kind,), {name: watched(name) for name in verbs})()


class _Memory:
    """Answers by their questions; those that were noted longest ago are forgotten first."""

    def __init__(self) -> None:
        self.facts: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._size = 0

    def clear(self) -> None:
        self.facts.clear()
        self._size = 0

    def note(self, question: tuple[Any, ...], answer: Any) -> None:
        self._size -= _size(self.facts.pop(question, None))
        if answer is not None:
            self.facts[question] = answer
            self._size += _size(answer)
        while self._size > MOST_BYTES:
            self._size -= _size(self.facts.popitem(last=False)[1])


def _size(answer: Any) -> int:
    return 0 if answer is None else ENTRY_OVERHEAD + (len(answer) if isinstance(answer, bytes) else 0)
