"""Running tools: what must not run does not, and a result that is too large is kept as its beginning."""

from tests.unit.turn.begun import begun
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.store.base import MAX_BYTES
from threadkeep.tools.decorator import tool
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.decision import RunTools
from threadkeep.turn.steps.run_tools import MOST_TRACED, SMALL, UNKNOWN, run_tools, traced_calls

ran: list[str] = []


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    ran.append(to)
    return f"paid {to}"


@tool(repeatable=True)
def look(at: str) -> str:
    """Look at something."""
    ran.append(at)
    return "x" * (2 * MAX_BYTES) if at == "everything" else f"saw {at}"


def call(id: str, name: str, **args: str) -> ToolCall:
    return ToolCall(id=id, name=name, args=args)


async def results(*calls: ToolCall, doubtful: bool = False, refused: dict[str, str] | None = None) -> ActiveTurn:
    """Run these calls as a turn does that has stored them."""
    ran.clear()
    active = await begun(None, pay, look)
    await active.append(Message(role=Role.ASSISTANT, tool_calls=calls))
    await run_tools(active, RunTools(calls=calls, doubtful=doubtful, refused=refused or {}, flaws={}))
    return active


def contents(active: ActiveTurn) -> dict[str, str]:
    messages = [entry.body for entry in active.entries if isinstance(entry.body, Message)]
    return {each.tool_result.tool_call_id: each.content for each in messages if each.tool_result is not None}


async def test_what_a_person_refused_does_not_run() -> None:
    calls = (call("1", "pay", to="Eve"), call("2", "pay", to="Bob"))
    active = await results(*calls, refused={"1": "never"})
    assert contents(active) == {"1": "refused: a person did not allow this call: never", "2": "paid Bob"}
    assert ran == ["Bob"]


async def test_what_a_dead_owner_may_have_run_is_run_again_only_if_it_is_repeatable() -> None:
    active = await results(call("1", "pay", to="Bob"), call("2", "look", at="Bob"), doubtful=True)
    assert contents(active) == {"1": UNKNOWN, "2": "saw Bob"}
    assert ran == ["Bob"]


async def test_a_result_that_is_too_large_is_kept_as_its_beginning_and_says_so() -> None:
    active = await results(call("1", "look", at="everything"))
    message = active.entries[-1].body
    assert isinstance(message, Message)
    assert message.tool_result is not None
    assert len(message.content) < 2 * SMALL
    assert "too large" in (message.tool_result.error or "")


async def test_the_trace_of_an_answer_tells_of_a_limited_number_of_calls() -> None:
    active = await results(*(call(f"{number}", "look", at=f"{number}") for number in range(MOST_TRACED + 10)))
    traced = traced_calls(active.entries)
    assert len(traced) == MOST_TRACED
    assert {item["outcome"] for item in traced} == {"ok"}
