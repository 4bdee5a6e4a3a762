"""What the terminal shows of events and of messages of the past."""

import io

import pytest

from threadkeep.cli.terminal import Terminal
from threadkeep.cli.turn_view import TurnView
from threadkeep.conversation.blocks import Table
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult
from threadkeep.turn.events import Event, show


class Screen(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def view(screen: Screen) -> TurnView:
    return TurnView(Terminal(io.StringIO(), screen, screen, {"NO_COLOR": "1"}))


def completed(message: Message) -> Event:
    return Event("message.completed", {"message": show(message), "turn": 1})


def test_text_that_was_shown_as_it_came_is_not_shown_again(view: TurnView, screen: Screen) -> None:
    answer = Message(role=Role.ASSISTANT, content="Hello there")
    for piece in ("Hello ", "there"):
        view.show(Event("text.delta", {"message": answer.id, "text": piece}))
    view.show(completed(answer))
    assert screen.getvalue() == "Hello there\n"


def test_an_answer_that_is_told_whole_is_shown_whole(view: TurnView, screen: Screen) -> None:
    view.show(completed(Message(role=Role.ASSISTANT, content="Hello", status=MessageStatus.INTERRUPTED)))
    assert screen.getvalue() == "Hello\n(cut off here)\n"


def test_a_call_and_its_result_are_one_line_each(view: TurnView, screen: Screen) -> None:
    view.show(Event("tool.called", {"message": "m", "id": "c", "name": "weather", "args": {"city": "Oslo", "days": 2}}))
    view.show(
        Event("tool.result", {"tool_call_id": "c", "content": "Rain\nand more", "error": None, "duration_ms": 12})
    )
    assert screen.getvalue() == '  → weather(city="Oslo", days=2)\n  ← weather: Rain… (12 ms)\n'


def test_a_call_that_failed_says_so(view: TurnView, screen: Screen) -> None:
    view.show(Event("tool.result", {"tool_call_id": "c", "content": "x", "error": "no such city", "duration_ms": None}))
    assert screen.getvalue() == "  ← tool: failed: no such city\n"


def test_blocks_are_drawn_once_with_the_answer(view: TurnView, screen: Screen) -> None:
    table = Table(columns=["city", "degrees"], rows=[["Oslo", 7]])
    answer = Message(role=Role.ASSISTANT, content="Cold.", blocks=(table,))
    view.show(Event("block.added", {"message": "m", "block": table.model_dump()}))
    view.show(Event("message.completed", {"message": answer.model_dump(mode="json")}))
    assert screen.getvalue() == "Cold.\n\n| city | degrees |\n| --- | --- |\n| Oslo | 7 |\n"


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (
            Event("turn.failed", {"turn": 1, "error": "model_refused:\nno"}),
            "threadkeep: The turn failed: model_refused: no\n",
        ),
        (Event("turn.cancelled", {"turn": 1}), "(cancelled; what was said is kept)\n"),
        (Event("turn.interrupted", {"turn": 1, "detail": "cut again"}), "(interrupted; cut again)\n"),
        (Event("turn.completed", {"turn": 1, "detail": "an empty answer"}), "(an empty answer)\n"),
        (Event("turn.completed", {"turn": 1, "usage": None}), ""),
        (Event("turn.started", {"turn": 1}), ""),
        (Event("conversation.updated", {"turn": 1, "queued": {}}), ""),
        (Event("conversation.updated", {"title": "A title"}), ""),
        (Event("some.later.event", {}), ""),
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
    view.show(Event("tool.result", {"tool_call_id": "c", "content": "\x1b[2J", "error": None, "duration_ms": 1}))
    assert screen.getvalue() == "␛]0;owned␇ \ufffd31m ␡ tab\t end\n  ← tool: ␛[2J (1 ms)\n"


def test_without_a_terminal_an_answer_stays_as_it_is_and_remarks_go_beside_it() -> None:
    out, beside = io.StringIO(), io.StringIO()
    view = TurnView(Terminal(io.StringIO(), out, beside, {}))
    view.show(Event("tool.called", {"message": "m", "id": "c", "name": "look", "args": {}}))
    view.show(completed(Message(role=Role.ASSISTANT, content="**a** \x1b[1m")))
    assert (out.getvalue(), beside.getvalue()) == ("**a** \x1b[1m\n", "  → look()\n")
