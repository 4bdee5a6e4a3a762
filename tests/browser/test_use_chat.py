"""`useChat` of the AI SDK in a real browser: our example, reloaded, in two tabs, and with a server that is killed."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.bundling import AppTab, app_of
from tests.browser.conftest import Serve
from tests.browser.waiting import patiently
from tests.integration.serving import Server, serving
from threadkeep.llm.base import Stopped, Text
from threadkeep.testing.scripted_model import ScriptedModel, Step, says


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of the example."""
    with app_of("use_chat.jsx", tmp_path_factory.mktemp("app")) as origin:
        yield origin


class ChatTab(AppTab):
    """A tab with the example."""

    def __init__(self, page: Page, app: str, server: str) -> None:
        super().__init__(page, app, server)
        self.answer = page.locator("[data-role=assistant] p").last
        self.said = page.locator("article p")

    async def shows_the_log(self) -> None:
        """Wait until nothing is written any more, and check that it is all as the server has it."""
        await expect(self.page.locator("main[data-status=ready]")).to_be_visible()
        async with httpx.AsyncClient() as client:
            messages = (await client.get(f"{self.server}/ai-sdk/chat/{self.chat}")).json()
        texts = ["".join(part.get("text", "") for part in each["parts"] if part["type"] == "text") for each in messages]
        await expect(self.said).to_have_text(texts)


async def test_an_answer_goes_on_through_reloads_and_in_a_second_tab(context: BrowserContext, app: str) -> None:
    gates = [asyncio.Event() for _ in range(4)]
    words = ("One ", "two ", "three ", "four.")
    steps: list[Step] = [step for word, gate in zip(words, gates, strict=True) for step in (Text(word), gate)]
    model = ScriptedModel([*steps, Stopped("stop")], says("Another."), says("Edited."))
    async with serving(model=model, protocols="ai-sdk", cors_origins=(app,)) as server:
        tab = ChatTab(await context.new_page(), app, server.url)
        await tab.open()
        await tab.say("Count")
        tabs = [tab, ChatTab(await context.new_page(), app, server.url)]
        for count, gate in enumerate(gates, start=1):
            for each in tabs[: 1 if count == 1 else 2]:
                await expect(each.answer).to_have_text("".join(words[:count]).strip())
            if count == 1:
                await tabs[1].open(tab.chat)
            elif count == 2:
                await tab.page.reload()
            gate.set()
        for each in tabs:
            await each.shows_the_log()
        await _branches(tabs[0], server)
        model.assert_finished()


async def _branches(tab: ChatTab, server: Server) -> None:
    await tab.button("Answer again").click()
    await expect(tab.answer).to_have_text("Another.")
    await tab.page.reload()
    await expect(tab.button("2")).to_have_attribute("aria-pressed", "true")
    await tab.button("1").click()
    await expect(tab.answer).to_have_text("One two three four.")
    tab.page.once("dialog", lambda dialog: dialog.accept("Count again"))
    await tab.button("Edit").click()
    await expect(tab.answer).to_have_text("Edited.")
    await tab.shows_the_log()
    (asked, _) = (await server.client.get(f"/ai-sdk/chat/{tab.chat}")).json()
    assert len(asked["metadata"]["branches"]) == 2


async def test_stop_stops_the_answer_for_everybody(context: BrowserContext, app: str) -> None:
    model = ScriptedModel([Text("It begins "), asyncio.Event()])
    async with serving(model=model, protocols="ai-sdk", cors_origins=(app,)) as server:
        tab = ChatTab(await context.new_page(), app, server.url)
        await tab.open()
        await tab.say("Go on")
        await expect(tab.answer).to_have_text("It begins")
        await tab.button("Stop").click()
        await tab.shows_the_log()


async def test_a_server_that_is_killed_in_mid_answer_comes_back_and_so_does_the_answer(
    context: BrowserContext, app: str, serve: Serve
) -> None:
    server = serve(pace=0.2, variables={"THREADKEEP_PROTOCOLS": "ai-sdk", "THREADKEEP_CORS_ORIGINS": app})
    tab = ChatTab(await context.new_page(), app, server.url)
    await tab.open()
    await tab.say("Tell me a story")
    await expect(tab.answer).to_contain_text("I am the scripted demo")
    server.kill()
    await expect(tab.page.get_by_role("alert")).to_be_visible()
    server.start(pace=0.001)
    await expect(tab.page.get_by_role("alert")).to_be_hidden()

    async def is_over() -> bool:
        async with httpx.AsyncClient() as client:
            messages = (await client.get(f"{server.url}/ai-sdk/chat/{tab.chat}")).json()
        return len(messages) == 2 and messages[1]["metadata"].get("state") == "completed"

    await patiently(is_over)
    await tab.shows_the_log()
    await tab.say("And another")
    await expect(tab.said).to_have_count(4)
    await tab.shows_the_log()
