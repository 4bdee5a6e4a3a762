"""Diagrams: drawn when somebody asks, in a frame that can reach nothing; what is no diagram says so."""

import pytest
from playwright.async_api import expect

from tests.browser.person import Api, Person

FENCE = "```mermaid\n{}\n```"
HOSTILE = 'graph TD\n  A["<i>here</i>"] --> B["<script>alert(2)</script>"]\n  click A "javascript:alert(3)"'
REACH = """() => {
    try { return [origin, String(parent.document.title)]; } catch (error) { return [origin, error.name]; }
}"""


async def test_a_diagram_is_drawn_when_asked_for_in_a_frame_without_an_origin(person: Person, api: Api) -> None:
    asked: list[str] = []
    person.page.on("request", lambda request: asked.append(request.url))
    person.page.on("dialog", lambda dialog: asked.append(f"alert {dialog.message}"))
    await person.open(await api.begin(f"Repeat {FENCE.format(HOSTILE)}"))
    figure = person.answers.locator("figure")
    await expect(figure).to_contain_text("graph TD")
    assert not [url for url in asked if "mermaid" in url]
    await figure.get_by_role("button", name="Draw the diagram").click()
    frame = figure.frame_locator("iframe")
    await expect(frame.locator("svg .node")).to_have_count(2)
    assert await figure.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    inside = next(each for each in person.page.frames if "/diagram" in each.url)
    assert await inside.evaluate(REACH) == ["null", "SecurityError"]
    assert await frame.locator("body :is(script, a[href^=javascript])").count() == 0
    assert not [one for one in asked if one.startswith("alert")]
    await figure.get_by_role("button", name="Hide the diagram").click()
    await expect(figure.locator("iframe")).to_have_count(0)


@pytest.mark.parametrize("text", ["graph TD; A --> ", "sequenceDiagram\n" + "loop a\n" * 3000])
async def test_what_is_no_diagram_or_larger_than_anybody_draws_says_so(person: Person, api: Api, text: str) -> None:
    await person.open(await api.begin(f"Repeat {FENCE.format(text)}"))
    await person.answers.get_by_role("button", name="Draw the diagram").click()
    await expect(person.answers.locator(".tk-diagram")).to_contain_text("This cannot be drawn:")
