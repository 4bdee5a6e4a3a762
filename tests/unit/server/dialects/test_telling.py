"""Telling one turn: what is said of its events, and that nothing is said of others."""

from typing import Any

from threadkeep.conversation.blocks import Narrative
from threadkeep.conversation.message import Message, Role
from threadkeep.server.dialects.telling import Telling
from threadkeep.turn.events import Event, show


def _completed(id: str, text: str, turn: int | None, role: Role = Role.ASSISTANT, **more: Any) -> Event:
    return Event("message.completed", {"message": show(Message(id=id, role=role, content=text, **more)), "turn": turn})


def _delta(id: str, text: str) -> Event:
    return Event("text.delta", {"message": id, "text": text})


def _told(telling: Telling, *events: Event) -> list[tuple[str, dict[str, Any]]]:
    return [told for event in events if telling.is_about(event) for told in telling.tell(event)]


def test_a_finished_answer_is_one_delta_and_one_that_was_told_is_not_repeated() -> None:
    assert _told(Telling(1), _completed("a", "Hi.", 1)) == [("delta", {"text": "Hi."})]
    told = _told(Telling(1), _delta("a", "H"), _delta("a", "i."), _completed("a", "Hi.", 1))
    assert [data["text"] for _, data in told] == ["H", "i."]


def test_who_comes_back_behind_the_last_character_is_told_nothing_twice() -> None:
    assert _told(Telling(None, "a"), _completed("a", "Hi.", 1)) == []


def test_an_answer_of_blocks_alone_is_told_as_text() -> None:
    shown = _completed("a", "", 1, blocks=(Narrative(text="Banks gain."),))
    assert _told(Telling(1), shown) == [("delta", {"text": "Banks gain."})]


def test_other_turns_and_what_belongs_to_none_are_left_out() -> None:
    events = [
        Event("message.started", {"message": "x", "turn": 1}),
        _delta("x", "old"),
        _completed("x", "old", 1),
        Event("tool.called", {"message": "x", "id": "1", "name": "f", "args": {}}),
        Event("tool.result", {"tool_call_id": "1", "content": "", "turn": 1}),
        Event("turn.failed", {"turn": 1, "error": "model_error: no"}),
        _completed("y", "brought along", None),
        _completed("q", "question", 5, Role.USER),
        Event("state.changed", {"set": {}, "seq": 7}),
        Event("conversation.updated", {"turn": 9, "queued": {}}),
    ]
    assert _told(Telling(5), *events) == []


def test_without_a_number_it_is_the_first_turn_that_something_is_said_of() -> None:
    telling = Telling(None, "a")
    events = [
        _delta("a", "rest"),
        Event("block.added", {"message": "a", "block": {}}),
        _delta("a", "."),
        _completed("a", "the rest.", 3),
    ]
    assert _told(telling, *events) == [("delta", {"text": "rest"}), ("delta", {"text": "."})]
    assert not telling.is_about(Event("turn.started", {"turn": 8}))
    assert telling.is_about(Event("turn.completed", {"turn": 3}))
