"""How an entry's body becomes a row, the same for SQLite and PostgreSQL, and back; moments as whole numbers.

A row has a small number for kind, role and status, the id of a message, its tokens, the content as packed bytes and
everything else (`parts`) as JSON. Packing is zstd with a dictionary trained on chat text, so that it pays for a short
message too; the first byte of packed content names the dictionary, and a dictionary is never changed once released.
"""

import json
from binascii import hexlify
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from zstandard import ZstdCompressionDict, ZstdCompressor, ZstdDecompressor, ZstdError

from threadkeep.conversation.entry import Body, Entry, Kept, Summary
from threadkeep.conversation.facts import LARGE, ConversationFacts, ListedFacts
from threadkeep.conversation.message import Message, MessageStatus, Role, Usage
from threadkeep.conversation.parts import stored_part
from threadkeep.errors import InvalidInput, StoreCorrupt
from threadkeep.text.words import INDEXED_CHARACTERS, searchable

_ROLES = tuple(Role)
_STATUSES = _, _INTERRUPTED = (MessageStatus.COMPLETE, MessageStatus.INTERRUPTED)
STATE, SUMMARY, APPROVAL, UPDATE, TURN, HEAD, FEEDBACK, KEPT = range(8, 16)
"""Kinds from 0 to 7 are messages: two for each role, complete and interrupted. Kinds above STATE are remarks."""

_RAW, _NEWEST = 0, 1
_LEVEL = 3
_BODY: TypeAdapter[Body] = TypeAdapter(Body)


def _dictionary(number: int) -> ZstdCompressionDict:
    return ZstdCompressionDict(files("threadkeep.store").joinpath("dictionaries", f"{number}.zdict").read_bytes())


def kinds_of(role: Role) -> tuple[int, int]:
    """Return the kinds of messages with this role."""
    first = _ROLES.index(role) * 2
    return first, first + 1


