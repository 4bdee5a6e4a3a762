"""The codec: every body comes back from its row as it was, packed or not, whatever is in it."""

from datetime import UTC, datetime
from json import dumps
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.blocks import Block, Chart, Citation, Narrative, RankedList, SplitCompare, Table
from threadkeep.conversation.entry import Approval, Body, Feedback, HeadChoice, Kept, Summary, Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Attachment, CitationPart, Data, Part, Reasoning
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Failure, TurnChange, TurnState
from threadkeep.errors import StoreCorrupt
from threadkeep.store.codec import Packer, Row, decode, decode_all, decode_id, encode, encode_id, microseconds, moment

TRICKY = ["", "\x00", "\u2028\u2029\ufeff", "日本語", "🙂👩\u200d👧", "\\u0000", '"\\', "\r\n", "\U0010ffff", "e\u0301"]
text = st.one_of(st.sampled_from(TRICKY), st.text(max_size=30))
some = text.filter(bool)
ids = st.one_of(st.builds(new_id), st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}", fullmatch=True))
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(text, json, max_size=3)
counts = st.integers(0, 10_000)
moments = st.datetimes(timezones=st.just(UTC))
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(Narrative, text=text),
    st.builds(RankedList, rows=st.lists(objects, max_size=2)),
    st.builds(SplitCompare, leftTitle=text, rightTitle=text, left=json, right=json),
    st.builds(Table, columns=st.lists(text, max_size=2), rows=st.lists(st.lists(json, max_size=2), max_size=2)),
    st.builds(Chart, chart=text, series=st.lists(objects, max_size=2)),
    st.builds(Citation, source=text),
    objects.map(lambda more: Block.model_validate({**more, "type": "from_the_future"})),
    objects.map(lambda more: Narrative.model_validate({**more, "type": "narrative", "text": "x"})),
)
calls = st.builds(ToolCall, id=some.map(lambda t: t[:255]), name=some.map(lambda t: t[:64]), args=objects)
parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(
        Attachment,
        type=st.sampled_from(["image", "audio", "file"]),
        file=ids,
        name=st.sampled_from(["", "x.png", "日本語.pdf"]),
        media_type=st.just("image/png"),
        size=st.none() | counts,
    ),
    st.builds(Reasoning, text=text, model=st.none() | some, payload=st.none() | objects, duration=st.none() | counts),
    st.builds(CitationPart, source=text, title=st.none() | some),
    st.builds(Data, data=objects),
    objects.map(lambda more: Part.model_validate({**more, "type": "from_the_future", "at": 0})),
)
usages = st.builds(Usage, input_tokens=counts, output_tokens=counts, cached_tokens=counts)


def _message(role: Role, **fields: Any) -> Message:
    if role is not Role.ASSISTANT:
        fields.pop("tool_calls", None)
        fields["parts"] = tuple(part for part in fields["parts"] if not isinstance(part, Reasoning))
    if role is Role.TOOL:
        fields["tool_result"] = ToolResult(tool_call_id="call", duration_ms=3, error=fields["content"] or None)
    return Message(role=role, **fields)


messages = st.builds(
    _message,
    st.sampled_from(Role),
    id=ids,
    content=text,
    parts=st.lists(parts, max_size=3).map(tuple),
    blocks=st.lists(blocks, max_size=3).map(tuple),
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    tool_trace=st.lists(objects, max_size=2).map(tuple),
    usage=st.none() | usages,
    tokens=st.none() | counts,
    status=st.sampled_from(MessageStatus),
    model=st.none() | text,
    started_at=st.none() | moments,
)
bodies: st.SearchStrategy[Body] = st.one_of(
    messages,
    st.builds(Message, id=ids, role=st.just(Role.USER), content=text),
    st.builds(
        StateChange,
        set=objects,
        unset=st.lists(text, max_size=2).map(tuple),
        whole=st.booleans(),
        depth=st.integers(0, 40),
    ),
    st.builds(Summary, content=text, tokens=st.none() | counts),
    st.builds(Approval, tool_call_id=text, approved=st.booleans(), reason=st.none() | text),
    st.builds(
        Update,
        title=st.none() | text,
        metadata=st.none() | objects,
        status=st.none() | st.sampled_from(Status),
        archived=st.none() | st.booleans(),
        model=st.none() | text,
    ),
    st.builds(
        TurnChange,
        state=st.sampled_from(TurnState),
        message=st.none() | messages,
        usage=st.none() | usages,
        failure=st.none() | st.builds(Failure, code=text, detail=text),
        detail=st.none() | text,
    ),
    st.just(HeadChoice()),
    st.builds(Feedback, rating=st.sampled_from(["up", "down", None]), comment=st.none() | text),
    st.builds(Kept, of=some, content=text),
)


def _fields(body: Body) -> dict[str, str]:
    """Return every field as JSON, in which the order of keys shows."""
    return {name: dumps(value) for name, value in body.model_dump(mode="json").items()}


@given(bodies)
def test_every_body_comes_back_from_its_row(body: Body) -> None:
    back = decode(encode(body))
    assert back == body
    assert type(back) is type(body)
    assert _fields(back) == _fields(body)


@given(messages)
def test_a_row_counts_the_bytes_of_its_text(body: Message) -> None:
    row = encode(body)
    assert row.content == body.content
    assert row.size == len(row.content.encode()) + len((row.parts or "").encode())
    assert row.size >= len(body.content.encode())


