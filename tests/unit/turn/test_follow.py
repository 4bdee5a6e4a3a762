"""Following: what a page of the log tells a reader who stands at a cursor."""

from datetime import UTC, datetime
from typing import cast

from tests.told import data_of, failure_of, name_of
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.draft_text import stream_of
from threadkeep.conversation.entry import Approval, Body, Entry, HeadChoice, Summary, Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Reasoning
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Failure, TurnChange, TurnState
from threadkeep.store.base import Store
from threadkeep.store.paging import MOST_HELD
from threadkeep.store.values import Draft, LogPage, SpoolState
from threadkeep.turn.follow import PAGE, _catch_up, events_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANSWER = Message(id="answer", role=Role.ASSISTANT, content="Once upon a time")
CALLS = Message(id="calls", role=Role.ASSISTANT, tool_calls=(ToolCall(id="a", name="x"), ToolCall(id="b", name="y")))


def page(*bodies: Body, first: int = 1, draft: Draft | None = None) -> LogPage:
    """Return a page of these bodies."""
    entries = (
        Entry(conversation="c", seq=seq, parent=seq - 1 or None, turn=1, created_at=NOW, body=body)
        for seq, body in enumerate(bodies, start=first)
    )
    return LogPage(entries=tuple(entries), draft=draft)


def draft(text: str, offset: int = 0) -> Draft:
    """Return what is being written of the answer."""
    return Draft(message="answer", turn=1, started_at=NOW, offset=offset, text=text)


def told(shown: LogPage, cursor: Cursor) -> list[str]:
    """Return the names of the events behind a cursor."""
    return [name_of(event) for event in events_of(shown, cursor)]


class Alone:
    """A store that no database is behind."""

    def spool_state(self, _scope: Scope, _conversation: str) -> SpoolState:
        """Return that nothing is kept elsewhere."""
        return SpoolState()


class LongStore:
    """The log of a conversation with messages of a size, and how many characters were read of it at a time."""

    operations = Alone()

    def __init__(self, *sizes: int) -> None:
        self.whole = page(*(Message(role=Role.USER, content="x" * size) for size in sizes), draft=draft("Once"))
        self.asked: list[int] = []

    async def log(self, scope: Scope, conversation: str, cursor: Cursor, *, limit: int) -> LogPage:
        """Return a page, and remember how large it may be."""
        self.asked.append(limit)
        rest = self.whole.entries[cursor.seq :]
        return LogPage(entries=rest[:limit], draft=self.whole.draft if len(rest) < limit else None)


async def test_little_is_read_ahead_for_a_reader_of_large_messages_and_nothing_is_left_out() -> None:
    large, small = MOST_HELD // 2, 10
    store = LongStore(*[large] * 7, MOST_HELD + 1, *[small] * 50)
    events = [event async for event in _catch_up(cast(Store, store), LOCAL, "c", Cursor())]
    names = [name_of(event) for event in events]
    assert names == ["message.completed"] * 58 + ["message.started", "text.delta"]
    assert [event.cursor.seq for event in events[:58]] == list(range(1, 59))
    assert store.asked[:4] == [PAGE, 2, 2, 2]
    assert store.asked[-1] == PAGE


def test_every_kind_of_entry_has_its_events() -> None:
    result = Message(role=Role.TOOL, content="done", tool_result=ToolResult(tool_call_id="a"))
    kinds: list[tuple[Body, list[str]]] = [
        (Message(role=Role.USER, content="Hello"), ["message.completed"]),
        (CALLS, ["message.completed", "tool.called", "tool.called"]),
        (result, ["tool.result"]),
        (StateChange(set={"a": 1}), ["state.changed"]),
        (Summary(content="short"), []),
        (Approval(tool_call_id="a", approved=True), ["call.decided"]),
        (Update(status=Status.COMPLETED), ["conversation.updated"]),
        (HeadChoice(), ["head.chosen"]),
    ]
    for body, names in kinds:
        assert told(page(body), Cursor()) == names, body


def test_every_state_of_a_turn_has_its_event() -> None:
    names = {state: told(page(TurnChange(state=state)), Cursor()) for state in TurnState}
    assert names == {
        TurnState.QUEUED: ["turn.queued"],
        TurnState.RUNNING: ["turn.started"],
        TurnState.WAITING: ["turn.waiting"],
        TurnState.COMPLETED: ["turn.completed"],
        TurnState.FAILED: ["turn.failed"],
        TurnState.CANCELLED: ["turn.cancelled"],
        TurnState.INTERRUPTED: ["turn.interrupted"],
    }


