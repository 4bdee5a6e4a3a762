"""Images that an answer refers to: ours are there at once, others when somebody wants them and no sooner."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from playwright.async_api import Page, Request, Route, expect

from tests.browser.axe import find_nothing
from tests.browser.person import Api, Person
from tests.browser.pixels import png
from tests.browser.talking import Tab
from tests.integration.serving import AT_ONCE, serving
from threadkeep.llm.base import Stopped, Text
from threadkeep.testing.scripted_model import ScriptedModel, Step

HOST = "https://pictures.example"
ELSEWHERE = f"- A picture: ![a red square]({HOST}/red.png) and ![nothing]({HOST}/gone.png)"
NOT_OURS = "![a](/v1/me) ![b](/v1/files/../me) ![c](//pictures.example/v1/files/d) ![d](/v1/files/e?f=g)"


def host(asked: list[Request]) -> Callable[[Route], Coroutine[Any, Any, None]]:
    """Play the host that has one of two images, and note what it is asked for."""

    async def serve(route: Route) -> None:
        asked.append(route.request)
        if route.request.url.endswith("red.png"):
            await route.fulfill(body=png(40, 20), content_type="image/png")
        else:
            await route.fulfill(status=404)

    return serve


@pytest.mark.usefixtures("no_worker")
async def test_an_image_from_elsewhere_is_loaded_by_a_click_and_no_sooner(page: Page) -> None:
    asked: list[Request] = []
    await page.route(f"{HOST}/**", host(asked))
    gates = [asyncio.Event() for _ in range(3)]
    # The second piece goes on in the same line; with the third the item becomes a paragraph, which is drawn anew.
    steps: list[Step] = [Text(ELSEWHERE), gates[0], Text(" so"), gates[1], Text(" far.\n\n- Loose"), gates[2]]
    async with serving(model=ScriptedModel([*steps, Stopped("stop")])) as server:
        path = await server.conversation(title="Pictures")
        await server.say(path, "Show me pictures.", **AT_ONCE)
        tab = Tab(page, server.url)
        await tab.open(path.rpartition("/")[2])
        answer = tab.answers.last
        buttons = answer.get_by_role("button", name="Show image")
        await expect(buttons).to_have_count(2)
        assert asked == []

        await buttons.first.click()
        frame = answer.locator("iframe[title='a red square']")
        await expect(frame).to_have_attribute("data-state", "shown")
        await expect(frame.content_frame.get_by_role("img", name="a red square")).to_be_visible()
        size = await frame.bounding_box()
        assert size is not None
        assert (round(size["width"]), round(size["height"])) == (40, 20)
        await find_nothing(page, "an image that was loaded")
        await buttons.click()
        await expect(answer).to_contain_text("This image cannot be loaded.")
        gates[0].set()
        await expect(answer).to_contain_text("so")
        assert [request.url for request in asked] == [f"{HOST}/red.png", f"{HOST}/gone.png"]
        told = await asked[0].all_headers()
        assert "referer" not in told
        assert "cookie" not in told

        gates[1].set()
        await expect(answer).to_contain_text("Loose")
        await expect(frame).to_have_attribute("data-state", "shown")
        await expect(buttons).to_have_count(0)
        gates[2].set()
        await expect(answer).to_have_attribute("data-state", "done")
        await expect(frame).to_have_attribute("data-state", "shown")
        await expect(answer.get_by_role("link", name="nothing")).to_have_attribute("href", f"{HOST}/gone.png")


async def test_files_of_ours_are_shown_where_an_answer_refers_to_them(person: Person, api: Api) -> None:
    async def upload(name: str, data: bytes) -> str:
        return str((await api.client.post("/v1/files", params={"name": name}, content=data)).json()["id"])

    red, blue = await upload("red.png", png(320, 200)), await upload("blue.png", png(40, 40, (30, 30, 200)))
    notes = await upload("notes.md", b"# Notes")
    images = f"![a red square](/v1/files/{red}) and ![blue]({person.url}/v1/files/{blue})"
    others = f"[my notes](/v1/files/{notes}), ![no image](/v1/files/{notes})"
    page = person.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await person.open(await api.begin(f"repeat {images}\n\n{others}\n\n{NOT_OURS}"))
    answer = person.answers.last
    await expect(answer.get_by_role("img", name="a red square")).to_have_js_property("naturalWidth", 320)
    await expect(answer.get_by_role("img")).to_have_count(2)
    for name in ("my notes", "no image"):
        await expect(answer.get_by_role("link", name=name)).to_have_attribute("href", f"{person.url}/v1/files/{notes}")
    await find_nothing(page, "images of ours in an answer")
    assert {url for url in asked if "/files/" in url} == {f"{person.url}/v1/files/{id}" for id in (red, blue, notes)}

    await answer.get_by_role("button", name="Show a red square full size").click()
    viewer = page.get_by_test_id("viewer")
    await page.keyboard.press("ArrowRight")
    await expect(viewer.get_by_role("img", name="blue")).to_have_js_property("naturalWidth", 40)
