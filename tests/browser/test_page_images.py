"""Images in an answer that are elsewhere: nobody is asked for them before somebody wants to see them."""

from playwright.async_api import Request, Route, expect

from tests.browser.axe import find_nothing
from tests.browser.person import Api, Person
from tests.browser.pixels import png

HOST = "https://pictures.example"
TEXT = f"repeat A picture: ![a red square]({HOST}/red.png) and ![nothing]({HOST}/gone.png)"


async def test_an_image_from_elsewhere_is_loaded_by_a_click_and_no_sooner(person: Person, api: Api) -> None:
    asked: list[Request] = []

    async def serve(route: Route) -> None:
        asked.append(route.request)
        if route.request.url.endswith("red.png"):
            await route.fulfill(body=png(40, 20), content_type="image/png")
        else:
            await route.fulfill(status=404)

    await person.page.route(f"{HOST}/**", serve)
    await person.open(await api.begin(TEXT))
    answer = person.answers.last
    buttons = answer.get_by_role("button", name="Show image")
    await expect(buttons).to_have_count(2)
    assert asked == []

    await buttons.first.click()
    frame = answer.locator("iframe")
    await expect(frame).to_have_attribute("data-state", "shown")
    await expect(frame.content_frame.get_by_role("img", name="a red square")).to_be_visible()
    size = await frame.bounding_box()
    assert size is not None
    assert (round(size["width"]), round(size["height"])) == (40, 20)
    assert [request.url for request in asked] == [f"{HOST}/red.png"]
    told = await asked[0].all_headers()
    assert "referer" not in told
    assert "cookie" not in told
    await find_nothing(person.page, "an image that was loaded")

    await buttons.click()
    await expect(answer).to_contain_text("This image cannot be loaded.")
    await expect(answer.get_by_role("link", name="nothing")).to_have_attribute("href", f"{HOST}/gone.png")
