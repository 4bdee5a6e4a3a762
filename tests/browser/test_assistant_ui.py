"""assistant-ui in a real browser: our example, its threads and branches from us, its answers by us."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.bundling import AppTab, app_of
from tests.browser.conftest import Serve
from tests.browser.waiting import patiently
from tests.integration.obliging import obliging
from tests.integration.serving import Server, serving
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL
from threadkeep.llm.base import Stopped, Text
from threadkeep.testing.scripted_model import ScriptedModel, says

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763606060000000040001f6173855"
    "0000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of the example."""
    with app_of("assistant_ui_chat.jsx", tmp_path_factory.mktemp("app")) as origin:
        yield origin


class ThreadTab(AppTab):
    """A tab with the example."""

    def __init__(self, page: Page, app: str, server: str) -> None:
        super().__init__(page, app, server)
        self.said = page.locator("[data-role=user]")
        self.answers = page.locator("[data-role=assistant]")
        self.threads = page.locator("nav li")
        self.archived = page.get_by_test_id("archived").locator("li")

    async def edit(self, number: int, text: str) -> None:
        """Edit the message with a number."""
        await self.said.nth(number).get_by_role("button", name="Edit").click()
        await self.page.get_by_label("Edited message").fill(text)
        await self.button("Save").click()

    async def shows(self, *texts: str) -> None:
        """Wait until the thread has these messages."""
        shown = self.page.locator("[data-role=user], [data-role=assistant]")
        await expect(shown).to_have_count(len(texts))
        for place, text in enumerate(texts):
            await expect(shown.nth(place)).to_contain_text(text)


async def messages_in(server: Server, thread: str) -> list[dict[str, Any]]:
    """Return the messages of a thread's current branch as the log has them."""
    read = await server.client.get(f"/v1/conversations/{thread}")
    found: list[dict[str, Any]] = read.json()["messages"]
    return found


async def test_an_answer_goes_on_through_a_reload_and_in_a_second_tab_and_an_edit_is_a_branch(
    context: BrowserContext, app: str
) -> None:
    gate, end = asyncio.Event(), asyncio.Event()
    model = ScriptedModel(
        [Text("It begins "), gate, Text("and goes on "), end, Text("to its end."), Stopped("stop")],
        *(says(text) for text in ("Second.", "Edited.", "Again.", "Root.", "More.")),
    )
    async with serving(model=model, protocols="ai-sdk,assistant-ui", cors_origins=(app,)) as server:
        tab = ThreadTab(await context.new_page(), app, server.url)
        await tab.open()
        await tab.say("First question")
        await tab.shows("First question", "It begins")
        await tab.page.reload()
        await tab.shows("First question", "It begins")
        other = ThreadTab(await context.new_page(), app, server.url)
        await other.open(tab.chat)
        await other.shows("First question", "It begins")
        gate.set()
        for each in (tab, other):
            await each.shows("First question", "It begins and goes on")
        end.set()
        for each in (tab, other):
            await each.shows("First question", "It begins and goes on to its end.")
        await other.page.close()
        await tab.say("Second question")
        await tab.shows("First question", "to its end.", "Second question", "Second.")
        await tab.edit(1, "Another question")
        await tab.shows("First question", "to its end.", "Another question", "Edited.")
        await tab.answers.nth(1).get_by_role("button", name="Answer again").click()
        await tab.shows("First question", "to its end.", "Another question", "Again.")
        await _branches(tab, server)
        model.assert_finished()


async def _branches(tab: ThreadTab, server: Server) -> None:
    """Look at the branches after a reload, and go on in an older one."""
    thread = tab.chat

    async def is_kept() -> bool:
        rows = await server.client.get(f"/assistant-ui/v1/threads/{thread}/messages?format=ai-sdk/v6")
        return len(rows.json()["messages"]) == 7

    await patiently(is_kept)
    await tab.page.reload()
    await tab.shows("First question", "to its end.", "Another question", "Again.")
    await expect(tab.threads).to_contain_text("First question")
    await expect(tab.page.locator("[data-role=assistant]").last).to_contain_text("2 of 2")
    await expect(tab.said.nth(1)).to_contain_text("2 of 2")
    await tab.said.nth(1).get_by_role("button", name="‹").click()
    await tab.shows("First question", "to its end.", "Second question", "Second.")
    await tab.edit(0, "Quite another")
    await tab.shows("Quite another", "Root.")
    await tab.said.first.get_by_role("button", name="‹").click()
    await tab.shows("First question", "to its end.", "Second question", "Second.")
    await tab.say("Third question")
    await tab.shows("First question", "to its end.", "Second question", "Second.", "Third question", "More.")
    said = [
        "First question",
        "It begins and goes on to its end.",
        "Second question",
        "Second.",
        "Third question",
        "More.",
    ]
    assert [each["content"] for each in await messages_in(server, thread)] == said
    await tab.page.reload()
    await tab.shows("First question", "to its end.", "Second question", "Second.", "Third question", "More.")
    # What the page has sent after each answer was there already.
    entries = [entry.body async for entry in server.conversations.at(LOCAL, thread).reading.entries()]
    assert not [body for body in entries if isinstance(body, Message) and body.id.startswith("kept-")]


