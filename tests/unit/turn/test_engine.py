"""The loop of a turn: what ends it, what is asked again, and what is left to whoever takes it up."""

import pytest

from tests.unit.turn.begun import begun, ends
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, MessageStatus
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import ContextTooLong, ModelRefused, StoreUnavailable
from threadkeep.llm.base import Stopped
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.sqlite.memory import MemoryStore
from threadkeep.store.values import Append, Appended
from threadkeep.testing.samples import texts_of
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep.turn.engine import SHARES, resume_turn, run_turn


async def test_the_answer_and_the_end_of_the_turn_are_its_last_entries() -> None:
    active = await begun(ScriptedModel(says("Hello ", "you.")))
    await run_turn(active)
    assert texts_of(tuple(active.entries)) == ["hello", "Hello you."]
    assert ends(active) == ("completed", None, None)
    assert active.is_settled


async def test_an_empty_answer_ends_the_turn_and_is_told() -> None:
    active = await begun(ScriptedModel([Stopped("stop")]))
    await run_turn(active)
    assert ends(active) == ("completed", None, "The model gave an empty answer.")


@pytest.mark.server_may_fail
@pytest.mark.parametrize(
    ("error", "code"), [(ModelRefused("no"), "model_refused"), (ValueError("a bug"), "internal_error")]
)
async def test_what_would_only_come_again_ends_the_turn(error: Exception, code: str) -> None:
    active = await begun(ScriptedModel([error]))
    await run_turn(active)
    assert ends(active)[:2] == ("failed", code)
    assert "a bug" not in str(active.entries[-1].body)


async def test_a_request_that_is_too_long_is_made_shorter_as_often_as_there_are_shares() -> None:
    refusals = [[ContextTooLong("too long")] for _ in SHARES]
    active = await begun(ScriptedModel(*refusals))
    await run_turn(active)
    assert ends(active)[:2] == ("failed", "context_too_long")
    active = await begun(model := ScriptedModel(*refusals[1:], says("Now it fits.")))
    await run_turn(active)
    assert ends(active)[0] == "completed"
    assert len(model.requests) == len(SHARES)


class Away(MemoryStore):
    """A store that cannot be written when a turn wants to end."""

    async def append(self, scope: Scope, conversation: str, append: Append) -> Appended:
        if append.settle is not None:
            raise StoreUnavailable
        return await super().append(scope, conversation, append)


async def test_what_the_store_raises_is_left_for_recovery() -> None:
    store = Away(utc_now, new_id, MAX_BYTES)
    active = await begun(ScriptedModel(says("Hello.")), store=store)
    with pytest.raises(StoreUnavailable):
        await run_turn(active)
    assert not active.is_settled


async def test_a_turn_that_is_to_stop_asks_nobody() -> None:
    active = await begun(ScriptedModel())
    active.stop_as = TurnState.INTERRUPTED
    active.stop.set()
    await run_turn(active)
    assert ends(active)[0] == "interrupted"


async def test_text_that_a_dead_owner_left_is_kept_before_the_model_is_asked_again() -> None:
    active = await begun(ScriptedModel(says("The rest.")))
    await active.deps.store.write(active.lease, "half", 0, "The beginning")
    await resume_turn(active)
    messages = [entry.body for entry in active.entries if isinstance(entry.body, Message)]
    assert [(message.content, message.status) for message in messages[1:]] == [
        ("The beginning", MessageStatus.INTERRUPTED),
        ("The rest.", MessageStatus.COMPLETE),
    ]