def test_the_end_of_a_turn_tells_its_usage_or_its_error() -> None:
    ends = page(
        TurnChange(state=TurnState.COMPLETED, usage=Usage(output_tokens=3), detail="a note"),
        TurnChange(state=TurnState.FAILED, failure=Failure(code="model_error", detail="it failed")),
    )
    completed, failed = events_of(ends, Cursor())
    assert data_of(completed)["usage"]["output_tokens"] == 3
    assert data_of(completed)["detail"] == "a note"
    assert failure_of(failed) == "model_error: it failed"


def test_a_message_that_is_being_written_begins_once_and_goes_on_at_the_cursor() -> None:
    started, text = events_of(page(draft=draft("Once ")), Cursor(seq=1))
    assert (name_of(started), data_of(started)["message"]) == ("message.started", "answer")
    assert started.cursor == Cursor(seq=1, message="answer", offset=0)
    assert text.cursor == Cursor(seq=1, message="answer", offset=5)
    (more,) = events_of(page(draft=draft("upon ", 5)), text.cursor)
    assert (name_of(more), data_of(more)["text"]) == ("text.delta", "upon ")
    assert list(events_of(page(draft=draft("", 10)), more.cursor)) == []


def test_a_message_that_was_finished_meanwhile_comes_with_the_rest_of_its_text() -> None:
    rest, completed = events_of(page(ANSWER, first=2), Cursor(seq=1, message="answer", offset=5))
    assert (name_of(rest), data_of(rest)["text"]) == ("text.delta", "upon a time")
    assert rest.cursor == Cursor(seq=1, message="answer", offset=16)
    assert (name_of(completed), completed.cursor) == ("message.completed", Cursor(seq=2))


def test_a_finished_message_comes_whole_to_a_reader_who_saw_nothing_of_it() -> None:
    assert told(page(ANSWER), Cursor()) == ["message.completed"]


def test_an_entry_in_the_middle_of_an_answer_leaves_the_place_in_the_answer() -> None:
    (queued,) = events_of(page(TurnChange(state=TurnState.QUEUED), first=2), Cursor(seq=1, message="answer", offset=5))
    assert queued.cursor == Cursor(seq=2, message="answer", offset=5)


def test_a_reader_may_stand_between_the_events_of_one_entry() -> None:
    whole = list(events_of(page(CALLS), Cursor()))
    assert [event.cursor for event in whole] == [Cursor(seq=1, index=1), Cursor(seq=1, index=2), Cursor(seq=1)]
    for place, event in enumerate(whole[:-1], start=1):
        assert list(events_of(page(CALLS), event.cursor)) == whole[place:]


def test_an_entry_without_events_is_passed_over() -> None:
    (last,) = events_of(page(Summary(content="short"), TurnChange(state=TurnState.RUNNING)), Cursor())
    assert last.cursor == Cursor(seq=2)


def test_a_reader_may_come_back_to_any_place_of_what_is_thought_and_said() -> None:
    thoughts = (Reasoning(text="Hm. "), Reasoning(text="So."), Reasoning(text="Or?", at=4))
    whole = Message(id="answer", role=Role.ASSISTANT, content="Yes. No.", parts=thoughts)
    stream = stream_of(whole)
    for end in range(len(stream) + 1):
        seen = list(events_of(page(draft=draft(stream[:end])), Cursor()))
        cursor = seen[-1].cursor
        assert Cursor.decode(cursor.encode("c"), "c") == cursor
        rest = list(events_of(page(whole), cursor))
        assert name_of(rest[-1]) == "message.completed"
        for name, parts in (("reasoning.delta", "Hm. So.Or?"), ("text.delta", "Yes. No.")):
            assert "".join(data_of(event)["text"] for event in (*seen, *rest) if name_of(event) == name) == parts


def test_a_message_that_was_not_begun_comes_whole_with_its_reasoning() -> None:
    whole = ANSWER.model_copy(update={"parts": (Reasoning(text="Hm.", duration=2.0, payload={"signature": "x"}),)})
    (event,) = events_of(page(whole), Cursor())
    assert data_of(event)["message"]["parts"] == [{"type": "reasoning", "text": "Hm.", "duration": 2.0}]
