"""The page where a proxy serves it under a part of its host."""

from playwright.async_api import BrowserContext, expect

from tests.browser.conftest import Serve
from tests.browser.person import Person

ROOT_PATH = "/team/threads"


async def test_everything_stays_under_the_path(context: BrowserContext, serve: Serve) -> None:
    server = serve("--root-path", ROOT_PATH)
    page = await context.new_page()
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    person = Person(page, f"{server.url}{ROOT_PATH}")
    await person.open()
    await person.begin("Hello there", assistant="Chat")
    await person.is_answered()
    assert page.url.startswith(f"{server.url}{ROOT_PATH}/c/")
    await page.evaluate("navigator.serviceWorker.ready")
    await page.reload()
    await expect(page.get_by_test_id("answer-text")).to_have_count(1)
    assert await page.evaluate("navigator.serviceWorker.ready.then((found) => new URL(found.scope).pathname)") == (
        f"{ROOT_PATH}/"
    )
    outside = [url for url in asked if not url.startswith(f"{server.url}{ROOT_PATH}/")]
    assert outside == []
