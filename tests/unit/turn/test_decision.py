"""What a turn does next, decided from its entries alone."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.entry import Approval, Body, Entry
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.decision import (
    CHANGED,
    MOST_TAKEN,
    Finish,
    Generate,
    Next,
    RunTools,
    Wait,
    decide,
    flaw_item,
    pending_calls,
    waiting_calls,
)


@tool(repeatable=True)
async def look() -> str:
    """Look."""
    return "seen"


@tool(needs_approval=True)
async def pay() -> str:
    """Pay."""
    return "paid"


TOOLS = Registry([look, pay])
RUNNING, WAITING = TurnChange(state=TurnState.RUNNING), TurnChange(state=TurnState.WAITING)
ASKED = Message(role=Role.USER, content="Question")
ANSWERED = Message(role=Role.ASSISTANT, content="Answer")
BROKEN = Message(role=Role.ASSISTANT, content="Ans", status=MessageStatus.INTERRUPTED)
ALLOWED = Approval(tool_call_id="call_1", approved=True)


def calls(*names: str) -> Message:
    """Return an answer that calls tools: call_1, call_2..."""
    wanted = tuple(ToolCall(id=f"call_{number}", name=name) for number, name in enumerate(names, start=1))
    return Message(role=Role.ASSISTANT, tool_calls=wanted)


def result(call: str) -> Message:
    """Return the result of a call."""
    return Message(role=Role.TOOL, content="done", tool_result=ToolResult(tool_call_id=call))


def entries(*bodies: Body) -> list[Entry]:
    """Return these bodies as the entries of a turn."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        Entry(conversation="c", seq=seq, parent=seq - 1 or None, turn=1, created_at=moment, body=body)
        for seq, body in enumerate(bodies, start=1)
    ]


def after(*bodies: Body, iterations: int = 3) -> Next:
    """Return what a turn does after its question, its start and these."""
    return decide(entries(ASKED, RUNNING, *bodies), TOOLS, iterations)


def test_a_question_is_put_to_the_model() -> None:
    assert after() == Generate()


def test_a_whole_answer_ends_the_turn() -> None:
    assert after(ANSWERED) == Finish(TurnState.COMPLETED)


def test_calls_without_results_are_run_and_those_with_results_are_not() -> None:
    asked = calls("look", "look")
    assert after(asked) == RunTools(asked.tool_calls)
    assert after(asked, result("call_1")) == RunTools(asked.tool_calls[1:])
    assert after(asked, result("call_2"), result("call_1")) == Generate()


def test_calls_of_an_owner_that_died_are_doubtful() -> None:
    asked = calls("look")
    assert after(asked, RUNNING) == RunTools(asked.tool_calls, doubtful=True)


def test_what_was_taken_up_before_the_calls_were_made_makes_them_not_doubtful() -> None:
    asked = calls("look")
    assert after(RUNNING, asked) == RunTools(asked.tool_calls)


def test_a_call_that_needs_a_person_waits_and_holds_the_others_back() -> None:
    asked = calls("pay", "look")
    assert after(asked) == Wait(asked.tool_calls[:1])
    assert after(asked, WAITING, ALLOWED, RUNNING) == RunTools(asked.tool_calls)


def test_a_refusal_carries_its_reason() -> None:
    asked = calls("pay")
    refused = Approval(tool_call_id="call_1", approved=False, reason="too much")
    assert after(asked, WAITING, refused, RUNNING) == RunTools(asked.tool_calls, refused={"call_1": "too much"})


def test_consent_holds_for_the_definition_that_was_shown_only() -> None:
    asked = calls("pay")
    waiting = WAITING.model_copy(update={"calls": ("call_1",), "definitions": (TOOLS.digest("pay"),)})
    assert after(asked, waiting, ALLOWED, RUNNING) == RunTools(asked.tool_calls)
    other = waiting.model_copy(update={"definitions": (TOOLS.digest("look"),)})
    assert after(asked, other, ALLOWED, RUNNING) == RunTools(asked.tool_calls, flaws={"call_1": CHANGED})
    assert after(asked, other, waiting, ALLOWED, RUNNING) == RunTools(asked.tool_calls)


def test_a_call_with_arguments_that_nobody_can_read_needs_no_person_and_carries_its_flaw() -> None:
    asked = calls("pay", "look").model_copy(update={"tool_trace": (flaw_item("call_1", "no JSON"),)})
    assert after(asked) == RunTools(asked.tool_calls, flaws={"call_1": "no JSON"})


def test_who_dies_after_a_person_has_allowed_a_call_leaves_it_doubtful() -> None:
    asked = calls("pay")
    assert after(asked, WAITING, ALLOWED, RUNNING, RUNNING) == RunTools(asked.tool_calls, doubtful=True)
    assert after(asked, WAITING, RUNNING, ALLOWED, RUNNING) == RunTools(asked.tool_calls, doubtful=True)


def test_who_dies_before_a_person_has_answered_leaves_nothing_doubtful() -> None:
    asked = calls("pay")
    assert after(asked, RUNNING) == Wait(asked.tool_calls)
    assert after(asked, RUNNING, WAITING, RUNNING, ALLOWED) == RunTools(asked.tool_calls)
    assert after(asked, WAITING, RUNNING, RUNNING, WAITING, RUNNING, ALLOWED) == RunTools(asked.tool_calls)


