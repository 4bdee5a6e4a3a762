"""Events of AG-UI: whatever a client is told continues what was begun in the same run."""

from typing import Any

import pytest

from threadkeep.conversation.message import Message, Role, ToolCall, Usage
from threadkeep.conversation.state import State
from threadkeep.conversation.turn import Failure, TurnState
from threadkeep_protocols.ag_ui.events import EventWriter
from threadkeep_protocols.parts import (
    AnswerCall,
    AnswerEnded,
    AnswerReader,
    AnswerText,
    PartBegan,
    PartChanged,
    StateTold,
    StepBegan,
    StepEnded,
    TextGrew,
)

TEXT, THOUGHT = AnswerText("a-1", "a"), AnswerText("a-0", "a", is_reasoning=True)
CALL = AnswerCall("c", "a", ToolCall(id="c", name="look", args={"place": "hall"}))


def _writer(*, is_old: bool = False) -> EventWriter:
    return EventWriter("t", "r", is_old=is_old)


def _ended(end: AnswerEnded, *parts: AnswerCall) -> AnswerReader:
    reader = AnswerReader(4)
    reader._parts += parts
    reader.end = end
    return reader


def _types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"].removesuffix("_MESSAGE") for event in events]


def test_reasoning_then_text_then_a_call_are_each_begun_and_ended() -> None:
    writer, told = _writer(), list[dict[str, Any]]()
    for change in (
        StepBegan("a"),
        PartBegan(THOUGHT),
        TextGrew(THOUGHT, "Hm", 2),
        PartChanged(THOUGHT),
        TextGrew(TEXT, "So", 4),
        TextGrew(TEXT, "!", 5),
        PartChanged(TEXT),
        PartBegan(CALL),
        StepEnded(Message(id="a", role=Role.ASSISTANT)),
    ):
        told += writer.tell(change)
    assert _types(told) == [
        "STEP_STARTED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "STEP_FINISHED",
    ]
    assert {event["messageId"] for event in told if event["type"].startswith("TEXT")} == {"a"}


def test_what_is_open_is_ended_before_the_run() -> None:
    writer = _writer()
    writer.tell(StepBegan("a"))
    writer.tell(TextGrew(TEXT, "So", 2))
    told = writer.finish(_ended(AnswerEnded(TurnState.CANCELLED)))
    assert _types(told) == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]


def test_state_is_told_as_a_whole_first_and_then_as_patches_that_always_apply() -> None:
    writer, state = _writer(), State()
    assert writer.state(state) == []
    first = state.change({"step": 1, "a/b~c": 2})
    assert writer.tell(StateTold(first)) == [{"type": "STATE_SNAPSHOT", "snapshot": {"step": 1, "a/b~c": 2}}]
    second = state.after(first).change({"step": 2}, ["a/b~c", "never was"])
    assert writer.tell(StateTold(second)) == [
        {
            "type": "STATE_DELTA",
            "delta": [{"op": "remove", "path": "/a~1b~0c"}, {"op": "add", "path": "/step", "value": 2}],
        }
    ]
    whole = state.after(first).after(second).change({"step": 3}).model_copy(update={"whole": True})
    assert _types(writer.tell(StateTold(whole))) == ["STATE_SNAPSHOT"]


@pytest.mark.parametrize(
    ("end", "new", "old"),
    [
        (AnswerEnded(TurnState.COMPLETED), {"type": "success"}, {"type": "success"}),
        (AnswerEnded(TurnState.CANCELLED), {"type": "cancelled"}, None),
        (AnswerEnded(TurnState.INTERRUPTED), {"type": "cancelled"}, None),
        (
            AnswerEnded(TurnState.WAITING, calls=("c",), client_calls=("c",)),
            {"type": "success", "pendingToolCallIds": ["c"]},
            {"type": "success"},
        ),
    ],
)
def test_old_clients_are_told_of_no_outcome_that_they_fail_on(end: AnswerEnded, new: Any, old: Any) -> None:
    for is_old, outcome in ((False, new), (True, old)):
        (finished,) = _writer(is_old=is_old).finish(_ended(end, CALL))
        assert (finished["type"], finished.get("outcome")) == ("RUN_FINISHED", outcome)


def test_a_call_that_waits_for_a_person_is_an_interrupt_until_it_is_decided() -> None:
    waits = AnswerEnded(TurnState.WAITING, calls=("c",))
    (finished,) = _writer().finish(_ended(waits, CALL))
    (interrupt,) = finished["outcome"]["interrupts"]
    assert (interrupt["id"], interrupt["toolCallId"], interrupt["reason"]) == ("c", "c", "tool_call")
    decided = AnswerCall("c", "a", CALL.call, "approved")
    assert _writer().finish(_ended(waits, decided))[-1]["outcome"] == {"type": "success"}


def test_a_failure_ends_the_run_with_its_code_and_what_it_took() -> None:
    failed = AnswerEnded(TurnState.FAILED, Usage(input_tokens=3), Failure(code="model_refused", detail="No."))
    (error,) = _writer().finish(_ended(failed))
    assert (error["type"], error["code"], error["message"]) == ("RUN_ERROR", "model_refused", "No.")
    assert error["usage"][0]["inputTokens"] == 3
