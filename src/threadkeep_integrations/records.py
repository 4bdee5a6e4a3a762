"""What a framework gives as records of its own (events, lines of a transcript, requests) as messages, and back.

The messages are what people read, search and export; the records stand beside the first of them. What is too large for
one entry goes into several.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment, Part, Raw, Reasoning
from threadkeep_integrations.raw_items import plain, raw_items, raw_part

MOST = 120_000
"""A message and its records have at most so many characters together: an entry may hold a mebibyte."""
SHOWN = 8_000
"""Of a text that is longer than an entry so much is shown. The records have all of it."""
PIECES = " in pieces"
"""What the name of a form ends with where the records go on in the messages that follow."""


class Form(NamedTuple):
    """The form of one framework: its name, what records that belong together say (at least one message; its role is who
    speaks in them), and what a message of somebody else is as records.

    A form may tell `roles` of one record faster, and check it there; `packed` is less to keep beside a message, which
    `unpacked` makes whole again.
    """

    of: str
    said: Callable[[Sequence[Any]], Sequence[Message]]
    plainest: Callable[[Message], list[Any]]
    roles: Callable[[Any], Iterable[Role]] | None = None
    packed: Callable[[Message, list[Any]], list[Any]] = lambda message, records: records
    unpacked: Callable[[Message, list[Any]], list[Any]] = lambda message, kept: kept

    def messages(self, records: Sequence[Any]) -> list[Message]:
        """Return records that belong together as messages, of which the first has beside it what they are, unless that
        follows from it."""
        given = plain(list(records))
        first, *others = self.said(given)
        text = json.dumps(given, ensure_ascii=False)
        if len(text) + sum(len(each.content) for each in (first, *others)) > MOST:
            return self._in_pieces([first, *others], text)
        if not others and self.plainest(first) == given:
            return [first]
        return [_with(first, self.beside(first, given)), *map(self._following, others)]

    def beside(self, message: Message, records: list[Any]) -> Raw:
        """Return the part that keeps records beside a message."""
        return raw_part(self.of, self.packed(message, records), message.content)

    def records(self, messages: Iterable[Message]) -> list[Any]:
        """Return the records of messages that follow each other."""
        return [record for each in self.by_message(messages) for record in each]

    def by_message(self, messages: Iterable[Message]) -> Iterator[list[Any]]:
        """Yield the records of each message; those of a message that goes on in others come with the last of these."""
        said = list(messages)
        first, begun, count = None, list[str](), 0
        for at, message in enumerate(said):
            match self._piece(message):
                case None:
                    first, begun = None, []
                    yield self._of_one(message, self._behind(said, at))
                    continue
                case (0, count, text):
                    first, begun = message, [text]
                case (number, count, text) if first is not None and number == len(begun):
                    begun.append(text)
                case _:
                    first = None  # its beginning was left out
            is_whole = first is not None and len(begun) == count
            joined = "".join(begun) if is_whole else ""
            yield self._joined(first, joined, self._behind(said, at)) if first is not None and is_whole else []

    def begun(self, message: Message) -> list[Any]:
        """Return the records of a message, or only its first piece, so that they can be counted one by one."""
        piece = self._piece(message)
        if piece is None:
            return self._of_one(message, None)
        return [piece] if piece[0] == 0 else []

    def _piece(self, message: Message) -> tuple[int, int, str] | None:
        match raw_items(message, self.of + PIECES):
            case [int(at), int(count), str(text)]:
                return at, count, text
            case _:
                return None

    def _behind(self, said: Sequence[Message], at: int) -> Iterator[Role]:
        """Yield who speaks in the messages that go with the one at a place."""
        for message in islice(said, at + 1, None):
            if raw_items(message, self.of) != []:
                return
            yield message.role

    def _of_one(self, message: Message, behind: Iterator[Role] | None) -> list[Any]:
        kept = raw_items(message, self.of)
        return self.plainest(message) if kept is None else self._checked(message, self.unpacked(message, kept), behind)

    def _joined(self, first: Message, text: str, behind: Iterator[Role]) -> list[Any]:
        with suppress(ValueError):
            if isinstance(records := json.loads(text), list):
                return self._checked(first, records, behind)
        return self.plainest(first)

    def _checked(self, message: Message, records: list[Any], behind: Iterator[Role] | None) -> list[Any]:
        """Return records in which nobody speaks who does not speak in the message and those `behind` it (none: these
        are not known). Who may send a message may send parts: nobody speaks as somebody else by them, or breaks a
        session."""
        with suppress(AttributeError, LookupError, TypeError, ValueError):
            roles = [role for record in records for role in self._roles(record)]
            if not roles or (roles[0] is message.role and (behind is None or _is_spoken(roles, message.role, behind))):
                return records
        return self.plainest(message)

    def _roles(self, record: Any) -> Iterable[Role]:
        return self.roles(record) if self.roles else (each.role for each in self.said([record]))

    def _following(self, message: Message) -> Message:
        return _with(message, Raw(of=self.of, items=[]))

    def _in_pieces(self, said: Sequence[Message], text: str) -> list[Message]:
        pieces = [text[at : at + MOST] for at in range(0, len(text), MOST)]
        parts = [Raw(of=self.of + PIECES, items=[at, len(pieces), each]) for at, each in enumerate(pieces)]
        first, *others = map(_shortened, said)
        silent = [Message(role=Role.ASSISTANT, parts=(part,)) for part in parts[1:]]
        return [_with(first, parts[0]), *silent, *map(self._following, others)]


def _is_spoken(roles: Sequence[Role], speaker: Role, behind: Iterator[Role]) -> bool:
    """Whether roles follow each other as speakers do, each of whom may speak several times."""
    for role in roles:
        if role is not speaker and role not in behind:
            return False
        speaker = role
    return True


def text_with_files(content: str, parts: Sequence[Part]) -> str:
    """Return the text of a message in which its files are told in words."""
    told = [
        f"[attached {part.label}]" + (f"\n{part.extract}" if part.extract else "")
        for part in parts
        if isinstance(part, Attachment)
    ]
    return "\n\n".join([*([content] if content else []), *told])


def written_at(message: Message) -> datetime:
    """Return when a message was begun, as far as its id tells: in 1970 if it does not."""
    try:
        milliseconds = UUID(message.id).int >> 80
    except ValueError:
        milliseconds = 0
    return message.started_at or datetime.fromtimestamp(min(milliseconds, 2**42) / 1000, UTC)


def _with(message: Message, part: Raw) -> Message:
    return message.model_copy(update={"parts": (*message.parts, part)})


def _shortened(message: Message) -> Message:
    calls = tuple(
        call.model_copy(update={"args": {"…": _short(text)}})
        if len(text := json.dumps(call.args, ensure_ascii=False)) > SHOWN
        else call
        for call in message.tool_calls
    )
    thoughts = tuple(Reasoning(text=_short(part.text)) for part in message.parts if isinstance(part, Reasoning))
    return message.model_copy(update={"content": _short(message.content), "tool_calls": calls, "parts": thoughts})


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
