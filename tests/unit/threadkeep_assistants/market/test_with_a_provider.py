"""The market assistant with models that speak OpenAI's protocol over a real socket: a sensible one, and bad ones."""

import json
from typing import Any

import pytest

from tests.told import data_of, failure_of, name_of
from tests.unit.threadkeep_assistants.market.talking import Talk, talking_to
from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Model
from threadkeep.testing import openai_answers as played
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server
from threadkeep.testing.providers import openai
from threadkeep_assistants.market import ASSISTANT
from threadkeep_assistants.market.companies import FICTION
from threadkeep_providers.provider_model import ProviderModel

QUESTION = "What stocks benefit from rate cuts?"


def model_at(server: OpenAiServer) -> Model:
    return ProviderModel.named("openai:played", base_url=server.url, api_key="sk-test")


def wants(tool: str, id: str = "call_1", **args: Any) -> Played:
    return played.wants((id, tool, json.dumps(args)))


async def results_of(talk: Talk) -> list[Message]:
    return [message for message in await talk.chat.messages() if message.role is Role.TOOL]


async def test_a_sensible_model_gets_tools_results_and_the_past_and_its_answer_has_the_blocks() -> None:
    answers = (
        wants("rank_stocks", theme="rate_cuts"),
        played.says("D.R. Horton (DHI) leads. ", FICTION),
        wants("describe_company", id="call_2", ticker="DHI"),
        played.says("It builds starter homes. ", FICTION),
        wants("compare_companies", id="call_3", left="DHI", right="AAPL"),
        played.says("It gains more from cuts than Apple. ", FICTION),
    )
    async with openai_server(*answers) as server, talking_to(model_at(server)) as talk:
        shown = []
        for question in (QUESTION, "Tell me more about the top one", "Compare it to AAPL"):
            _, answer = await talk.ask(question)
            shown.append([block.type for block in answer.blocks])
        assert shown == [["ranked_list", "narrative"], ["narrative", "chart"], ["split_compare", "narrative"]]
        assert (server.unexpected, server.answers) == (0, [])
        for body in server.requests:
            openai.check_body(body)
        system, *history = server.requests[-1]["messages"]
        assert system["content"] == ASSISTANT.instructions
        assert [message["role"] for message in history] == [
            *["user", "assistant", "tool", "assistant"] * 2,
            *_OPEN_TURN,
        ]
        assert '"shown":["DHI","LEN","NEE","PLD","AMT"]' in history[2]["content"]
        names = {tool["function"]["name"] for tool in server.requests[0]["tools"]}
        assert {"rank_stocks", "compare_companies"} <= names


_OPEN_TURN = ["user", "assistant", "tool"]


BAD_CALLS = {
    "an unknown tool": (wants("rank_shares", theme="rate_cuts"), "Did you mean rank_"),
    "arguments that are no JSON": (played.wants(("call_1", "rank_stocks", '{"theme": rate')), ""),
    "a wrong type": (wants("rank_stocks", theme="rate_cuts", limit="many"), "limit"),
    "an unknown theme": (wants("rank_stocks", theme="luck"), "rate_cuts"),
    "an argument too many": (wants("describe_company", ticker="AAPL", mood="good"), "there is no such argument"),
    "an unknown company": (wants("describe_company", ticker="AAPX"), "Did you mean Apple (AAPL)"),
}


@pytest.mark.parametrize("bad", BAD_CALLS)
async def test_a_bad_call_is_told_to_the_model_which_can_do_better(bad: str) -> None:
    first, complaint = BAD_CALLS[bad]
    better = wants("describe_company", id="call_2", ticker="AAPL")
    async with openai_server(first, better, played.says("Apple makes phones.")) as server:
        async with talking_to(model_at(server)) as talk:
            _, answer = await talk.ask(QUESTION)
            wrong, right = await results_of(talk)
        assert wrong.tool_result is not None
        assert complaint in str(wrong.tool_result.error)
        assert right.tool_result is not None
        assert right.tool_result.error is None
        assert (answer.content, [block.type for block in answer.blocks]) == (
            "Apple makes phones.",
            ["narrative", "chart"],
        )
        assert server.unexpected == 0


async def test_a_model_that_says_nothing_after_its_call_still_shows_what_was_found() -> None:
    answers = (wants("rank_stocks", theme="rate_cuts"), played.empty())
    async with openai_server(*answers) as server, talking_to(model_at(server)) as talk:
        _, answer = await talk.ask(QUESTION)
        assert (answer.content, answer.blocks[0].type, server.unexpected) == ("", "ranked_list", 0)


async def test_a_model_that_says_nothing_at_all_ends_the_turn_with_a_note() -> None:
    async with openai_server(played.empty()) as server, talking_to(model_at(server)) as talk:
        events = [event async for event in (await talk.chat.send(QUESTION)).events()]
        assert (name_of(events[-1]), data_of(events[-1])["detail"]) == (
            "turn.completed",
            "The model gave an empty answer.",
        )


async def test_a_provider_that_fails_for_a_while_is_asked_again() -> None:
    answers = (played.fails(500), wants("rank_stocks", theme="rate_cuts"), played.fails(500), played.says("DHI leads."))
    async with openai_server(*answers) as server, talking_to(model_at(server)) as talk:
        _, answer = await talk.ask(QUESTION)
        assert (answer.content, len(await results_of(talk)), server.unexpected) == ("DHI leads.", 1, 0)


async def test_a_provider_that_keeps_failing_ends_the_turn_with_its_error_and_the_next_one_works() -> None:
    failures = [played.fails(500)] * 3
    async with openai_server(*failures, played.says("Here I am.")) as server, talking_to(model_at(server)) as talk:
        events = [event async for event in (await talk.chat.send(QUESTION)).events()]
        assert name_of(events[-1]) == "turn.failed"
        assert failure_of(events[-1]).startswith("model_unavailable: ")
        assert (await talk.ask("And now?"))[1].content == "Here I am."
