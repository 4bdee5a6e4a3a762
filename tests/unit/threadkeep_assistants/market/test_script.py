"""The scripted market assistant understands what people ask, in their words, given what came before."""

import pytest

from tests.unit.threadkeep_assistants.long_texts import LONG, check_growth
from tests.unit.threadkeep_assistants.market.phrases import (
    BANKS,
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
from threadkeep.llm.script import Scene
from threadkeep_assistants.market import ASSISTANT
from threadkeep_assistants.market.companies import FICTION, market
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


async def test_a_list_that_left_the_context_is_found_again() -> None:
    async with talking() as talk:
        await talk.ask(LISTED)
        for ticker in list(market().companies)[10:34]:
            await talk.ask(f"tell me about {ticker}")
        trace = (await talk.chat.messages(limit=100))[-1].tool_trace
        assert [item["dropped"] for item in trace if item["kind"] == "context"] == [True]
        assert (await talk.ask("the second one"))[0] == [("describe_company", {"ticker": "LEN"})]
        assert (await talk.ask("and its margins?"))[0][0][1]["ticker"] == "LEN"
        assert (await talk.ask("no, the first list"))[0] == [("rank_stocks", {"theme": "rate_cuts", "limit": 5})]


async def test_the_lists_so_far_can_be_asked_for_and_are_not_mistaken_for_another_list() -> None:
    async with talking() as talk:
        for question in BANKS:
            await talk.ask(question)
        _, answer = await talk.ask("which lists have you shown so far?")
        assert "1. DHI, LEN, NEE, PLD, AMT; 2. JPM, C, PNC, USB, WFC" in answer.content
        assert (await talk.ask("the first one"))[0] == [("describe_company", {"ticker": "JPM"})]


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


async def test_a_company_that_is_not_there_is_answered_with_those_that_sound_like_it() -> None:
    async with talking() as talk:
        _, answer = await talk.ask("tell me about AAPX")
    assert "'AAPX' is not in the data. Did you mean Apple (AAPL)" in answer.content


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


async def test_the_suppliers_of_a_list_are_told_company_by_company() -> None:
    async with talking() as talk:
        await talk.ask(LISTED)
        calls, _ = await talk.ask("who supplies them?")
    assert [(name, args["ticker"]) for name, args in calls] == [("supply_chain", ticker) for ticker in FIRST_LIST]


async def test_equals_share_the_first_place() -> None:
    async with talking() as talk:
        await talk.ask("compare NVDA and AMD")
        _, answer = await talk.ask("which one is safer?")
    assert "Advanced Micro Devices and Nvidia share the first place" in answer.content


@pytest.mark.parametrize(
    "question",
    [
        "market cap?",
        "which one has the lowest debt?",
        "tell me a joke",
        "sell?",
        "asdfgh qwerty",
        "cheap stocks under $50",
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


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("revenue of Apple in Q3 2024", "in 2024-Q3 its revenue was "),
        ("Apple's margins in the first quarter of 2023", "in 2023-Q1 its gross margin was "),
        ("revenue of Apple in 2023", "between 2023-Q1 and 2023-Q4 its revenue went from "),
        ("revenue of Apple in Q3 1999", "The data has no quarter"),
        ("revenue of Apple in 2050", "The data has no quarter"),
    ],
)
async def test_a_quarter_or_a_year_is_told_alone(question: str, told: str) -> None:
    async with talking() as talk:
        assert told in (await talk.ask(question))[1].content


@pytest.mark.parametrize(
    ("question", "args"),
    [
        ("which sector benefits most from rate cuts?", {"theme": "rate_cuts"}),
        ("what sector has the lowest margins?", {"theme": "margins", "reverse": True}),
    ],
)
async def test_a_sector_is_asked_for_and_not_its_companies(question: str, args: dict[str, object]) -> None:
    async with talking() as talk:
        calls, answer = await talk.ask(question)
    assert calls == [("rank_sectors", args)]
    assert "1. " in answer.content


async def test_which_of_the_two_means_those_that_were_looked_at_last() -> None:
    async with talking() as talk:
        for question in (LISTED, "the second one", "and the fourth one"):
            await talk.ask(question)
        calls, _ = await talk.ask("which of the two is cheaper?")
    assert calls == [("rank_stocks", {"theme": "value", "tickers": ["LEN", "PLD"]})]


async def test_the_runner_up_and_the_others_are_those_of_the_list() -> None:
    async with talking() as talk:
        await talk.ask(LISTED)
        assert (await talk.ask("tell me about the runner-up"))[0] == [("describe_company", {"ticker": "LEN"})]
        others = await talk.ask("and which of the others pays the highest dividends?")
    assert others[0][0][1]["tickers"] == [ticker for ticker in FIRST_LIST if ticker != "LEN"]
