"""The lines of a journal: one line for each step, with a checksum, from the opening of a conversation on.

A line is eight hexadecimal digits (CRC-32 of the rest, continued from the line before), a space, and a JSON list of
records that belong together. So no line can be lost, doubled or moved without being noticed. The first record names
the format; in the first format, lines were not chained. A line that was cut off by a crash was never acknowledged; any
other damage is an error.
"""

import json
from binascii import crc32
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from threadkeep.conversation.entry import Body, Update
from threadkeep.conversation.message import Message
from threadkeep.errors import InvalidInput, StoreTooNew
from threadkeep.store.record import Record

FORMAT = 2


class Chain(NamedTuple):
    """Where the lines have come to: the checksum of the last one, and whether lines are chained by now."""

    crc: int = 0
    begun: bool = False


START = Chain()


class DamagedError(Exception):
    """A line that is complete but not as it was written, and where it begins."""

    def __init__(self, start: int, reason: str) -> None:
        super().__init__(reason)
        self.start = start


def encode(records: Sequence[Record], chain: Chain = START) -> bytes:
    """Return the line for records that are kept together."""
    payload = json.dumps([_dump(record) for record in records], ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %b\n" % (crc32(payload, chain.crc), payload)


def _dump(record: Record) -> dict[str, Any]:
    fields = record.model_dump(mode="json", exclude={"bodies"}, exclude_defaults=True)
    if record.opening is not None:
        fields = {"format": FORMAT, **fields}
    if record.bodies:
        fields["bodies"] = [_dump_body(body) for body in record.bodies]
    return fields


def _dump_body(body: Body) -> dict[str, Any]:
    """Return a body as JSON; of a message, which has many fields, only what is there."""
    if isinstance(body, Update):
        return {**body.model_dump(mode="json", exclude_unset=True), "kind": body.kind}
    fields = body.model_dump(mode="json")
    if isinstance(body, Message):
        return {name: value for name, value in fields.items() if value not in (None, "", [])}
    return fields


def decode(data: bytes, chain: Chain = START) -> tuple[list[Record], int, Chain]:
    """Return the records in these lines, where the part begins that a crash cut off (the end if nothing was), and where
    the chain has come to."""
    records: list[Record] = []
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1
        line = data[start:end]
        # What a crash leaves has no end, or pages that were never written; a complete line of text was acknowledged.
        if not end or (end == len(data) and b"\0" in line):
            break
        chain = _follow(line, start, chain)
        fields = _fields(line, start)
        if fields and fields[0].get("format", 0) > 1:
            chain = chain._replace(begun=True)
        records += _records(fields, start)
        start = end
    return records, start, chain


def _follow(line: bytes, start: int, chain: Chain) -> Chain:
    """Return the chain with one more line; refuse one that does not continue it."""
    payload = line[9:-1]
    if line[:9] == b"%08x " % (crc := crc32(payload, chain.crc)):
        return Chain(crc, chain.begun or start > 0 or chain.crc != 0)
    if chain.begun or line[:9] != b"%08x " % (crc := crc32(payload)):
        raise DamagedError(start, "its checksum does not fit")
    return Chain(crc)


def _fields(line: bytes, start: int) -> list[dict[str, Any]]:
    try:
        found = json.loads(line[9:-1])
    except ValueError as error:
        raise DamagedError(start, str(error)) from error
    if not isinstance(found, list) or not all(isinstance(fields, dict) for fields in found):
        raise DamagedError(start, "it is no list of records")
    return found


def _records(found: list[dict[str, Any]], start: int) -> list[Record]:
    try:
        return [_record(fields) for fields in found]
    except (ValueError, TypeError, AttributeError, ValidationError, InvalidInput) as error:
        raise DamagedError(start, str(error)) from error


def _record(fields: dict[str, Any]) -> Record:
    if fields.pop("format", FORMAT) > FORMAT:
        raise StoreTooNew
    return Record.model_validate(fields)
