"""Events on the wire: every event of the union, made of values of its real types, is written and read back."""

import json
from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from threadkeep.conversation.blocks import Block, Narrative, Table
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Entry, Feedback, HeadChoice, Update
from threadkeep.conversation.event_json import UNSEEN, to_json
from threadkeep.conversation.events import (
    Event,
    Happening,
    MessageCompleted,
    MessageStarted,
    TextDelta,
    ToolReturned,
    TurnEnded,
)
from threadkeep.conversation.facts import Status
from threadkeep.conversation.message import Cost, Message, MessageStatus, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Attachment, CitationPart, Data, Part, Reasoning
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Failure, TurnState
from threadkeep.server.sse import encode_event

CONVERSATION = "c-1"
TEXT, COUNT, IDS = st.text(max_size=8), st.integers(0, 2**31 - 1), st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)
NAME = st.text(min_size=1, max_size=8)
MOMENT = st.datetimes(timezones=st.just(UTC))
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=5
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
COST = st.builds(Cost, amount=st.decimals(0, 10**6, allow_nan=False, allow_infinity=False), currency=TEXT)
USAGE = st.builds(Usage, input_tokens=COUNT, output_tokens=COUNT, cached_tokens=COUNT, cost=st.none() | COST)
CALL = st.builds(ToolCall, id=NAME, name=NAME, args=OBJECT)
RESULT = st.builds(ToolResult, tool_call_id=NAME, duration_ms=st.none() | COUNT, error=st.none() | TEXT)
BLOCK = st.one_of(
    st.builds(Narrative, text=TEXT),
    st.builds(Table, columns=st.lists(TEXT, max_size=2), rows=st.lists(st.lists(JSON, max_size=2), max_size=2)),
    st.builds(Block, type=st.just("of another kind"), more=JSON),
)
PART = st.one_of(
    st.builds(Attachment, type=st.sampled_from(["image", "audio", "file"]), file=IDS, size=COUNT, extract=TEXT),
    st.builds(Reasoning, text=TEXT, duration=st.floats(0, 100), payload=OBJECT),
    st.builds(CitationPart, source=TEXT, title=TEXT),
    st.builds(Data, data=OBJECT),
    st.builds(Part, type=st.just("of another kind"), more=JSON),
)


def _several(what: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(what, max_size=2).map(tuple)


MESSAGE = st.builds(
    Message,
    role=st.just(Role.ASSISTANT),
    content=TEXT,
    parts=_several(PART),
    blocks=_several(BLOCK),
    tool_calls=_several(CALL),
    tool_trace=_several(OBJECT),
    usage=st.none() | USAGE,
    tokens=st.none() | COUNT,
    status=st.sampled_from(MessageStatus),
    model=st.none() | TEXT,
    started_at=st.none() | MOMENT,
)
UPDATE = st.builds(
    Update,
    title=st.none() | TEXT,
    metadata=st.none() | OBJECT,
    status=st.none() | st.sampled_from(Status),
    archived=st.none() | st.booleans(),
)
REAL: dict[type, st.SearchStrategy[Any]] = {
    datetime: MOMENT,
    NoneType: st.none(),
    bool: st.booleans(),
    str: TEXT,
    int: COUNT,
    float: st.floats(0, 10**6),
    Usage: USAGE,
    ToolCall: CALL,
    ToolResult: RESULT,
    Block: BLOCK,
    Part: PART,
    Message: MESSAGE,
    Update: UPDATE,
    StateChange: st.builds(StateChange, set=OBJECT, unset=_several(TEXT), whole=st.booleans()),
    Approval: st.builds(Approval, tool_call_id=TEXT, approved=st.booleans(), reason=st.none() | TEXT),
    Feedback: st.builds(Feedback, rating=st.sampled_from(["up", "down", None]), comment=st.none() | TEXT),
    Failure: st.builds(Failure, code=TEXT, detail=TEXT),
    TurnState: st.sampled_from(TurnState),
}


def _of(hint: Any, name: str = "") -> st.SearchStrategy[Any]:
    """Return values of the type of a field; a type that is in no event yet is to be added to `REAL`."""
    if (name, hint) == ("message", str):
        return IDS
    if get_origin(hint) is UnionType:
        return st.one_of(*map(_of, get_args(hint)))
    if get_origin(hint) is tuple:
        return _several(_of(get_args(hint)[0]))
    return REAL[hint]


HAPPENINGS = get_args(Happening)
EVENTS = {
    kind: st.builds(kind, **{name: _of(hint, name) for name, hint in get_type_hints(kind).items()})
    for kind in HAPPENINGS
}


@pytest.mark.parametrize("kind", HAPPENINGS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=25)
def test_every_event_can_be_written_and_read_back(kind: type, data: st.DataObject) -> None:
    what = data.draw(EVENTS[kind])
    cursor = Cursor(seq=data.draw(COUNT), message=what.message if isinstance(what, TextDelta) else None)
    lines = encode_event(Event(what, cursor), CONVERSATION).decode().removesuffix("\n\n").split("\n")
    sent = dict(line.split(": ", 1) for line in lines)
    name, said = sent["event"], json.loads(sent["data"])
    position = said.pop("position", None)
    assert said.pop("type") == name
    assert (name, said) == to_json(what)
    assert position == (cursor.position if "id" in sent else None)
    assert "id" not in sent or Cursor.decode(sent["id"], CONVERSATION) == cursor
    match what:
        case TurnEnded(usage=Usage() as usage):
            assert Usage.model_validate(said["usage"]) == usage
        case MessageCompleted(message=message):
            parts = [part.model_dump(exclude=UNSEEN) for part in message.parts]
            assert Message.model_validate(said["message"]) == Message.model_validate(dict(message) | {"parts": parts})


@given(data=st.data())
@pytest.mark.parametrize(
    ("kind", "place"), [(MessageStarted, "started_at"), (MessageCompleted, "created_at"), (ToolReturned, "created_at")]
)
def test_moments_are_written_in_one_way(kind: type, place: str, data: st.DataObject) -> None:
    what = data.draw(EVENTS[kind])
    moment = getattr(what, place)
    written = to_json(what)[1][place]
    assert (written[-1], datetime.fromisoformat(written)) == ("Z", moment)
    assert (
        written
        == Entry(conversation=CONVERSATION, seq=1, parent=None, created_at=moment, body=HeadChoice()).model_dump(
            mode="json"
        )["created_at"]
    )
