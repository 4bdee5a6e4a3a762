"""Exports: all of a conversation in one JSON document, and back; one that was tampered with is refused."""

import io
import json
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.blocks import Block, RankedList
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Approval, Body, Entry, HeadChoice, Summary, Update
from threadkeep.conversation.export import export_text
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Attachment, Part, Reasoning
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.share import Share
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.transfer.portable import ImportProblem, Portable
from threadkeep.transfer.sources import read_items

AT = datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
CALL = ToolCall(id="call-1", name="rank", args={"by": ["score", 1e-9, None, True, 2**60]})
BLOCKS = (RankedList(rows=[{"ticker": "AAPL", "score": 0.1}]), Block.model_validate({"type": "new", "x": {"y": []}}))
PARTS = (
    Reasoning(text="\u2028 hm", payload={"signature": "EqQB/+==", "z": 1, "a": []}, model="demo", duration=0.25),
    Attachment(type="image", file="f-1", name="猫.png", media_type="image/png", size=9, at=3),
    Part.model_validate({"type": "new", "z": {"y": []}, "a": 1e-9}),
)
ASSISTANT = Message(
    role=Role.ASSISTANT,
    content="\x00 \u2028 🙂 </script>",
    parts=PARTS,
    blocks=BLOCKS,
    tool_calls=(CALL,),
    tool_trace=({"kind": "context", "first": 1},),
    usage=Usage(input_tokens=1, output_tokens=2),
    tokens=7,
    model="demo",
    started_at=AT,
)
RESULT = Message(
    role=Role.TOOL, content="[]", tool_result=ToolResult(tool_call_id="call-1", duration_ms=12, error="late")
)
CUT = Message(role=Role.ASSISTANT, content="We", status=MessageStatus.INTERRUPTED)
ASKED = Message(role=Role.USER, content="Which?")
LOG: tuple[tuple[int | None, Body], ...] = (
    (None, ASKED),
    (1, TurnChange(state=TurnState.RUNNING)),
    (1, ASSISTANT),
    (3, Approval(tool_call_id="call-1", approved=True)),
    (3, RESULT),
    (5, StateChange(set={"step": "done"}, whole=True)),
    (6, Summary(content="They ranked.", tokens=3)),
    (1, CUT),
    (8, Update(title="Ranks")),
    (6, HeadChoice()),
    (None, TurnChange(state=TurnState.QUEUED, message=ASKED, parent=6)),
)


def _entries(log: Iterable[tuple[int | None, Body]] = LOG) -> tuple[Entry, ...]:
    return tuple(
        Entry(
            conversation="c",
            seq=seq,
            parent=parent,
            turn=seq if isinstance(body, TurnChange) and body.state is TurnState.QUEUED else 1,
            created_at=AT,
            body=body,
        )
        for seq, (parent, body) in enumerate(log, start=1)
    )


def _conversation(entries: tuple[Entry, ...], head: int | None = 6) -> Conversation:
    return Conversation(
        scope=LOCAL,
        id="c",
        title="Ranks",
        metadata={"of": [1, {"b": "ü"}]},
        version=1 + any(isinstance(entry.body, Update | HeadChoice | StateChange) for entry in entries),
        head=head,
        entries=len(entries),
        created_at=AT,
        updated_at=AT,
    )


async def _exported(entries: tuple[Entry, ...], head: int | None = 6) -> str:
    async def log() -> AsyncIterator[Entry]:
        for entry in entries:
            yield entry

    return "".join([piece async for piece in export_text(_conversation(entries, head), log(), AT)])


def _read(text: str | bytes) -> Portable | ImportProblem:
    """Return what an import makes of a document."""
    (found,) = read_items(io.BytesIO(text.encode() if isinstance(text, str) else text), "file")
    return found


def _entries_of(text: str) -> tuple[Entry, ...]:
    found = _read(text)
    assert isinstance(found, Portable), found
    return tuple(found.entries())