async def test_threads_are_renamed_archived_restored_and_deleted(context: BrowserContext, app: str) -> None:
    async with serving(protocols="all", cors_origins=(app,)) as server:
        tab = ThreadTab(await context.new_page(), app, server.url)
        await tab.open()
        for number, said in enumerate(("What time is it?", "Who are you?"), start=1):
            await tab.button("New thread").first.click()
            await tab.say(said)
            await expect(tab.answers).to_have_count(1)
            await expect(tab.button("Stop")).to_be_hidden()
            await expect(tab.threads).to_have_count(number)
        first, second = tab.threads.filter(has_text="What time"), tab.threads.filter(has_text="Who are you")
        tab.page.once("dialog", lambda dialog: dialog.accept("The clock"))
        await first.get_by_role("button", name="Rename").click()
        await expect(tab.threads.filter(has_text="The clock")).to_be_visible()
        await second.get_by_role("button", name="Archive").click()
        await expect(tab.archived).to_have_count(1)
        await tab.page.reload()
        await expect(tab.archived).to_contain_text("Who are you")
        listed = (await server.client.get("/v1/conversations?archived=true")).json()["data"]
        assert [each["title"] for each in listed] == ["Who are you?"]
        await tab.archived.get_by_role("button", name="Restore").click()
        await expect(tab.archived).to_have_count(0)
        clock = tab.threads.filter(has_text="The clock")
        await clock.get_by_role("button", name="The clock").click()
        await tab.shows("What time is it?", "")
        await clock.get_by_role("button", name="Delete").click()
        await expect(clock).to_have_count(0)
        await tab.page.reload()
        await expect(tab.threads).to_have_count(1)
        await expect(tab.threads).to_contain_text("Who are you")


async def test_a_tool_waits_for_a_person_through_a_reload(context: BrowserContext, app: str) -> None:
    async with obliging(cors_origins=(app,)) as server:
        tab = ThreadTab(await context.new_page(), app, server.url)
        await tab.open()
        await tab.say("use remove\nuse remove\ndone")
        tool = tab.page.get_by_test_id("tool")
        for count, answer in enumerate(("Allow", "Refuse"), start=1):
            await expect(tool).to_have_count(count)
            await expect(tab.button(answer)).to_be_visible()
            await tab.page.reload()
            await tab.button(answer).click()
        await expect(tab.answers).to_contain_text("done")
        await expect(tool.first).to_contain_text('"removed hall 0"')
        results = [each["content"] for each in await messages_in(server, tab.chat) if each["role"] == "tool"]
        assert results[0] == "removed hall 0"
        assert "removed" not in results[1]


async def test_a_tool_of_the_page_runs_there(context: BrowserContext, app: str) -> None:
    async with obliging(cors_origins=(app,)) as server:
        tab = ThreadTab(await context.new_page(), app, server.url)
        await tab.open()
        await tab.say("use look clock\nuse clock\ndone")
        await expect(tab.answers).to_contain_text("done")
        await expect(tab.page.get_by_test_id("tool").first).to_contain_text("GMT")
        results = [each["content"] for each in await messages_in(server, tab.chat) if each["role"] == "tool"]
        assert sorted("GMT" in result for result in results) == [False, True, True]
        await tab.page.reload()
        await tab.shows("use look clock", "done")


async def test_a_picture_is_uploaded_sent_and_seen_after_a_reload(context: BrowserContext, app: str) -> None:
    async with serving(protocols="all", cors_origins=(app,)) as server:
        tab = ThreadTab(await context.new_page(), app, server.url)
        await tab.open()
        async with tab.page.expect_file_chooser() as chosen:
            await tab.button("Attach").click()
        await (await chosen.value).set_files({"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL})
        await expect(tab.page.get_by_test_id("attached")).to_have_text("dot.png")
        await tab.say("What is this?")
        await expect(tab.answers).to_have_count(1)
        await expect(tab.button("Stop")).to_be_hidden()
        parts = (await messages_in(server, tab.chat))[0]["parts"]
        assert [part["name"] for part in parts] == ["dot.png"]
        await tab.page.reload()
        picture = tab.said.locator("img")
        await expect(picture).to_have_count(1)
        await patiently(lambda: picture.evaluate("(img) => img.naturalWidth === 1"))


async def test_a_server_that_is_killed_in_mid_answer_comes_back_and_so_does_the_answer(
    context: BrowserContext, app: str, serve: Serve
) -> None:
    on = {"THREADKEEP_PROTOCOLS": "ai-sdk,assistant-ui", "THREADKEEP_CORS_ORIGINS": app}
    server = serve(pace=0.2, variables=on)
    tab = ThreadTab(await context.new_page(), app, server.url)
    await tab.open()
    await tab.say("Tell me a story")
    await expect(tab.answers).to_contain_text("I am the scripted demo")
    server.kill()
    await expect(tab.page.get_by_role("alert")).to_be_visible()
    server.start(pace=0.001)
    await expect(tab.page.get_by_role("alert")).to_be_hidden()

    async def shows_the_log() -> bool:
        async with httpx.AsyncClient() as client:
            log = (await client.get(f"{server.url}/v1/conversations/{tab.chat}")).json()["messages"]
        shown = " ".join((await tab.answers.last.inner_text()).split())
        return len(log) > 2 and all(" ".join(each["content"].split())[:500] in shown for each in log[1:])

    await patiently(shows_the_log)
    await tab.page.reload()
    await patiently(shows_the_log)
