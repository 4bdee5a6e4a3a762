"""Parts of an answer: what one reader makes of events, each of them taken once."""

from datetime import UTC, datetime

from threadkeep.conversation.blocks import Narrative
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.events import Event, MessageStarted, TextDelta
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import CitationPart, Reasoning
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep_protocols.parts import AnswerCall, AnswerReader, PartBegan, StepBegan, TextGrew

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _entry(seq: int, body: Message) -> Entry:
    return Entry(conversation="c", seq=seq, parent=seq - 1, turn=1, created_at=NOW, body=body)


def test_reasoning_and_text_are_parts_in_their_order_with_ids_of_their_message() -> None:
    thoughts = (Reasoning(text="Hm.", at=0), CitationPart(source="a.md", at=2), Reasoning(text="So.", at=3))
    reader = AnswerReader(1)
    reader.take_entry(_entry(2, Message(id="m", role=Role.ASSISTANT, content="Yes, no.", parts=thoughts)))
    texts = [(part.id, getattr(part, "text", None)) for part in reader.parts]
    assert texts == [("m-0", "Hm."), ("m-1", "Yes"), ("m-2", "So."), ("m-3", ", no."), ("m-part-1", None)]


def test_text_that_was_taken_is_not_told_again() -> None:
    reader = AnswerReader(1)
    reader.take(Event(MessageStarted("m", 1, NOW), Cursor(seq=1, message="m")))
    reader.take(Event(TextDelta("m", "Hello"), Cursor(seq=1, message="m", offset=5)))
    again = reader.take(Event(TextDelta("m", "Hello, you"), Cursor(seq=1, message="m", offset=10)))
    assert [change.text for change in again if isinstance(change, TextGrew)] == [", you"]
    whole = Message(id="m", role=Role.ASSISTANT, content="Hello, you.")
    rest = reader.take_entry(_entry(2, whole))
    assert [change.text for change in rest if isinstance(change, TextGrew)] == ["."]
    assert reader.take_entry(_entry(2, whole)) == []


def test_a_call_that_the_client_runs_is_not_one_that_a_person_is_asked_about() -> None:
    reader = AnswerReader(1)
    calls = (ToolCall(id="c", name="locate"), ToolCall(id="d", name="remove"))
    reader.take_entry(_entry(2, Message(id="a", role=Role.ASSISTANT, tool_calls=calls)))
    waits = TurnChange(state=TurnState.WAITING, calls=("c", "d"), client_calls=("c",))
    reader.take_entry(Entry(conversation="c", seq=3, parent=2, turn=1, created_at=NOW, body=waits))
    assert [part.state for part in reader.parts if isinstance(part, AnswerCall)] == ["called", "asked"]
    assert reader.end is not None
    assert reader.end.client_calls == ("c",)
    given = Approval(tool_call_id="c", approved=True, result="Oslo")
    assert reader.take_entry(Entry(conversation="c", seq=4, parent=2, turn=1, created_at=NOW, body=given)) == []


def test_what_other_turns_say_changes_nothing() -> None:
    reader = AnswerReader(7)
    assert reader.take(Event(MessageStarted("m", 1, NOW), Cursor(seq=1, message="m"))) == []
    assert reader.take(Event(TextDelta("m", "Hello"), Cursor(seq=1, message="m", offset=5))) == []
    assert reader.parts == []


def test_only_the_last_change_of_an_event_has_its_position() -> None:
    reader, place = AnswerReader(1), Cursor(seq=1, message="m", offset=2)
    reader.take(Event(MessageStarted("m", 1, NOW), Cursor(seq=1, message="m")))
    changes = reader.take(Event(TextDelta("m", "Hi"), place))
    assert [change.position for change in changes] == [None, place.position]
    assert [type(change) for change in changes] == [PartBegan, TextGrew]


def test_blocks_that_an_answer_repeats_from_its_tools_are_shown_once() -> None:
    block, other = Narrative(text="once"), Narrative(text="two")
    reader = AnswerReader(1)
    call = ToolCall(id="c", name="look")
    reader.take_entry(_entry(2, Message(id="a", role=Role.ASSISTANT, tool_calls=(call,))))
    result = ToolResult(tool_call_id="c", error="refused")
    reader.take_entry(_entry(3, Message(id="t", role=Role.TOOL, content="no", tool_result=result, blocks=(block,))))
    said = Message(id="b", role=Role.ASSISTANT, content="Done", blocks=(block, other), usage=Usage(output_tokens=1))
    assert isinstance(reader.take_entry(_entry(4, said))[0], StepBegan)
    assert [part.id for part in reader.parts] == ["c", "t-block-0", "b-0", "b-block-0"]
    refused = reader.parts[0]
    assert isinstance(refused, AnswerCall)
    assert (refused.state, refused.content) == ("refused", "no")
    assert (reader.place, reader.usage, reader.model) == (4, Usage(output_tokens=1), None)
