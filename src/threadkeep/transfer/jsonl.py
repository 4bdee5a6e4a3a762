"""Our own export as JSON Lines: each conversation's header, its entries and a line that seals them; then the total.

Every line is one JSON object with one key that says what it is. The seal is the SHA-256 of the lines before it, from
the header on, so a conversation that was cut off or changed is noticed before anything of it is stored.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import IO, Any, NamedTuple

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.export import entry_json
from threadkeep.conversation.parts import Attachment
from threadkeep.errors import ImportDamaged, ImportTooLarge, InvalidInput, TooDeep, UnknownFormat
from threadkeep.store.file_tables import attached_files, attached_parts
from threadkeep.transfer.documents import WIDE, Bounds, Readable, check_values, values_at_most
from threadkeep.transfer.files import FileLine, Opened, PortableFile
from threadkeep.transfer.portable import COST, Header, ImportProblem, LogCheck, Portable, Spool, to_entry, validated

FORMAT, VERSION = "threadkeep.export", 1
BEGINNING = f'{{"format":"{FORMAT}","version":{VERSION}}}\n'
_ENTRY = b'{"entry":'

NameFiles = Callable[[Iterable[Attachment]], AsyncIterator[str]]


class JsonlWriter:
    """Writes conversations as lines, one after the other."""

    def __init__(self) -> None:
        self.conversations = 0
        self.entries = 0

    async def conversation(
        self, header: Header, log: AsyncIterator[Sequence[Entry]], name_files: NameFiles | None = None
    ) -> AsyncIterator[str]:
        """Yield the lines of one conversation, those of a page of its log together. `name_files` yields lines for the
        files that it uses: they are not sealed, because they hold digests themselves."""
        seal, files = sha256(), dict[str, Attachment]()
        line = f'{{"conversation":{header.to_json()}}}\n'
        seal.update(line.encode())
        yield line
        async for page in log:
            lines = "".join([f'{{"entry":{entry_json(entry)}}}\n' for entry in page])
            seal.update(lines.encode())
            yield lines
            files |= {
                part.file: part for entry in page for part in attached_parts(entry.body) if part.file not in files
            }
        if name_files is not None:
            async for line in name_files(files.values()):
                yield line
        self.conversations += 1
        self.entries += header.entries
        yield f'{{"end":{{"entries":{header.entries},"sha256":"{seal.hexdigest()}"}}}}\n'

    def total(self) -> str:
        """Return the last line."""
        return f'{{"total":{{"conversations":{self.conversations},"entries":{self.entries}}}}}\n'


class Written(NamedTuple):
    """What an export that was cut off has written: its first and its last whole conversation, how much, and how far."""

    newest: Header
    oldest: Header
    conversations: int
    entries: int
    end: int

    def holds(self, conversation: Conversation) -> bool:
        """Whether a conversation is in it as it is now. The newest come first; those of one time are in order."""
        if conversation.updated_at > self.newest.updated_at:
            return False
        at, last = conversation.updated_at, self.oldest
        place = (conversation.scope.user, conversation.id)
        return at > last.updated_at or (
            at == last.updated_at and place <= (last.user or conversation.scope.user, last.id)
        )


def written(file: IO[bytes]) -> Written | None:
    """Return what is whole at the beginning of a file that was cut off."""
    found: Written | None = None
    for item in JsonlReader(file, "file").read():
        if isinstance(item, ImportProblem):
            break
        before = found or Written(item.header, item.header, 0, 0, 0)
        found = Written(
            before.newest, item.header, before.conversations + 1, before.entries + item.header.entries, file.tell()
        )
    return found


class JsonlReader:
    """Reads an export line by line. What is wrong with one conversation is told, and the next one has its turn."""

    def __init__(self, file: Readable, name: str, opened: Opened = lambda sha256: None, bounds: Bounds = WIDE) -> None:
        self._file = file
        self._name = name
        self._opened = opened
        self._bounds = bounds
        self._used: set[str] = set()
        self._files: list[PortableFile] = []
        self._line = 0
        self._header: Header | None = None
        self._begun = 0
        self._check = LogCheck()
        self._spool = Spool("")
        self._seal = sha256()
        self._whole = {"conversations": 0, "entries": 0}
        self._broken = 0

    def read(self) -> Iterator[Portable | ImportProblem]:
        """Yield every conversation that is whole, and what is wrong with the others."""
        is_ended = False
        while True:
            try:
                raw = self._next()
            except InvalidInput as error:
                yield self._give_up(error)
                return  # what cannot be read now cannot be read the next time either
            if raw is None:
                break
            try:
                is_ended = False
                if self._header is not None and (entry := _entry(self._header.id, raw)) is not None:
                    self._add(entry, raw)
                    continue
                kind, value = _line(raw)
                if kind == "total":
                    is_ended = True
                    self._total(value)
                elif (found := self._take(kind, value, raw)) is not None:
                    yield found
            except InvalidInput as error:
                yield self._give_up(error)
        if self._header is not None:
            yield self._give_up(ImportDamaged("The file ends in the middle of a conversation."))
        elif not is_ended:
            yield self._problem(ImportDamaged("The file was cut off: its last line is missing."))

    def _next(self) -> bytes | None:
        raw = self._file.readline(self._bounds.element + 1)
        self._line += 1
        if len(raw) > self._bounds.element:
            raise ImportTooLarge("A line is longer than any that we write.")
        if values_at_most(raw) > self._bounds.values:
            check_values(raw, self._bounds.values)
        return raw or None

    def _take(self, kind: str, value: Any, raw: bytes) -> Portable | None:
        match kind:
            case "format":
                _check_version(value)
            case "conversation":
                if self._header is not None:
                    self._broken += 1
                self._begin(validated(Header, value), raw)
            case "entry" if self._header is not None:
                self._add(to_entry(self._header.id, value), raw)
            case "file" if self._header is not None:
                line = validated(FileLine, value)
                if line.id in self._used:
                    self._used.remove(line.id)
                    self._files.append(PortableFile(line, self._opened))
            case "end" if self._header is not None:
                return self._end(self._header, value)
        return None

    def _begin(self, header: Header, raw: bytes) -> None:
        self._header, self._begun = header, self._line
        self._check, self._spool, self._seal = LogCheck(), Spool(header.id), sha256(raw)
        self._used, self._files = set(), []

    def _add(self, entry: Entry, raw: bytes) -> None:
        self._check.add(entry)
        self._spool.add(entry, len(raw) + COST * values_at_most(raw))
        self._used.update(attached_files(entry.body))
        self._seal.update(raw)

    def _end(self, header: Header, value: Any) -> Portable:
        if not isinstance(value, dict) or value.get("sha256") != self._seal.hexdigest():
            raise ImportDamaged("The conversation was changed or is not complete: its seal does not fit.")
        self._check.finish(header)
        self._header = None
        self._whole["conversations"] += 1
        self._whole["entries"] += header.entries
        place = f"{self._name}, line {self._begun}"
        return Portable(header, self._spool, self._check.open_turns, place, tuple(self._files))

    def _total(self, value: Any) -> None:
        if self._header is None and not self._broken and value != self._whole:
            raise ImportDamaged("Conversations are missing: the total does not fit.")

    def _give_up(self, error: InvalidInput) -> ImportProblem:
        """Drop the conversation that is being read, and tell why."""
        problem = self._problem(error)
        self._header = None
        self._broken += 1
        return problem

    def _problem(self, error: InvalidInput) -> ImportProblem:
        return ImportProblem.of(f"{self._name}, line {self._line}", error)


def _entry(conversation: str, raw: bytes) -> Entry | None:
    """Return the entry of a line as we write it, without a detour over objects of Python; none if it is anything else,
    or wrong in some way."""
    if raw.startswith(_ENTRY) and raw.endswith(b"}\n"):
        with suppress(InvalidInput):
            return to_entry(conversation, raw[len(_ENTRY) : -2])
    return None


def _line(raw: bytes) -> tuple[str, Any]:
    """Return what a line is and what it says; a line that says nothing we know is passed over."""
    if not raw.endswith(b"\n"):
        raise ImportDamaged("The last line was cut off.")
    try:
        found = json.loads(raw)
    except RecursionError:
        raise TooDeep from None
    except ValueError:
        raise ImportDamaged("This is no line of JSON.") from None
    if not isinstance(found, dict) or not found:
        raise ImportDamaged("A line of an export is a JSON object.")
    if "format" in found:
        return "format", found
    kind = next(iter(found))
    return kind, found[kind]


def _check_version(found: Any) -> None:
    if found.get("format") != FORMAT:
        raise UnknownFormat
    if found.get("version") != VERSION:
        raise UnknownFormat(f"This release reads exports of version {VERSION}; this one has another.")
