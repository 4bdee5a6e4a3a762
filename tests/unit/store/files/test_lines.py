"""Lines of a journal: what is written is read back, what a crash cut off is told from damage."""

from binascii import crc32
from datetime import UTC, datetime

import pytest

from threadkeep.conversation.blocks import Narrative
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Approval, Summary, Update
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import StoreTooNew
from threadkeep.store.files import lines
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
    Record(at=NOW, open_turn=OpenTurn(number=1, state=TurnState.RUNNING, owner="o", fence=2, taken=1, until=NOW)),
    Record(at=NOW, chunk=Chunk(turn=1, message="m", text="text")),
]


@pytest.mark.parametrize("number", range(len(RECORDS)))
def test_every_kind_of_record_is_read_as_it_was_written(number: int) -> None:
    line = lines.encode([RECORDS[number]])
    assert line.count(b"\n") == 1
    assert lines.decode(line) == ([RECORDS[number]], len(line))


def test_records_of_one_line_and_of_many_come_in_order() -> None:
    data = lines.encode(RECORDS[:3]) + lines.encode(RECORDS[3:])
    assert lines.decode(data) == (RECORDS, len(data))
    assert lines.decode(b"") == ([], 0)


def test_wherever_a_crash_cuts_the_last_line_off_the_lines_before_it_are_read() -> None:
    whole, last = lines.encode(RECORDS[:1]), lines.encode(RECORDS[1:2])
    for cut in range(len(last)):
        assert lines.decode(whole + last[:cut]) == (RECORDS[:1], len(whole))


def test_pages_that_were_never_written_are_a_crash_too() -> None:
    whole, last = lines.encode(RECORDS[:1]), lines.encode(RECORDS[1:2])
    torn = last[:5] + b"\0" * (len(last) - 10) + last[-5:]
    assert lines.decode(whole + torn) == (RECORDS[:1], len(whole))


@pytest.mark.parametrize("place", [0, 8, 9, 20, -2])
def test_a_changed_byte_in_a_complete_line_is_damage(place: int) -> None:
    first, last = lines.encode(RECORDS[:1]), bytearray(lines.encode(RECORDS[1:2]))
    last[place] ^= 1
    with pytest.raises(lines.DamagedError) as caught:
        lines.decode(first + bytes(last))
    assert caught.value.start == len(first)


@pytest.mark.parametrize("payload", [b"1", b"[1]", b'[{"at":1,"unknown":2}]', b"not json", b'[{"at":"never"}]'])
def test_a_line_that_was_written_by_no_release_of_ours_is_damage(payload: bytes) -> None:
    line = b"%08x %b\n" % (crc32(payload), payload)
    with pytest.raises(lines.DamagedError):
        lines.decode(line)


def test_a_newer_format_is_refused_as_such() -> None:
    payload = b'[{"format":2,"something":"new"}]'
    with pytest.raises(StoreTooNew):
        lines.decode(b"%08x %b\n" % (crc32(payload), payload))
