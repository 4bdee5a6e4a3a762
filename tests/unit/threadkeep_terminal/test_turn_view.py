"""What the terminal shows of events and of messages of the past."""

import io
from datetime import UTC, datetime

import pytest

from threadkeep.conversation.blocks import Table
from threadkeep.conversation.entry import Update
from threadkeep.conversation.events import (
    BlockAdded,
    ConversationUpdated,
    Event,
    MessageCompleted,
    ReasoningDelta,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnQueued,
    TurnStarted,
)
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult
from threadkeep.conversation.turn import Failure, TurnState
from threadkeep_terminal.chat_terminal import ChatTerminal
from threadkeep_terminal.turn_view import TurnView

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Screen(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def view(screen: Screen) -> TurnView:
    return TurnView(ChatTerminal(io.StringIO(), screen, screen, {"NO_COLOR": "1"}))


def completed(message: Message) -> Event:
    return Event(MessageCompleted(message, 1, None, 1, NOW))


def called(name: str, **args: object) -> Event:
    return Event(ToolCalled("m", ToolCall(id="c", name=name, args=args)))


def returned(content: str, error: str | None = None, duration_ms: int | None = None) -> Event:
    result = ToolResult(tool_call_id="c", error=error, duration_ms=duration_ms)
    return Event(ToolReturned(result, content, 2, 1, 1, NOW))


def ended(state: TurnState, failure: Failure | None = None, detail: str | None = None) -> Event:
    return Event(TurnEnded(1, 3, state, None, failure, detail))


def test_text_that_was_shown_as_it_came_is_not_shown_again(view: TurnView, screen: Screen) -> None:
    answer = Message(role=Role.ASSISTANT, content="Hello there")
    for piece in ("Hello ", "there"):
        view.show(Event(TextDelta(answer.id, piece)))
    view.show(completed(answer))
    assert screen.getvalue() == "Hello there\n"


def test_what_a_model_thinks_is_dimmed_and_stands_on_lines_of_its_own(screen: Screen) -> None:
    for environment, shown in (
        ({"NO_COLOR": "1"}, "Hm, well.\nBlue.\n"),
        ({}, "\x1b[2mHm, \x1b[0m\x1b[2mwell.\x1b[0m\nBlue.\n"),
    ):
        screen.truncate(screen.seek(0))
        view = TurnView(ChatTerminal(io.StringIO(), screen, screen, {"TERM": "xterm", **environment}))
        for piece in ("Hm, ", "well."):
            view.show(Event(ReasoningDelta("m", piece)))
        view.show(Event(TextDelta("m", "Blue.")))
        view.show(completed(Message(id="m", role=Role.ASSISTANT, content="Blue.")))
        assert screen.getvalue() == shown


def test_what_a_model_thinks_is_left_out_where_nobody_looks() -> None:
    out = io.StringIO()
    TurnView(ChatTerminal(io.StringIO(), out, out, {})).show(Event(ReasoningDelta("m", "Hm.")))
    assert out.getvalue() == ""


def test_an_answer_that_is_told_whole_is_shown_whole(view: TurnView, screen: Screen) -> None:
    view.show(completed(Message(role=Role.ASSISTANT, content="Hello", status=MessageStatus.INTERRUPTED)))
    assert screen.getvalue() == "Hello\n(cut off here)\n"


def test_a_call_and_its_result_are_one_line_each(view: TurnView, screen: Screen) -> None:
    view.show(called("weather", city="Oslo", days=2))
    view.show(returned("Rain\nand more", duration_ms=12))
    assert screen.getvalue() == '  → weather(city="Oslo", days=2)\n  ← weather: Rain… (12 ms)\n'


def test_a_call_that_failed_says_so(view: TurnView, screen: Screen) -> None:
    view.show(returned("x", "no such city"))
    assert screen.getvalue() == "  ← tool: failed: no such city\n"


def test_blocks_are_drawn_once_with_the_answer(view: TurnView, screen: Screen) -> None:
    table = Table(columns=["city", "degrees"], rows=[["Oslo", 7]])
    answer = Message(role=Role.ASSISTANT, content="Cold.", blocks=(table,))
    view.show(Event(BlockAdded("m", table)))
    view.show(completed(answer))
    assert screen.getvalue() == "Cold.\n\n| city | degrees |\n| --- | --- |\n| Oslo | 7 |\n"


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (
            ended(TurnState.FAILED, Failure(code="model_refused", detail="no\nreally")),
            "threadkeep: The turn failed: model_refused: no really\n",
        ),
        (ended(TurnState.CANCELLED), "(cancelled; what was said is kept)\n"),
        (ended(TurnState.INTERRUPTED, detail="cut again"), "(interrupted; cut again)\n"),
        (ended(TurnState.COMPLETED, detail="an empty answer"), "(an empty answer)\n"),
        (ended(TurnState.COMPLETED), ""),
        (Event(TurnStarted(1, 2, None)), ""),
        (Event(TurnQueued(1, 2, None)), "(queued: another turn runs in this conversation)\n"),
        (Event(ConversationUpdated(Update(title="A title"), 4)), ""),
    ],
)
def test_how_a_turn_ended_is_one_line_at_most(view: TurnView, screen: Screen, event: Event, shown: str) -> None:
    view.show(event)
    assert screen.getvalue() == shown


def test_a_message_of_mine_is_shown_only_if_it_was_not_typed_here(view: TurnView, screen: Screen) -> None:
    typed, elsewhere = (Message(role=Role.USER, content=text) for text in ("typed", "from the page"))
    view.mine.add(typed.id)
    view.show(completed(typed))
    view.show(completed(elsewhere))
    view.message(typed)
    assert screen.getvalue() == "you: from the page\nyou: typed\n"


def test_a_message_of_the_past_is_shown_with_its_calls(view: TurnView, screen: Screen) -> None:
    view.message(Message(role=Role.ASSISTANT, content="Let me see.", tool_calls=(ToolCall(id="c", name="look"),)))
    view.message(Message(role=Role.TOOL, content="seen", tool_result=ToolResult(tool_call_id="c", duration_ms=3)))
    assert screen.getvalue() == "Let me see.\n  → look()\n  ← look: seen (3 ms)\n"


def test_escape_sequences_of_others_do_not_reach_the_screen(view: TurnView, screen: Screen) -> None:
    view.show(completed(Message(role=Role.ASSISTANT, content="\x1b]0;owned\x07 \x9b31m \x7f tab\t end\r\n")))
    view.show(returned("\x1b[2J", duration_ms=1))
    assert screen.getvalue() == "␛]0;owned␇ \ufffd31m ␡ tab\t end\n  ← tool: ␛[2J (1 ms)\n"


def test_without_a_terminal_an_answer_stays_as_it_is_and_remarks_go_beside_it() -> None:
    out, beside = io.StringIO(), io.StringIO()
    view = TurnView(ChatTerminal(io.StringIO(), out, beside, {}))
    view.show(called("look"))
    view.show(completed(Message(role=Role.ASSISTANT, content="**a** \x1b[1m")))
    assert (out.getvalue(), beside.getvalue()) == ("**a** \x1b[1m\n", "  → look()\n")
