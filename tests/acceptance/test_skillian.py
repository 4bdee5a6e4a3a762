"""The finance assistant as its users meet it: over HTTP, through restarts, with models that behave and misbehave."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.server_process import server_process
from tests.integration.serving import Server, told_until
from tests.integration.serving import serving as serving_here
from threadkeep.testing import openai_answers as played
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server
from threadkeep.testing.providers import openai
from threadkeep_assistants.skillian import ASSISTANT
from threadkeep_providers.provider_model import ProviderModel

BUDGET = "What is the budget of cost centre CC-1001?"
COMPARE = "Compare FI and BPC for company 1000"
TOP = ["120000 Trade receivables", "400000 Product revenue", "121000 Intercompany receivables"]


async def in_session(folder: Path, message: str, session: str | None = None) -> dict[str, Any]:
    """Ask in the dialect of sessions, of a server that was started for this question alone."""
    async with server_process(folder, pace="0") as (_, client):
        answer = await client.post("/api/v1/chat", json={"message": message, "session_id": session})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


async def test_the_worked_example_with_a_killed_server_after_each_turn(tmp_path: Path) -> None:
    budget = await in_session(tmp_path, BUDGET)
    assert "a budget of 50,000 EUR: 35,000 EUR is spent" in budget["response"]
    assert [(call["name"], call["args"]) for call in budget["tool_calls"]] == [
        ("get_budget", {"cost_center": "CC-1001"})
    ]
    session = budget["session_id"]
    compared = await in_session(tmp_path, COMPARE, session)
    assert compared["response"].startswith("FI and BPC differ on 15 of 27 accounts of company 1000")
    assert [block["type"] for block in compared["blocks"]] == ["table", "split_compare", "ranked_list", "chart"]
    for question, count in (("show me the top 3", 3), ("show me the top differences", 5)):
        shown = await in_session(tmp_path, question, session)
        assert (shown["session_id"], shown["tool_calls"]) == (session, [])
        assert shown["response"].startswith(f"The {count} largest of 15 differences between FI and BPC")
        assert all(f"{number}. {line}" in shown["response"] for number, line in enumerate(TOP, 1))
    async with server_process(tmp_path, pace="0") as (_, client):
        whole = (await client.get(f"/api/v1/sessions/{session}")).json()
        native = (await client.get(f"/v1/conversations/{session}")).json()
    assert_every_step_is_kept(whole["messages"])
    assert native["assistant"] == "skillian"
    assert [message["content"] for message in native["messages"]] == [
        message["content"] for message in whole["messages"][1:]
    ]


def assert_every_step_is_kept(messages: list[dict[str, Any]]) -> None:
    """Check the history of the worked example: the system message, and of each loop the calls, results and answer."""
    assert all(message.keys() == {"role", "content", "tool_call_id", "tool_calls"} for message in messages)
    roles = [message["role"] for message in messages]
    with_tool, without = ["user", "assistant", "tool", "assistant"], ["user", "assistant"]
    assert roles == ["system", *with_tool, *with_tool, *without, *without]
    assert messages[0]["content"] == ASSISTANT.instructions
    for start in (1, 5):
        question, calling, result, answer = messages[start : start + 4]
        assert (question["tool_calls"], question["tool_call_id"], answer["tool_calls"]) == (None, None, None)
        [call] = calling["tool_calls"]
        assert (calling["content"], result["tool_call_id"]) == ("", call["id"])
        assert answer["content"]
    assert messages[3]["content"] == '{"budget":50000,"spent":35000}'
    assert messages[6]["tool_calls"][0]["name"] == "compare_sources"


WALK = {
    "what is the budget of cost center 1001": "15,000 EUR is left",
    "how much is left of it?": "15,000 EUR is left",
    "and CC-1002?": "CC-1002 (Field sales)",
    "compare fi and bpc for company 1000": "differ on 15 of 27 accounts",
    "the biggest one?": "120000 Trade receivables: **+65,850 EUR**",
    "why is the first one different?": "Invoice 90417, Norrland Retail",
    "now for company 2000": "differ on 9 of 27 accounts of company 2000",
    "only receivables": "1 difference of receivables between FI and BPC, company 2000",
    "sum them up": "8,810 USD net",
    "and in may?": "company 2000 (Birch Trading) in 2025-05",
    "show me the top 3": "The 3 largest of 7 differences",
    "how much is left of the budget?": "CC-1002 (Field sales)",
}


async def test_follow_ups_in_the_native_api_with_a_restart_after_each(tmp_path: Path) -> None:
    store, path = f"sqlite:///{tmp_path}/walk.db", ""
    for question, expected in WALK.items():
        async with serving_here(store, assistants=[ASSISTANT]) as server:
            path = path or await server.conversation(assistant="skillian")
            answer = (await server.say(path, question)).json()
            assert answer["turn"]["state"] == "completed"
            assert expected in answer["message"]["content"], question


async def test_a_comparison_streams_its_steps_and_its_blocks() -> None:
    async with serving_here(assistants=[ASSISTANT]) as server:
        path = await server.conversation()
        await server.say(path, COMPARE)
        events = await told_until(server.client, f"{path}/events?after=0", "turn.completed")
        names = [event.event for event in events]
        assert [name for name in names if name.startswith("tool.")] == ["tool.called", "tool.result"]
        last = [event.json()["message"] for event in events if event.event == "message.completed"][-1]
        assert [block["type"] for block in last["blocks"]] == ["table", "split_compare", "ranked_list", "chart"]


@asynccontextmanager
async def played_by(*answers: Played) -> AsyncIterator[tuple[Server, OpenAiServer]]:
    """A server whose model speaks OpenAI's protocol over a real socket, and says what the test tells it to."""
    async with openai_server(*answers) as provider:
        model = ProviderModel.named("openai:played", base_url=provider.url, api_key="sk-test")
        async with serving_here(model=model, assistants=[ASSISTANT]) as server:
            yield server, provider