async def test_every_entry_of_every_branch_comes_back_as_it_was() -> None:
    text = await _exported(_entries())
    found = _read(text)
    assert isinstance(found, Portable), found
    assert tuple(found.entries()) == _entries()
    header = found.header.model_dump(exclude={"tenant", "user"})
    assert header == _conversation(_entries()).model_dump(exclude={"scope", "incomplete", "shares"})
    said = json.loads(text)
    assert (said["format"], said["version"]) == ("threadkeep.conversation", 1)


async def test_the_document_says_what_people_look_for_under_plain_names() -> None:
    entries = json.loads(await _exported(_entries()))["entries"]
    assert entries[2]["body"]["tool_calls"] == [{"id": "call-1", "name": "rank", "args": CALL.args}]
    assert entries[2]["body"]["blocks"][1] == {"type": "new", "x": {"y": []}}
    assert entries[4]["body"]["tool_result"] == {"tool_call_id": "call-1", "duration_ms": 12, "error": "late"}
    assert entries[5]["body"]["set"] == {"step": "done"}
    assert (entries[7]["parent"], entries[7]["body"]["status"]) == (1, "interrupted")


async def test_whose_it_was_is_not_told() -> None:
    assert set(json.loads(await _exported(()))["conversation"]) == set(Conversation.model_fields) - {
        "scope",
        "incomplete",
        "shares",
    }


async def test_an_empty_conversation_is_a_document_too() -> None:
    assert _entries_of(await _exported((), None)) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(), st.dictionaries(st.text(), JSON, max_size=3))
async def test_any_text_and_any_json_come_back(text: str, args: dict[str, Any]) -> None:
    call = ToolCall(id="1", name="f", args=args)
    said = Message(role=Role.ASSISTANT, content=text, tool_calls=(call,))
    entries = _entries([(None, said)])
    assert _entries_of(await _exported(entries, 1))[0].body == said


def _set(*place: str | int, to: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for step in place[:-1]:
            document = document[step]
        document[place[-1]] = to

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set("format", to="another"),
        _set("version", to=2),
        _set("entries", to=[]),
        _set("entries", 3, "seq", to=5),
        _set("entries", 0, "parent", to=1),
        _set("entries", 0, "parent", to=3),
        _set("entries", 7, "parent", to=2),
        _set("entries", 0, "turn", to=2),
        _set("entries", 0, "turn", to=0),
        _set("entries", 0, "body", "role", to="robot"),
        _set("entries", 0, "body", "kind", to="song"),
        _set("entries", 0, "body", "more", to="unknown"),
        _set("entries", 0, "created_at", to="yesterday"),
        _set("conversation", "head", to=2),
        _set("conversation", "head", to=99),
        _set("conversation", "id", to="../c"),
        _set("conversation", "scope", to={"tenant": "local", "user": "local"}),
    ],
)
async def test_a_document_that_was_tampered_with_is_refused(change: Callable[[Any], None]) -> None:
    document = json.loads(await _exported(_entries()))
    change(document)
    assert isinstance(_read(json.dumps(document)), ImportProblem)


async def test_half_a_character_is_read_as_a_question_mark() -> None:
    text = (await _exported(_entries())).replace("Which?", "Which \\ud800")
    message = _entries_of(text)[0].body
    assert isinstance(message, Message)
    assert message.content == "Which ?"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', b"\xff", "[" * 100_000, '{"format": null}'])
def test_what_is_no_export_is_refused(text: str | bytes) -> None:
    assert isinstance(_read(text), ImportProblem)


async def test_a_document_that_was_cut_off_is_refused() -> None:
    text = await _exported(_entries())
    for end in range(0, len(text) - 2, 97):
        assert isinstance(_read(text[:end]), ImportProblem), end


async def test_links_stay_where_they_were_made() -> None:
    share = Share(id="s", digest=b"secret hash", head=1, created_at=AT)
    update, last = Update(title="Trip", shares=(share,)), len(LOG) + 1
    text = await _exported((*_entries(), Entry(conversation="c", seq=last, parent=6, created_at=AT, body=update)))
    assert "shares" not in text
    assert json.loads(text)["entries"][-1]["body"]["title"] == "Trip"