def test_a_plain_message_is_its_content_and_nothing_else() -> None:
    row = encode(Message(id="m", role=Role.USER, content="hello"))
    assert (row.content, row.parts, row.size) == ("hello", None, 5)


@pytest.mark.parametrize("status", list(MessageStatus))
@pytest.mark.parametrize("role", [Role.SYSTEM, Role.USER, Role.ASSISTANT])
def test_the_fast_way_reads_the_same_plain_message(role: Role, status: MessageStatus) -> None:
    message = Message(role=role, content="hello", tokens=2, status=status)
    row = encode(message)
    (found,) = decode_all([row])
    assert found == decode(row) == message
    assert found.model_dump_json() == message.model_dump_json()
    assert found.model_copy(update={"content": "other"}).content == "other"


@given(st.lists(bodies, max_size=8))
def test_bodies_decoded_together_are_the_same_as_one_by_one(some: list[Body]) -> None:
    rows = [encode(body) for body in some]
    assert decode_all(rows) == [decode(row) for row in rows] == some


@pytest.mark.parametrize("named", ["", "chosen-by-a-client"])
def test_ids_come_back_where_many_bodies_are_decoded_together(named: str) -> None:
    some: list[Body] = [Message(role=Role.USER, content=f"{number}") for number in range(100)]
    some[70] = Message(id=named or new_id(), role=Role.USER, content="x" * 500)
    some[80] = Summary(content="short")
    rows, packer = [encode(body) for body in some], Packer()
    contents = packer.unpack_all([packer.pack(row.content) for row in rows])
    packed = (row._replace(content=content) for row, content in zip(rows, contents, strict=True))
    assert decode_all(packed) == some


def test_what_is_damaged_among_many_is_refused() -> None:
    packer = Packer()
    with pytest.raises(StoreCorrupt):
        packer.unpack_all([packer.pack("well" * 99), b"\x01damaged"])
    with pytest.raises(StoreCorrupt):
        packer.unpack_all([packer.pack("well" * 99), b"\x07newer"])


@given(moments)
def test_a_moment_comes_back_from_its_number(at: datetime) -> None:
    assert moment(microseconds(at)) == at


@given(st.one_of(text, st.text(), st.builds(lambda t, n: t * n, st.text(max_size=5), st.integers(0, 5_000))))
def test_text_comes_back_from_its_packing(content: str) -> None:
    packer = Packer()
    packed = packer.pack(content)
    assert packer.unpack(packed) == content
    assert packed is None or len(packed) <= len(content.encode()) + 1


def test_chat_text_is_smaller_packed_also_when_it_is_short() -> None:
    question = "Could you please explain how I can use the configuration file to change the default settings?"
    packed = Packer().pack(question)
    assert packed is not None
    assert len(packed) < 0.8 * len(question)


def test_packing_is_readable_by_another_packer() -> None:
    content = "the same dictionary everywhere " * 10
    assert Packer().unpack(Packer().pack(content)) == content


def test_a_dictionary_of_a_newer_release_is_named_in_the_error() -> None:
    with pytest.raises(StoreCorrupt, match="dictionary 9"):
        Packer().unpack(b"\x09anything")


@pytest.mark.parametrize("damaged", [b"\x01", b"\x01not zstd", b"\x00\xff\xfe", b"\x01\x28\xb5\x2f\xfd\x00"])
def test_damaged_packing_is_reported_as_corrupt(damaged: bytes) -> None:
    with pytest.raises(StoreCorrupt):
        Packer().unpack(damaged)


@pytest.mark.parametrize(
    "row",
    [
        Row(8, None, None, "", "{not json"),
        Row(10, None, None, "", "{}"),
        Row(99, None, None, "", None),
        Row(2, b"\x00m", None, "x", '{"blocks":[{"text":"no type"}]}'),
        Row(2, b"\x00\xff", None, "x", None),
    ],
    ids=["no JSON", "fields missing", "unknown kind", "bad block", "bad id"],
)
def test_a_damaged_row_is_reported_as_corrupt(row: Row) -> None:
    with pytest.raises(StoreCorrupt):
        decode(row)


@given(ids)
def test_an_id_comes_back_and_no_two_ids_are_stored_alike(name: str) -> None:
    raw = encode_id(name)
    assert decode_id(raw) == name
    assert encode_id(name + "x") != raw


@pytest.mark.parametrize(
    "name",
    [
        "01890a5d-ac96-774b-bcce-b302099a8057",
        "01890A5D-AC96-774B-BCCE-B302099A8057",
        "0189-0a5dac96-774b-bcce-b302099a8057",
        "x" * 15,
        "x" * 14,
        "x" * 16,
        "01890a5dac96774bbcceb302099a8057----",
    ],
)
def test_ids_that_look_like_others_stay_apart(name: str) -> None:
    assert decode_id(encode_id(name)) == name


def test_a_uuid_takes_16_bytes() -> None:
    assert len(encode_id(new_id())) == 16


@pytest.mark.parametrize(
    "parts", ['{"parts":["x"]}', '{"parts":[{"type":"image"}]}', '{"parts":[{"type":["image"]}]}', '{"parts":{"a":1}}']
)
def test_a_damaged_part_is_told(parts: str) -> None:
    with pytest.raises(StoreCorrupt):
        decode(Row(2, encode_id("m"), None, "text", parts))
