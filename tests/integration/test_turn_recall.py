"""What was recalled for an answer, why, and leaving it out, in this process and over HTTP."""

from typing import Any

import pytest

from tests.integration.serving import assert_problem, serving
from threadkeep.context.base import Policy, Window
from threadkeep.errors import InvalidValue
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep.turn.assistant import Assistant
from threadkeep_client import connect

KEY = "The harbour key is 4711."
ASSISTANT = Assistant(name="a", policy=Policy(window=Window.NEWEST, size=3))


def recalled(answer: Any) -> Any:
    return next((item for item in answer.tool_trace if item["kind"] == "recall"), {"entries": []})


@pytest.mark.parametrize("way", ["here", "over HTTP"])
async def test_what_was_recalled_stands_in_the_trace_and_can_be_left_out(way: str) -> None:
    model = ScriptedModel(*[says("Yes.")] * 9)
    async with serving(assistants=[ASSISTANT], model=model) as server, connect(server.url) as remote:
        conversations: Any = server.conversations if way == "here" else remote
        chat = await conversations.create(assistant="a")
        for text in (KEY, *(f"Aside {number}." for number in range(5))):
            await (await chat.send(text)).answer()
        answer = await (await chat.send("Where is the harbour key?")).answer()
        found = recalled(answer)
        assert found["why"][0] == {"entry": found["entries"][0], "words": ["harbour", "key"]}
        assert KEY in model.requests[-1].messages[-1].content
        left_out = [{"entry": found["entries"][0]}]
        await (await chat.regenerate(without_recall=left_out)).answer()
        assert KEY not in model.requests[-1].messages[-1].content
        answer = await (await chat.send("And the harbour key?", without_recall=left_out)).answer()
        assert found["entries"][0] not in recalled(answer)["entries"]
        assert KEY not in model.requests[-1].messages[-1].content
        for wrong in ([{"entry": 0}], [{"entry": 1}] * 101, [{"seq": 1}]):
            if way == "here":
                with pytest.raises(InvalidValue):
                    await chat.send("Hi", without_recall=wrong)
            else:
                body = {"content": "Hi", "without_recall": wrong}
                path = f"/v1/conversations/{chat.id}/messages"
                assert_problem(await server.client.post(path, json=body), 422, "invalid_request")
