"""The line of a turn: state and tokens always, content only where it is asked for."""

import logging

import pytest

from threadkeep.conversation.failure import Failure
from threadkeep.conversation.message import Usage
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.keeper import Keeper
from threadkeep.runtime import Hosting, open_keeper
from threadkeep.server.turn_log import TurnLog
from threadkeep.testing.scripted_model import ScriptedModel, says

LEASE = Lease(scope=LOCAL, conversation="c", turn=1, owner="o", fence=1)


async def _keeper(*, content: bool) -> Keeper:
    hosting = Hosting(observer=TurnLog(content=content))
    return await open_keeper("memory:", model=ScriptedModel(says("Hello Alice."), says("A title")), hosting=hosting)


@pytest.mark.parametrize("content", [False, True])
async def test_what_was_said_is_logged_only_if_asked_for(content: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "threadkeep.server.turn_log")
    async with await _keeper(content=content) as keeper:
        turn = await (await keeper.create()).send("I am Alice.")
        await turn.answer()
    (record,) = [record for record in caplog.records if record.name == "threadkeep.server.turn_log"]
    fields = vars(record)["fields"]
    assert (fields["state"], fields["output_tokens"], fields["tenant"]) == ("completed", 1, "local")
    assert ("Alice" in str(fields)) is content
    assert "Alice" not in record.getMessage()


def test_what_a_provider_said_is_content_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "threadkeep.server.turn_log")
    change = TurnChange(
        state=TurnState.FAILED,
        failure=Failure(code="model_refused", detail="I will not talk about Alice"),
        usage=Usage(),
    )
    TurnLog().settled(LEASE, change, 1.0, ())
    assert vars(caplog.records[0])["fields"]["error"] == "model_refused"
