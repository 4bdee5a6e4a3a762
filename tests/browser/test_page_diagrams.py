"""Diagrams: drawn by themselves in the colours of the page, in a frame that reaches nothing; what is none says so."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import NewContext
from tests.browser.person import Api, Person
from tests.browser.server import Server
from tests.browser.waiting import patiently

FENCE = "```mermaid\n{}\n```"
HOSTILE = 'graph TD\n  A["<i>here</i>"] --> B["<script>alert(2)</script>"]\n  click A "javascript:alert(3)"'
REACH = """() => {
    try { return [origin, String(parent.document.title)]; } catch (error) { return [origin, error.name]; }
}"""


async def test_a_diagram_is_drawn_by_itself_in_a_frame_without_an_origin(person: Person, api: Api) -> None:
    asked: list[str] = []
    person.page.on("dialog", lambda dialog: asked.append(f"alert {dialog.message}"))
    await person.open(await api.begin(f"Repeat {FENCE.format(HOSTILE)}"))
    figure = person.answers.locator("figure")
    frame = figure.frame_locator("iframe")
    await expect(frame.locator("svg .node")).to_have_count(2)
    await expect(figure.locator("pre")).to_be_hidden()
    assert await figure.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    inside = next(each for each in person.page.frames if "/diagram" in each.url)
    assert await inside.evaluate(REACH) == ["null", "SecurityError"]
    assert await frame.locator("body :is(script, a[href^=javascript])").count() == 0
    assert not asked
    await figure.get_by_role("button", name="Source").click()
    await expect(figure.locator("pre")).to_contain_text("graph TD")
    await expect(figure.locator("iframe")).to_be_hidden()
    await figure.get_by_role("button", name="Diagram").click()
    await expect(figure.locator("iframe")).to_be_visible()


async def test_a_diagram_has_the_colours_of_the_page_also_when_they_change(
    new_context: NewContext, stage: Server, api: Api
) -> None:
    page = await (await new_context(color_scheme="light", reduced_motion="reduce")).new_page()
    person = Person(page, stage.url)
    await person.open(await api.begin(f"Repeat {FENCE.format('graph TD; A[one] --> B[two]')}"))
    ground: Any = "getComputedStyle(document.body).backgroundColor"
    body = person.answers.frame_locator("iframe").locator("body:has(svg)")
    for way in ("light", "dark"):
        await page.emulate_media(color_scheme=way)

        async def is_alike() -> bool:
            return await body.count() == 1 and await body.evaluate(f"() => {ground}") == await page.evaluate(ground)

        await patiently(is_alike)
        await find_nothing(page, f"a diagram, {way}")


@pytest.mark.parametrize("text", ["graph TD; A --> ", "sequenceDiagram\n" + "loop a\n" * 3000])
async def test_what_is_no_diagram_or_larger_than_anybody_draws_says_so(person: Person, api: Api, text: str) -> None:
    await person.open(await api.begin(f"Repeat {FENCE.format(text)}"))
    await expect(person.answers.locator(".tk-diagram")).to_contain_text("This cannot be drawn:")
    await expect(person.answers.locator("pre")).to_be_visible()
