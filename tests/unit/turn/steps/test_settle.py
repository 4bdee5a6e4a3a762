"""Ending a turn: usage is summed up, errors are shortened, text that was left is kept."""

from tests.unit.turn.begun import begun, ends
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, Usage
from threadkeep.conversation.turn import Failure, TurnChange, TurnState
from threadkeep.turn.steps.settle import MOST_SAID, finish_draft, settle


async def test_the_tokens_of_all_calls_of_the_turn_are_added_up() -> None:
    active = await begun()
    answer = Message(role=Role.ASSISTANT, content="Well", usage=Usage(input_tokens=3, output_tokens=2))
    await active.append(answer)
    last = Message(role=Role.ASSISTANT, content="Done", usage=Usage(input_tokens=5, output_tokens=1, cached_tokens=4))
    await settle(active, TurnState.COMPLETED, last)
    change = active.entries[-1].body
    assert isinstance(change, TurnChange)
    assert change.usage == Usage(input_tokens=8, output_tokens=3, cached_tokens=4)


async def test_an_error_of_any_length_is_kept_as_its_beginning() -> None:
    active = await begun()
    await settle(active, TurnState.FAILED, failure=Failure(code="model_refused", detail="x" * 3 * MOST_SAID))
    change = active.entries[-1].body
    assert isinstance(change, TurnChange)
    assert change.failure is not None
    assert change.failure.detail == "x" * MOST_SAID


async def test_a_turn_that_waits_names_the_calls() -> None:
    active = await begun()
    await settle(active, TurnState.WAITING, calls=(ToolCall(id="1", name="pay"), ToolCall(id="2", name="mail")))
    assert ends(active) == ("waiting", None, "A person must allow: pay, mail")


async def test_text_of_this_turn_becomes_an_interrupted_message_and_nothing_else_does() -> None:
    active = await begun()
    count = len(active.entries)
    await finish_draft(active)
    assert len(active.entries) == count
    await active.deps.store.write(active.lease, "half", 0, "Half a sent")
    await finish_draft(active)
    message = active.entries[-1].body
    assert isinstance(message, Message)
    assert (message.id, message.content, message.status) == ("half", "Half a sent", MessageStatus.INTERRUPTED)
