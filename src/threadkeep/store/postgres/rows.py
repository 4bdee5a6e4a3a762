"""Rows of the database as values, and values as arguments of its functions."""

from datetime import datetime
from typing import Any, NamedTuple, Protocol

from threadkeep import errors
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.entry import Entry, Status
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Jump, Tree
from threadkeep.conversation.turn import Turn, TurnState
from threadkeep.errors import StaleHead, StaleVersion, ThreadkeepError
from threadkeep.store.codec import Packer, Row, decode, decode_id
from threadkeep.store.postgres.jsonb import dump_text, load, load_text, restore

_CODES = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ThreadkeepError) and kind not in (StaleHead, StaleVersion)
}


class Columns(Protocol):
    """A row by the names of its columns."""

    def __getitem__(self, name: str, /) -> Any:
        """Return one column."""


class Place(NamedTuple):
    """Where a conversation is looked for: the keys of tenant and owner, and its id."""

    tenant: int
    owner: int
    id: bytes


def number(seq: int) -> int:
    """Return a number that the database can take; one that can be no entry becomes -1, which is none either."""
    return seq if 0 <= seq <= MAX_SEQ else -1


def optional(seq: int | None) -> int | None:
    """Return a number that the database can take, if there is one."""
    return None if seq is None else number(seq)


def refusal(code: str, detail: int | None = None) -> ThreadkeepError:
    """Return the error behind the code with which a function refused."""
    if code == StaleHead.code:
        return StaleHead(detail or None)
    if code == StaleVersion.code:
        return StaleVersion(detail or 0)
    return _CODES[code]()


class Translator:
    """Turns rows into values and bodies into rows. Not safe for use by two threads at once, like its packer."""

    def __init__(self) -> None:
        self._packer = Packer()

    def packed(self, row: Row) -> tuple[bytes | None, str | None]:
        """Return content and parts of a body as the database keeps them."""
        return self._packer.pack(row.content), dump_text(row.parts)

    def row(self, line: Columns) -> Row:
        """Return the columns of a body."""
        content = self._packer.unpack(line["content"])
        return Row(line["kind"], line["id"], line["tokens"], content, load_text(line["parts"]))

    def entry(self, conversation: str, line: Columns) -> Entry:
        """Return an entry of a conversation."""
        return Entry.trusted(
            conversation=conversation,
            seq=line["seq"],
            parent=line["parent"] or None,
            turn=line["turn"],
            created_at=line["created_at"],
            body=decode(self.row(line)),
        )


def to_conversation(scope: Scope, row: Columns, *, is_listed: bool = False) -> Conversation:
    """Return a conversation as it is now, or as a list shows it."""
    return Conversation.model_construct(
        scope=scope,
        id=decode_id(row["id"]),
        assistant=row["assistant"],
        title=_text(row["title"]),
        system=None if is_listed else _text(row["system"]),
        model=_text(row["model"]),
        metadata={} if is_listed or not row["metadata"] else load(row["metadata"]),
        status=Status(row["status"]),
        archived=row["archived"],
        version=row["version"],
        head=row["head"] or None,
        entries=row["last"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _text(text: str | None) -> str | None:
    return None if text is None else restore(text)


def to_tree(head: int, newest: int, jumps: list[int] | None) -> Tree:
    """Return a tree from four numbers for each jump."""
    fours = zip(*[iter(jumps or ())] * 4, strict=True)
    return Tree.model_construct(
        jumps=tuple(Jump.model_construct(first=a, parent=b, left=c, beside=d) for a, b, c, d in fours),
        newest=newest,
        head=head,
    )


def to_turn(scope: Scope, conversation: str, row: Columns) -> Turn:
    """Return an open turn."""
    until: datetime | None = row["until"]
    return Turn.model_construct(
        scope=scope,
        conversation=conversation,
        number=row["number"],
        state=TurnState(row["state"]),
        owner=_text(row["owner"]),
        fence=row["fence"],
        taken=row["taken"],
        until=until,
    )
