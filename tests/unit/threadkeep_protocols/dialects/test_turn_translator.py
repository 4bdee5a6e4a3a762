"""Translating one turn: what is said of its events, and that nothing is said of others."""

from datetime import UTC, datetime
from typing import Any

from threadkeep.conversation.blocks import Narrative
from threadkeep.conversation.events import (
    BlockAdded,
    Event,
    MessageCompleted,
    MessageStarted,
    StateChanged,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnQueued,
    TurnStarted,
)
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Failure, TurnState
from threadkeep_protocols.dialects.chat_stream import TurnTranslator

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _completed(id: str, text: str, turn: int | None, role: Role = Role.ASSISTANT, **more: Any) -> Event:
    message = Message(id=id, role=role, content=text, **more)
    return Event(MessageCompleted(message, 1, None, turn, NOW))


def _delta(id: str, text: str) -> Event:
    return Event(TextDelta(id, text))


def _ended(turn: int, state: TurnState, failure: Failure | None = None) -> Event:
    return Event(TurnEnded(turn, 9, state, None, failure, None))


def _told(translator: TurnTranslator, *events: Event) -> list[tuple[str, dict[str, Any]]]:
    return [told for event in events if translator.is_about(event) for told in translator.tell(event)]


def test_a_finished_answer_is_one_delta_and_one_that_was_told_is_not_repeated() -> None:
    assert _told(TurnTranslator(1), _completed("a", "Hi.", 1)) == [("delta", {"text": "Hi."})]
    told = _told(TurnTranslator(1), _delta("a", "H"), _delta("a", "i."), _completed("a", "Hi.", 1))
    assert [data["text"] for _, data in told] == ["H", "i."]


def test_who_comes_back_behind_the_last_character_is_told_nothing_twice() -> None:
    assert _told(TurnTranslator(None, "a"), _completed("a", "Hi.", 1)) == []


def test_an_answer_of_blocks_alone_is_told_as_text() -> None:
    shown = _completed("a", "", 1, blocks=(Narrative(text="Banks gain."),))
    assert _told(TurnTranslator(1), shown) == [("delta", {"text": "Banks gain."})]


def test_other_turns_and_what_belongs_to_none_are_left_out() -> None:
    events = [
        Event(MessageStarted("x", 1, NOW)),
        _delta("x", "old"),
        _completed("x", "old", 1),
        Event(ToolCalled("x", ToolCall(id="1", name="f"))),
        Event(ToolReturned(ToolResult(tool_call_id="1"), "", 4, 3, 1, NOW)),
        _ended(1, TurnState.FAILED, Failure(code="model_error", detail="no")),
        _completed("y", "brought along", None),
        _completed("q", "question", 5, Role.USER),
        Event(StateChanged(StateChange(), 7, None)),
        Event(TurnQueued(9, 9, None)),
    ]
    assert _told(TurnTranslator(5), *events) == []


def test_without_a_number_it_is_the_first_turn_that_something_is_said_of() -> None:
    translator = TurnTranslator(None, "a")
    events = [
        _delta("a", "rest"),
        Event(BlockAdded("a", Narrative(text="x"))),
        _delta("a", "."),
        _completed("a", "the rest.", 3),
    ]
    assert _told(translator, *events) == [("delta", {"text": "rest"}), ("delta", {"text": "."})]
    assert not translator.is_about(Event(TurnStarted(8, 8, None)))
    assert translator.is_about(_ended(3, TurnState.COMPLETED))
