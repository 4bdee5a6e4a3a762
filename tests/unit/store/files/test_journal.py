"""Lines of a journal: what is written is read back, what a crash cut off is told from damage."""

import random
from binascii import crc32
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from threadkeep.conversation.blocks import Narrative
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Approval, Summary, Update
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import StoreTooNew
from threadkeep.store.files import journal
from threadkeep.store.record import Chunk, KeyUse, Opening, OpenTurn, Record

NOW = datetime(2026, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)
OPENING = Opening(
    tenant="t", user="u", id="c", mark="m", new=NewConversation(title="\x00 é", metadata={"a": [None, 1.5, ""]})
)
FULL = Message(
    role=Role.ASSISTANT,
    content="line\nline\u2028 日本語 \x00",
    blocks=(Narrative(text="t"),),
    tool_calls=(ToolCall(id="1", name="n", args={"none": None, "empty": "", "list": []}),),
    tool_trace=({"x": None},),
    usage=Usage(input_tokens=1),
    tokens=0,
    status=MessageStatus.INTERRUPTED,
    model="m",
    started_at=NOW,
)
RECORDS = [
    Record(at=NOW, opening=OPENING, key=KeyUse(name="aa", digest="bb")),
    Record(at=NOW, bodies=(Message(role=Role.USER),), parent=0, bytes=3, view="d"),
    Record(at=NOW, bodies=(FULL, Message(role=Role.TOOL, tool_result=ToolResult(tool_call_id="1"))), turn=3),
    Record(at=NOW, bodies=(StateChange(set={"a": None}, unset=("b",)), Summary(content=""), Update(archived=False))),
    Record(at=NOW, bodies=(Approval(tool_call_id="", approved=False),), head=0),
    Record(at=NOW, bodies=(TurnChange(state=TurnState.QUEUED, message=FULL, parent=0),)),
    Record(at=NOW, open_turn=OpenTurn(number=1, state=TurnState.RUNNING, owner="o", fence=2, until=NOW)),
    Record(at=NOW, chunk=Chunk(turn=1, message="m", text="text")),
]


def _chained(*groups: list[Record]) -> bytes:
    """Return lines that continue each other."""
    chain, data = journal.START, b""
    for records in groups:
        data += (line := journal.encode(records, chain))
        _, _, chain = journal.decode(line, chain)
    return data


@pytest.mark.parametrize("number", range(len(RECORDS)))
def test_every_kind_of_record_is_read_as_it_was_written(number: int) -> None:
    line = journal.encode([RECORDS[number]])
    assert line.count(b"\n") == 1
    assert journal.decode(line)[:2] == ([RECORDS[number]], len(line))


def test_records_of_one_line_and_of_many_come_in_order() -> None:
    data = _chained(RECORDS[:3], RECORDS[3:])
    assert journal.decode(data)[:2] == (RECORDS, len(data))
    assert journal.decode(b"") == ([], 0, journal.START)


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [*rows[:3], *rows[4:]],
        lambda rows: [*rows[:3], rows[4], rows[3], *rows[5:]],
        lambda rows: [*rows[:4], *rows[3:]],
        lambda rows: [*rows[:7], rows[7], rows[7]],
        lambda rows: rows[1:],
        lambda rows: [*rows[1:], rows[0]],
    ],
)
def test_a_line_that_is_lost_moved_or_doubled_is_damage(change: Callable[[list[bytes]], list[bytes]]) -> None:
    rows = _chained(*([record] for record in RECORDS)).splitlines(keepends=True)
    with pytest.raises(journal.DamagedError):
        journal.decode(b"".join(change(rows)))


def test_any_flipped_bit_is_damage() -> None:
    data = _chained(*([record] for record in RECORDS))
    chance = random.Random(5)
    for bit in chance.sample(range(len(data) * 8), 400):
        flipped = data[: bit // 8] + bytes([data[bit // 8] ^ (1 << bit % 8)]) + data[bit // 8 + 1 :]
        try:
            records, end, _ = journal.decode(flipped)
        except (journal.DamagedError, StoreTooNew):
            continue
        # The end of the last line: what is behind the others is set aside, not thrown away.
        assert (records, end < len(data)) == (RECORDS[:-1], True)


def test_lines_of_the_first_format_are_read_and_chained_from_the_next_one_on() -> None:
    old = b"".join(_unchained([record]) for record in RECORDS[:4])
    records, end, chain = journal.decode(old)
    assert (records, end, chain.begun) == (RECORDS[:4], len(old), False)
    new = journal.encode(RECORDS[4:5], chain)
    records, _, chain = journal.decode(old + new)
    assert (records, chain.begun) == (RECORDS[:5], True)
    with pytest.raises(journal.DamagedError):
        journal.decode(old + new + _unchained(RECORDS[5:6]))


def _unchained(records: list[Record]) -> bytes:
    payload = journal.encode(records)[9:-1].replace(b'"format":2', b'"format":1')
    return b"%08x %b\n" % (crc32(payload), payload)


def test_wherever_a_crash_cuts_the_last_line_off_the_lines_before_it_are_read() -> None:
    whole, last = _chained(RECORDS[:1], RECORDS[1:2]).splitlines(keepends=True)
    for cut in range(len(last)):
        assert journal.decode(whole + last[:cut])[:2] == (RECORDS[:1], len(whole))


def test_pages_that_were_never_written_are_a_crash_too() -> None:
    whole, last = _chained(RECORDS[:1], RECORDS[1:2]).splitlines(keepends=True)
    torn = last[:5] + b"\0" * (len(last) - 10) + last[-5:]
    assert journal.decode(whole + torn)[:2] == (RECORDS[:1], len(whole))


@pytest.mark.parametrize("place", [0, 8, 9, 20, -2])
def test_a_changed_byte_in_a_complete_line_is_damage(place: int) -> None:
    first, last = journal.encode(RECORDS[:1]), bytearray(journal.encode(RECORDS[1:2]))
    last[place] ^= 1
    with pytest.raises(journal.DamagedError) as caught:
        journal.decode(first + bytes(last))
    assert caught.value.start == len(first)


@pytest.mark.parametrize("payload", [b"1", b"[1]", b'[{"at":1,"unknown":2}]', b"not json", b'[{"at":"never"}]'])
def test_a_line_that_was_written_by_no_release_of_ours_is_damage(payload: bytes) -> None:
    line = b"%08x %b\n" % (crc32(payload), payload)
    with pytest.raises(journal.DamagedError):
        journal.decode(line)


def test_a_newer_format_is_refused_as_such() -> None:
    payload = b'[{"format":4,"something":"new"}]'
    with pytest.raises(StoreTooNew):
        journal.decode(b"%08x %b\n" % (crc32(payload), payload))