async def ask(server: Server, message: str, session: str | None = None) -> httpx.Response:
    """Ask in a session; a new one has a title already, so that the model is not asked for one."""
    if session is None:
        session = (await server.client.post("/api/v1/sessions", json={"title": "Budgets"})).json()["session_id"]
    return await server.client.post(f"/api/v1/sessions/{session}/chat", json={"message": message})


async def test_a_sensible_model_works_through_the_example() -> None:
    answers = [
        played.wants(("call_1", "get_budget", '{"cost_center": "CC-1001"}')),
        played.says("CC-1001 has 15,000 EUR ", "left."),
        played.wants(("call_2", "compare_sources", '{"left": "FI", "right": "BPC", "company": "1000"}')),
        played.says("15 accounts differ."),
        played.says("1. Trade receivables, 2. Product revenue, 3. Intercompany receivables."),
        played.wants(
            ("call_3", "explain_account", '{"account": "120000", "company": "1000"}'),
            ("call_4", "explain_account", '{"account": "400000", "company": 1000}'),
        ),
        played.says("Both were booked after the upload."),
    ]
    async with played_by(*answers) as (server, provider):
        session: str | None = None
        replies: list[dict[str, Any]] = []
        for question in (BUDGET, COMPARE, "show me the top 3", "why the first two?"):
            reply = (await ask(server, question, session)).json()
            session, replies = reply["session_id"], [*replies, reply]
        assert [reply["response"] for reply in replies][-1] == "Both were booked after the upload."
        assert [block["type"] for block in replies[1]["blocks"]] == ["table", "split_compare", "ranked_list", "chart"]
        assert (provider.unexpected, provider.answers) == (0, [])
        for body in provider.requests:
            openai.check_body(body)
        first, third = provider.requests[0], provider.requests[4]
        assert first["messages"][0] == {"role": "system", "content": ASSISTANT.instructions}
        assert {tool["function"]["name"] for tool in first["tools"]} == {tool.spec.name for tool in ASSISTANT.tools}
        # What the comparison found is in front of the model when it is asked for the top 3.
        assert any('"differences":[{"BPC":1211300' in str(message["content"]) for message in third["messages"])


MISBEHAVIOUR: dict[str, tuple[list[Played], str]] = {
    "an unknown tool": ([played.wants(("call_1", "get_budgets", "{}"))], "Did you mean get_budget"),
    "arguments that are no JSON": ([played.invalid_arguments()], "not valid JSON"),
    "a wrong type": (
        [played.wants(("call_1", "get_budget", '{"cost_center": {"id": 1}}'))],
        "should be a valid string",
    ),
    "a missing argument": ([played.wants(("call_1", "explain_account", "{}"))], "account: this argument is missing"),
    "another argument": (
        [played.wants(("call_1", "get_budget", '{"centre": "CC-1001"}'))],
        "there is no such argument",
    ),
    "an unknown cost centre": (
        [played.wants(("call_1", "get_budget", '{"cost_center": "CC-1006"}'))],
        "Close ones are: CC-1005",
    ),
    "an error of its server": ([played.fails(500)], ""),
    "a cut in its arguments": ([played.cut_in_arguments()], ""),
    "two calls of one id": ([played.two_calls_one_id()], "There is no cost centre 'A'"),
}


@pytest.mark.parametrize("kind", MISBEHAVIOUR)
async def test_a_model_that_misbehaves_is_told_and_the_turn_goes_on(kind: str) -> None:
    answers, told = MISBEHAVIOUR[kind]
    async with played_by(*answers, played.says("I cannot say."), played.says("50,000 EUR.")) as (server, provider):
        reply = (await ask(server, BUDGET)).json()
        assert (reply["status"], reply["response"]) == ("completed", "I cannot say.")
        assert any(told in str(message.get("content")) for message in provider.requests[-1]["messages"])
        again = (await ask(server, "And now?", reply["session_id"])).json()
        assert again["response"] == "50,000 EUR."
        for body in provider.requests:
            openai.check_body(body)


async def test_a_model_that_says_nothing_ends_the_turn_with_a_note() -> None:
    async with played_by(played.empty()) as (server, _):
        reply = (await ask(server, BUDGET)).json()
        assert reply["status"] == "completed"
        assert reply["response"]


@pytest.mark.server_may_fail
async def test_a_model_that_is_down_is_a_clear_problem_and_the_question_is_kept() -> None:
    async with played_by(*[played.fails(500)] * 4, played.says("50,000 EUR.")) as (server, _):
        failed = await ask(server, BUDGET)
        assert (failed.status_code, failed.json()["code"]) == (502, "model_unavailable")
        session = failed.json()["session_id"]
        whole = (await server.client.get(f"/api/v1/sessions/{session}")).json()
        assert [message["content"] for message in whole["messages"]][1] == BUDGET
        assert (await ask(server, BUDGET, session)).json()["response"] == "50,000 EUR."


async def test_a_model_that_never_stops_calling_tools_is_stopped_after_ten_rounds() -> None:
    rounds = [played.wants((f"call_{number}", "get_budget", '{"cost_center": "CC-1001"}')) for number in range(10)]
    async with played_by(*rounds, played.says("Enough.")) as (server, provider):
        reply = (await ask(server, BUDGET)).json()
        assert reply["status"] == "completed"
        assert "limit of 10 rounds" in reply["response"]
        assert (len(provider.requests), len(reply["tool_calls"])) == (11, 10)
