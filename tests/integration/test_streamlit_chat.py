"""The Streamlit client of R-A6, run by Streamlit's own test harness against a real server on a real socket."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from streamlit.testing.v1 import AppTest

from tests.integration.serving import AT_ONCE, Server, serving
from threadkeep.llm.base import Text
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep_assistants.chat import ASSISTANT as CHAT
from threadkeep_assistants.skillian import ASSISTANT as SKILLIAN

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "examples" / "streamlit_chat.py"
PATIENCE = 60


@pytest_asyncio.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    async with serving(assistants=[CHAT, SKILLIAN]) as server:
        monkeypatch.setenv("THREADKEEP_URL", server.url)
        yield server


async def opened(conversation: str | None = None) -> AppTest:
    """Open the page as a browser does, at the address of a conversation if there is one."""
    page = AppTest.from_file(PAGE, default_timeout=PATIENCE)
    if conversation is not None:
        page.query_params["conversation"] = conversation
    return await run(page)


async def run(page: AppTest) -> AppTest:
    """Run the page beside the server, which lives in the event loop of the test."""
    await asyncio.to_thread(page.run)
    assert not page.exception, page.exception
    return page


async def say(page: AppTest, question: str) -> AppTest:
    page.chat_input[0].set_value(question)
    return await run(page)


def said(page: AppTest) -> list[tuple[str, str]]:
    """Return the messages of the page: who, and the first text."""
    texts = [(message.name, [text.value for text in message.markdown]) for message in page.chat_message]
    return [(name, first[0] if first else "") for name, first in texts]


def address(page: AppTest) -> str:
    return str(page.query_params["conversation"])


def new_conversation(page: AppTest) -> AppTest:
    next(button for button in page.sidebar.button if button.label == "New Chat").click()
    return page


def test_the_guide_names_the_settings_that_the_page_reads() -> None:
    guide = (ROOT / "docs" / "howto" / "chat-with-streamlit.md").read_text(encoding="utf-8")
    read = set(re.findall(r"THREADKEEP_[A-Z]+", PAGE.read_text(encoding="utf-8")))
    assert read == set(re.findall(r"THREADKEEP_[A-Z]+", guide))
    assert all(f"*{example}*" in guide for example in SKILLIAN.examples)


async def test_an_empty_page_says_what_can_be_asked(server: Server) -> None:
    page = await opened()
    assert "What is the budget of cost centre CC-1001?" in page.caption[0].value
    assert page.sidebar.selectbox[0].options == ["skillian", "chat"]
    assert said(page) == []


async def test_a_question_is_answered_and_the_tool_that_was_used_is_shown(server: Server) -> None:
    page = await say(await opened(), "What is the budget of cost centre CC-1001?")
    [(_, question), (_, silent), (who, answer)] = said(page)
    assert (question, silent, who) == ("What is the budget of cost centre CC-1001?", "", "assistant")
    assert answer.startswith("CC-1001 (Marketing) has a budget of 50,000 EUR")
    [tool] = page.expander
    assert tool.label == "Tool: get_budget"
    shown = [element.value.replace(" ", "").replace("\n", "") for element in tool.json]
    assert shown == ['{"cost_center":"CC-1001"}', '{"budget":50000,"spent":35000}']
    assert len(page.table) == 1


async def test_a_follow_up_goes_on_in_the_same_conversation(server: Server) -> None:
    page = await say(await opened(), "Compare FI and BPC for company 1000")
    first = address(page)
    page = await say(page, "show me the top 3")
    assert address(page) == first
    assert said(page)[-2:][0] == ("user", "show me the top 3")
    assert said(page)[-1][1].startswith("The 3 largest of 15 differences between FI and BPC")
    assert len(page.expander) == 1
    assert [title.value for title in page.columns[0].markdown] == ["**FI**"]


async def test_a_refresh_shows_the_same_conversation(server: Server) -> None:
    page = await say(await opened(), "What is the budget of cost centre CC-1001?")
    again = await opened(address(page))
    assert said(again) == said(page)
    assert [tool.label for tool in again.expander] == ["Tool: get_budget"]
    assert said(await say(again, "how much is left of it?"))[-1][1].endswith("15,000 EUR is left.")


async def test_new_chat_begins_another_conversation_and_keeps_the_old_one(server: Server) -> None:
    page = await say(await opened(), "What is the budget of cost centre CC-1001?")
    first = address(page)
    page = await run(new_conversation(page))
    assert (said(page), "conversation" in page.query_params) == ([], False)
    page = await say(page, "What is the budget of CC-1002?")
    assert address(page) != first
    assert len(said(page)) == 3
    assert "CC-1001" in said(await opened(first))[-1][1]


async def test_another_assistant_can_be_chosen_for_a_new_chat(server: Server) -> None:
    page = await opened()
    page.sidebar.selectbox[0].select("chat")
    page = await say(await run(page), "My name is Alice.")
    assert (await server.client.get(f"/v1/conversations/{address(page)}")).json()["assistant"] == "chat"


async def test_dollars_are_no_formulas(server: Server) -> None:
    page = await say(await opened(), "My name is $Alice$")
    assert said(page)[0] == ("user", "My name is \\$Alice\\$")


async def test_a_server_that_is_away_is_told_and_the_page_comes_back_with_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THREADKEEP_URL", "http://127.0.0.1:1")
    page = await opened()
    [error] = page.error
    assert error.value.startswith("No server answers at http://127.0.0.1:1. Start one with `threadkeep serve`")
    page.sidebar.text_input[0].set_value(server.url)
    page = await run(page)
    assert not page.error
    assert said(await say(page, "What is the budget of CC-1001?"))[-1][1].startswith("CC-1001")


@pytest.mark.parametrize("address", ["nobody-knows-this", "../me", "a b"])
async def test_a_conversation_that_is_not_there_is_told_and_new_chat_leaves_it(server: Server, address: str) -> None:
    page = await opened(address)
    assert page.error[0].value.startswith("The server refused this: ")
    assert not (await run(new_conversation(page))).error


@pytest.mark.server_may_fail
async def test_a_turn_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(assistants=[SKILLIAN], model=ScriptedModel()) as server:
        monkeypatch.setenv("THREADKEEP_URL", server.url)
        page = await say(await opened(), "hello")
        assert page.error[0].value.startswith("The turn failed: ")
        assert said(page)[0] == ("user", "hello")


async def test_a_key_is_sent_and_a_missing_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(assistants=[SKILLIAN], auth="keys") as server:
        monkeypatch.setenv("THREADKEEP_URL", server.url)
        page = await opened()
        assert "API key is needed" in page.error[0].value
        _, header = await server.key("acme", "ann")
        page.sidebar.text_input[1].set_value(header["Authorization"].removeprefix("Bearer "))
        page = await say(await run(page), "What is the budget of CC-1001?")
        assert said(page)[-1][1].startswith("CC-1001")


async def test_a_page_that_is_opened_in_the_middle_of_an_answer_shows_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = asyncio.Event()
    async with serving(
        assistants=[SKILLIAN], model=ScriptedModel([Text("Well, "), gate, *says("here it is.")])
    ) as server:
        monkeypatch.setenv("THREADKEEP_URL", server.url)
        path = await server.conversation()
        await server.client.post(f"{path}/messages", json={"content": "hello"}, headers=AT_ONCE)
        opening = asyncio.create_task(opened(path.rsplit("/", 1)[1]))
        await server.until_streams(1)
        gate.set()
        assert said(await opening) == [("user", "hello"), ("assistant", "Well, here it is.")]