def role_of(kind: int) -> Role:
    """Return the role of messages of this kind."""
    return _ROLES[kind // 2]


class Packer:
    """Packs and unpacks bytes. Not safe for use by two threads at once: each thread has its own."""

    def __init__(self) -> None:
        newest = _dictionary(_NEWEST)
        newest.precompute_compress(level=_LEVEL)
        self._pack = ZstdCompressor(dict_data=newest, level=_LEVEL, write_dict_id=False, write_checksum=False)
        self._unpack: dict[int, Callable[[bytes], bytes]] = {
            _RAW: bytes,
            _NEWEST: ZstdDecompressor(dict_data=newest).decompress,
        }

    def pack(self, text: str | None) -> bytes | None:
        """Return the text as packed bytes; nothing for an empty text."""
        if not text:
            return None
        raw = text.encode()
        packed = self._pack.compress(raw)
        return b"\x01" + packed if len(packed) < len(raw) else b"\x00" + raw

    def unpack(self, packed: bytes | None) -> str:
        if packed is None:
            return ""
        try:
            return self._unpack[packed[0]](packed[1:]).decode()
        except LookupError:
            number = packed[0] if packed else None
            raise StoreCorrupt(f"Content was packed with dictionary {number}, which this release lacks.") from None
        except (ZstdError, UnicodeDecodeError) as error:
            raise StoreCorrupt(f"Packed content is damaged: {error}.") from error

    def unpack_all(self, packed: Iterable[bytes | None]) -> list[str]:
        """Return what `unpack` returns for each; most were packed with the newest dictionary."""
        newest = self._unpack[_NEWEST]
        try:
            return [newest(each[1:]).decode() if each and each[0] == _NEWEST else self.unpack(each) for each in packed]
        except (ZstdError, UnicodeDecodeError) as error:
            raise StoreCorrupt(f"Packed content is damaged: {error}.") from error


class Row(NamedTuple):
    """A body as columns: all of it but its place in the log."""

    kind: int
    id: bytes | None
    tokens: int | None
    content: str
    parts: str | None

    @property
    def size(self) -> int:
        """Bytes of text before packing."""
        return _size(self.content) + _size(self.parts or "")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def encode(body: Body) -> Row:
    match body:
        case Message():
            kind = _ROLES.index(body.role) * 2 + (body.status is _INTERRUPTED)
            return Row(kind, encode_id(body.id), body.tokens, body.content, _message_parts(body))
        case Summary():
            return Row(SUMMARY, None, body.tokens, body.content, None)
        case Kept():
            return Row(KEPT, None, None, body.content, _dump({"of": body.of}))
        case _:
            return Row(_KINDS[body.kind], None, None, "", _other_parts(body))


_BARE: dict[str, Any] = {
    "parts": (),
    "blocks": (),
    "tool_calls": (),
    "tool_result": None,
    "tool_trace": (),
    "usage": None,
    "model": None,
    "started_at": None,
}
"""What a message of plain text has in place of parts."""
_parts_of, _NO_PARTS = itemgetter(*_BARE), tuple(_BARE.values())


def _message_parts(message: Message) -> str | None:
    # Most messages are plain text: that is seen here without looking at fields one by one.
    fields = message.__dict__
    if _parts_of(fields) == _NO_PARTS:
        return None
    present = {name for name, nothing in _BARE.items() if fields[name] != nothing}
    return _dump(message.model_dump(mode="json", include=present))


def _other_parts(body: Body) -> str | None:
    present = {
        name
        for name, field in type(body).model_fields.items()
        if getattr(body, name) != field.get_default(call_default_factory=True)
    }
    return _dump(body.model_dump(mode="json", include=present)) if present else None


def _dump(parts: dict[str, Any]) -> str:
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


_NAMES = {
    STATE: "state",
    SUMMARY: "summary",
    APPROVAL: "approval",
    UPDATE: "update",
    TURN: "turn",
    HEAD: "head",
    FEEDBACK: "feedback",
    KEPT: "kept",
}
_KINDS = {name: kind for kind, name in _NAMES.items()}


def decode(row: Row) -> Body:
    """Return the body that these columns were made from; `StoreCorrupt` if they cannot have been made from one."""
    try:
        return _decode(row)
    except (ValueError, LookupError, TypeError, InvalidInput) as error:
        raise StoreCorrupt(f"An entry is damaged: {type(error).__name__}.") from error


def _decode(row: Row) -> Body:
    parts = json.loads(row.parts) if row.parts else {}
    if row.kind >= STATE:
        if row.kind == SUMMARY:
            parts = {"content": row.content, "tokens": row.tokens}
        if row.kind == KEPT:
            return Kept.trusted(kind="kept", of=parts["of"], content=row.content)
        return _BODY.validate_python(parts | {"kind": _NAMES[row.kind]})
    # What we have written ourselves in the usual shape needs no second check; everything else goes through the models.
    known = _known_parts(parts) if parts else _BARE
    bare = known or _BARE
    message = Message.trusted(  # in the order of the fields, so that it is written as every other message
        kind="message",
        id=decode_id(row.id or b""),
        role=_ROLES[row.kind // 2],
        content=row.content,
        parts=bare["parts"],
        blocks=bare["blocks"],
        tool_calls=bare["tool_calls"],
        tool_result=bare["tool_result"],
        tool_trace=bare["tool_trace"],
        usage=bare["usage"],
        tokens=row.tokens,
        status=_STATUSES[row.kind % 2],
        model=bare["model"],
        started_at=bare["started_at"],
    )
    return message if known else Message.model_validate(message.__dict__ | parts)


def encode_facts(facts: ConversationFacts) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return facts as two documents: what lists show, and what may be large. What is as in every new conversation
    stands in neither, so that a field that a later release adds needs no migration."""
    fields = facts.model_dump(mode="json", include=set(ConversationFacts.model_fields), exclude_defaults=True)
    large = {name: fields.pop(name) for name in LARGE & fields.keys()}
    return fields, large


_USUAL = ConversationFacts().__dict__
_PLAIN_FACTS = {name for name, field in ListedFacts.model_fields.items() if field.annotation in (bool, str | None)}


def decode_facts(listed: Mapping[str, Any], large: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a conversation that these documents hold. Most hold plain values only, as we wrote them."""
    if not large and listed.keys() <= _PLAIN_FACTS:
        return {**_USUAL, "metadata": {}, **listed}
    return ConversationFacts.model_validate({**listed, **large}).__dict__


def found_text(row: Row) -> str:
    """Return what can be found of a row: nothing but messages, most of which are plain text and need not be built."""
    if row.kind >= STATE:
        return ""
    return searchable(decode(row._replace(id=bytes(16)))) if row.parts else row.content[:INDEXED_CHARACTERS]


_PLAIN: list[dict[str, Any]] = [
    {**Message(role=Role.USER).__dict__, "role": role, "status": status} for role in _ROLES for status in _STATUSES
]
"""The fields of a message of plain text, by kind."""


def decode_all(rows: Iterable[tuple[int, bytes | None, int | None, str, str | None]]) -> list[Body]:
    """Return the bodies behind rows, the same as `decode`. Those of plain text, as most are, are made in one go."""
    bodies: list[Body | None] = []
    texts: list[dict[str, Any]] = []
    names: list[bytes] = []
    plain = _PLAIN
    for kind, id, tokens, content, parts in rows:
        if parts is None and kind < STATE and id is not None:
            fields = plain[kind].copy()
            fields["content"] = content
            fields["tokens"] = tokens
            texts.append(fields)
            names.append(id)
            bodies.append(None)
        else:
            bodies.append(decode(Row(kind, id, tokens, content, parts)))
    for fields, name in zip(texts, _decode_ids(names), strict=True):
        fields["id"] = name
    made = iter(Message.adopt_all(texts))
    return [next(made) if body is None else body for body in bodies]


def decode_entries(conversation: str, rows: Iterable[tuple[int, int, int | None, datetime, Body]]) -> list[Entry]:
    """Return the entries of a conversation from their seq, parent, turn and time and their bodies."""
    return Entry.adopt_all(
        [
            {
                "conversation": conversation,
                "seq": seq,
                "parent": parent or None,
                "turn": turn,
                "created_at": at,
                "body": body,
            }
            for seq, parent, turn, at, body in rows
        ]
    )


def _known_parts(parts: dict[str, Any]) -> dict[str, Any] | None:
    """Return the parts of a message as values; None if there are blocks, or anything that is not as we write it."""
    found = dict(_BARE)
    for name, value in parts.items():
        if name == "parts":
            stored = [stored_part(item) for item in value if type(item) is dict]
            if len(stored) != len(value) or any(part is None for part in stored):
                return None
            found[name] = tuple(stored)
            continue
        match name, value:
            case "tool_trace", [*items] if all(type(item) is dict for item in items):
                found[name] = tuple(items)
            case "usage", {"input_tokens": int(), "output_tokens": int(), "cached_tokens": int(), **rest} if not rest:
                found[name] = Usage.trusted(**value, cost=None)
            case "usage", {"cost": {}}:
                found[name] = Usage.model_validate(value)
            case "model", str():
                found[name] = value
            case "started_at", str():
                found[name] = datetime.fromisoformat(value)
            case _:
                return None
    return found


_GROUPS = Struct("8s4s4s4s12s").unpack
_DIGITS = [place for place in range(36) if place not in (8, 13, 18, 23)]
"""Where the digits of a UUID stand in its text."""
_MANY = 32
"""From how many ids on it is faster to write them digit by digit."""


def encode_id(text: str) -> bytes:
    """Return an id in 16 bytes if it is a UUID as we write them, else its text after one or two zero bytes."""
    if len(text) == 36 and text[8:24:5] == "----":
        digits = text.replace("-", "")
        try:
            raw = bytes.fromhex(digits)
        except ValueError:
            raw = b""
        if len(raw) == 16 and raw.hex() == digits:
            return raw
    raw = b"\x00" + text.encode()
    return raw if len(raw) != 16 else b"\x00" + raw


def _decode_ids(ids: Sequence[bytes]) -> list[str]:
    """Return what `decode_id` returns for each, in half of its time if there are many and all are UUIDs."""
    if len(ids) < _MANY or {*map(len, ids)} != {16}:
        return [decode_id(id) for id in ids]
    digits, text = hexlify(b"".join(ids)), bytearray(b"-") * (36 * len(ids))
    for at, place in enumerate(_DIGITS):
        text[place::36] = digits[at::32]
    whole = text.decode()
    return [whole[at : at + 36] for at in range(0, len(whole), 36)]


def decode_id(raw: bytes) -> str:
    if len(raw) != 16:
        return raw.lstrip(b"\x00").decode()
    return b"-".join(_GROUPS(hexlify(raw))).decode()


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def moment(number: int) -> datetime:
    return EPOCH + timedelta(0, 0, number)
