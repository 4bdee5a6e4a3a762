"""The scripted market assistant understands what people ask, in their words, given what came before."""

import pytest

from tests.unit.threadkeep_assistants.long_texts import LONG, check_growth
from tests.unit.threadkeep_assistants.market.phrases import (
    FIRST_LIST,
    FOLLOW_UPS,
    LISTED,
    OPENINGS,
    WORKED,
    Phrase,
)
from tests.unit.threadkeep_assistants.market.talking import talking
from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Request
from threadkeep_assistants.demo.script import Scene
from threadkeep_assistants.market import ASSISTANT
from threadkeep_assistants.market.companies import FICTION
from threadkeep_assistants.market.script import SCRIPT


@pytest.mark.parametrize("phrase", [*WORKED, *OPENINGS, *FOLLOW_UPS], ids=str)
async def test_a_question_leads_to_the_call_that_answers_it(phrase: Phrase) -> None:
    async with talking() as talk:
        for question in phrase.before:
            await talk.ask(question)
        calls, answer = await talk.ask(phrase.question)
    assert calls == [(phrase.tool, phrase.args)]
    assert FICTION in answer.content


async def test_the_worked_example_shows_what_it_found_as_blocks() -> None:
    async with talking() as talk:
        shown = [[block.type for block in (await talk.ask(question))[1].blocks] for question in (LISTED, *_REST)]
    assert shown == [
        ["ranked_list", "narrative"],
        ["narrative", "chart"],
        ["narrative", "table"],
        ["split_compare", "narrative"],
        ["narrative", "chart"],
        ["narrative", "chart"],
    ]


_REST = (
    "Tell me more about the top one",
    "What about its supply chain risk?",
    "Compare it to AAPL",
    "tell me more about that",
    "what about AAPL instead?",
)


@pytest.mark.parametrize(
    "question", ["What about its supply chain risk?", "the second one", "no, the first list", "it?"]
)
async def test_a_reference_to_nothing_is_asked_back(question: str) -> None:
    async with talking() as talk:
        calls, answer = await talk.ask(question)
    assert calls == []
    assert "Which" in answer.content or "which company or list" in answer.content
    assert FICTION in answer.content


async def test_a_place_that_the_list_does_not_have_is_asked_back_with_the_list() -> None:
    async with talking() as talk:
        await talk.ask(LISTED)
        calls, answer = await talk.ask("tell me about the ninth one")
    assert calls == []
    assert "American Tower (AMT). Which one do you mean?" in answer.content


async def test_a_comparison_with_an_unknown_name_is_asked_back() -> None:
    async with talking() as talk:
        await talk.ask(LISTED)
        calls, answer = await talk.ask("compare it to appel")
    assert calls == []
    assert "I cannot tell which one you mean" in answer.content


async def test_two_sectors_are_shown_beside_each_other() -> None:
    async with talking() as talk:
        found, _ = await talk.ask("compare banks and utilities")
        assert [args for _, args in found] == [{"text": "banks"}, {"text": "utilities"}]
        await talk.ask(LISTED)
        found, _ = await talk.ask("reits vs homebuilders")
    assert [args for _, args in found] == [{"theme": "rate_cuts", "sector": each} for each in ("reits", "homebuilders")]


async def test_all_that_are_named_are_compared_with_the_first() -> None:
    async with talking() as talk:
        calls, _ = await talk.ask("compare apple, microsoft and google")
    assert [(args["left"], args["right"]) for _, args in calls] == [("AAPL", "MSFT"), ("AAPL", "GOOGL")]


@pytest.mark.parametrize(
    "question",
    [
        "market cap?",
        "which one has the lowest debt?",
        "tell me a joke",
        "sell?",
        "asdfgh qwerty",
        "cheap stocks under $50",
        "which sector benefits most from rate cuts?",
        "who are its competitors?",
        "dividends of no more than half a percent",
        "which of them depend on Canada?",
        "revenue of Apple in Q3 2024",
    ],
)
async def test_what_the_data_does_not_tell_is_said(question: str) -> None:
    async with talking() as talk:
        await talk.ask(LISTED)
        calls, answer = await talk.ask(question)
    assert calls == []
    assert answer.content.startswith("I am scripted and did not understand that.")
    assert FICTION in answer.content


@pytest.mark.parametrize(
    "words", ["thanks, that helps", "Hello", "My name is Alice", "great, thank you!", "What's my name?"]
)
async def test_talk_that_is_not_about_stocks_calls_nothing(words: str) -> None:
    async with talking() as talk:
        await talk.ask(LISTED)
        assert (await talk.ask(words))[0] == []


@pytest.mark.parametrize("words", ["rates " * 900, "a" * 5000, "appel the top one " * 300, "?", "\U0001f600", "NOW"])
async def test_odd_questions_are_answered_too(words: str) -> None:
    async with talking() as talk:
        await talk.ask(LISTED)
        assert (await talk.ask(words))[1].content


@pytest.mark.parametrize("kind", LONG)
def test_the_time_for_a_long_question_grows_no_faster_than_its_length(kind: str) -> None:
    def ask(question: str) -> None:
        messages = [Message(role=Role.USER, content=LISTED), Message(role=Role.ASSISTANT, content=f"1. DHI {question}")]
        asked = Message(role=Role.USER, content=question)
        SCRIPT.reply(Scene(Request(messages=(*messages, asked), tools=ASSISTANT.tools.specs())))

    check_growth(ask, LONG[kind])


async def test_which_of_the_two_means_those_that_were_looked_at_last() -> None:
    async with talking() as talk:
        for question in (LISTED, "the second one", "and the fourth one"):
            await talk.ask(question)
        calls, _ = await talk.ask("which of the two is cheaper?")
    assert calls == [("rank_stocks", {"theme": "value", "tickers": ["LEN", "PLD"]})]


async def test_the_others_are_those_of_the_list() -> None:
    async with talking() as talk:
        await talk.ask(LISTED)
        assert (await talk.ask("the second one"))[0] == [("describe_company", {"ticker": "LEN"})]
        others = await talk.ask("and which of the others pays the highest dividends?")
    assert others[0][0][1]["tickers"] == [ticker for ticker in FIRST_LIST if ticker != "LEN"]


async def test_one_that_is_pointed_at_and_one_that_is_named_are_compared_or_nothing_is_guessed() -> None:
    async with talking() as talk:
        await talk.ask("Tell me about NVDA")
        calls, _ = await talk.ask("put it next to Apple")
        assert calls == [("compare_companies", {"left": "NVDA", "right": "AAPL"})]
        calls, answer = await talk.ask("does it belong to Microsoft")
        assert calls == []
        assert "I cannot tell" in answer.content