def test_an_approval_of_an_earlier_call_with_the_same_id_does_not_count() -> None:
    asked = calls("pay")
    assert after(asked, WAITING, ALLOWED, RUNNING, result("call_1"), asked) == Wait(asked.tool_calls)


def test_an_answer_that_broke_off_is_asked_for_again_twice() -> None:
    assert after(BROKEN) == Generate(cut_off=True)
    assert after(BROKEN, BROKEN) == Generate(cut_off=True)
    last = after(BROKEN, BROKEN, BROKEN)
    assert isinstance(last, Finish)
    assert last.state is TurnState.INTERRUPTED


def test_after_a_break_and_a_round_of_tools_the_model_is_not_told_of_the_break_again() -> None:
    assert after(BROKEN, calls("look"), result("call_1")) == Generate()


def test_at_the_limit_the_model_is_asked_once_more_without_tools() -> None:
    round_of_tools = (calls("look"), result("call_1"))
    assert after(*round_of_tools * 2) == Generate()
    assert after(*round_of_tools * 3) == Generate(last=True)
    assert after(*round_of_tools * 3, BROKEN) == Generate(last=True, cut_off=True)
    assert after(*round_of_tools * 3, ANSWERED) == Finish(TurnState.COMPLETED)


def given_up(step: Next) -> bool:
    """Whether the turn ends as interrupted, with a reason."""
    return isinstance(step, Finish) and step.state is TurnState.INTERRUPTED and bool(step.detail)


def said(text: str) -> Message:
    """Return what an owner that was lost had written."""
    return Message(role=Role.ASSISTANT, content=text, status=MessageStatus.INTERRUPTED)


def test_a_turn_that_is_taken_up_three_times_without_anything_new_is_given_up() -> None:
    assert after(RUNNING, RUNNING) == Generate()
    assert given_up(after(RUNNING, RUNNING, RUNNING))
    asked = calls("look")
    assert after(RUNNING, RUNNING, asked, RUNNING, RUNNING) == RunTools(asked.tool_calls, doubtful=True)
    assert given_up(after(asked, RUNNING, RUNNING, RUNNING))


def test_a_turn_that_comes_further_each_time_is_not_given_up() -> None:
    cuts: list[Body] = [body for number in range(MOST_TAKEN) for body in (RUNNING, said(f"piece {number}"))]
    assert after(*cuts) == Generate(cut_off=True)
    assert given_up(after(*cuts, RUNNING, said("one more")))


def test_the_same_words_or_the_same_calls_once_more_are_no_progress() -> None:
    again: list[Body] = [RUNNING, said("Let me think")]
    assert after(*again * 3) == Generate(cut_off=True)
    assert given_up(after(*again * 4))
    unknown: list[Body] = [calls("look"), RUNNING, result("call_1")]
    assert after(*unknown * 3, iterations=100) == Generate()
    assert given_up(after(*unknown * 4, iterations=100))


def test_waiting_for_a_person_many_times_is_no_reason_to_give_up() -> None:
    one_round: list[Body] = [calls("pay"), WAITING, RUNNING, ALLOWED, result("call_1")]
    assert after(*one_round * (MOST_TAKEN + 2), iterations=100) == Generate()


def test_calls_without_results_are_those_of_the_newest_answer() -> None:
    asked = calls("look", "pay")
    assert pending_calls(entries(ASKED)) == ()
    assert pending_calls(entries(ASKED, asked, result("call_2"))) == asked.tool_calls[:1]
    assert pending_calls(entries(ASKED, asked, ANSWERED)) == ()


def test_calls_that_wait_are_those_that_the_pause_has_named_and_nobody_has_decided() -> None:
    asked = calls("pay", "look", "pay")
    paused = TurnChange(state=TurnState.WAITING, calls=("call_1", "call_3"))
    assert waiting_calls(entries(ASKED, RUNNING, asked, paused)) == (asked.tool_calls[0], asked.tool_calls[2])
    assert waiting_calls(entries(ASKED, RUNNING, asked, paused, ALLOWED)) == asked.tool_calls[2:]
    assert waiting_calls(entries(ASKED, RUNNING, ALLOWED, asked, WAITING)) == asked.tool_calls, "release 0.1.0"
    assert waiting_calls(entries(ASKED, RUNNING)) == ()


STEPS = st.sampled_from(
    [RUNNING, WAITING, ANSWERED, BROKEN, ALLOWED, calls("look"), calls("pay", "look"), result("call_1")]
)


@given(st.lists(STEPS, max_size=12))
def test_every_log_leads_to_one_step_and_the_same_log_to_the_same_step(bodies: list[Body]) -> None:
    step = after(*bodies)
    assert step == after(*bodies)
    if isinstance(step, RunTools | Wait):
        assert step.calls
        pending = pending_calls(entries(ASKED, RUNNING, *bodies))
        assert all(call in pending for call in step.calls)


@given(st.lists(STEPS, max_size=8))
def test_whatever_happened_a_turn_whose_steps_succeed_comes_to_an_end(bodies: list[Body]) -> None:
    log: list[Body] = list(bodies)
    for _ in range(30):
        step = after(*log)
        match step:
            case Finish():
                return
            case Generate():
                log.append(ANSWERED if step.last else calls("look"))
            case RunTools():
                log += [result(call.id) for call in step.calls]
            case Wait():
                log += [WAITING, RUNNING, *(Approval(tool_call_id=call.id, approved=True) for call in step.calls)]
    raise AssertionError("the turn never ends")
