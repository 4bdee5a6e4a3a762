"""A person at the page, in the words of a test: opens it, says something, waits for the answer.

`Api` is another device of the same person: it talks to the server directly.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from playwright.async_api import Locator, Page, expect

from tests.browser.server import PATIENCE
from tests.browser.waiting import until

AT_ONCE = {"Prefer": "respond-async"}
TAKE = "navigator.clipboard.readText().then((text) => navigator.clipboard.writeText('').then(() => text))"


class Api:
    """What the server is asked besides the page."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def begin(self, *said: str, **fields: Any) -> str:
        """Create a conversation with the assistant of the tests, say something in it, and return its id."""
        body = {"assistant": "stage", **fields}
        made = (await self.client.post("/v1/conversations", json=body)).raise_for_status()
        id = str(made.json()["id"])
        for content in said:
            await self.say(id, content)
        return id

    async def say(self, id: str, content: str, headers: dict[str, str] | None = None, **fields: Any) -> Any:
        """Send a message and wait for the end of its turn, unless a header asks otherwise."""
        path = f"/v1/conversations/{id}/messages"
        answer = await self.client.post(path, json={"content": content, **fields}, headers=headers)
        return answer.raise_for_status().json()

    async def read(self, id: str, **query: Any) -> Any:
        """Return a conversation as it is stored."""
        return (await self.client.get(f"/v1/conversations/{id}", params=query)).raise_for_status().json()


@asynccontextmanager
async def calling(url: str, key: str | None = None) -> AsyncIterator[Api]:
    """Open an API for a while."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE) as client:
        yield Api(client)


class Person:
    """Somebody in front of a page."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.field = page.get_by_test_id("composer")
        self.answers = page.locator(".answer")
        self.said = page.locator(".said:not(.pending)")
        self.rows = page.get_by_test_id("conversation")
        self.notes = page.get_by_test_id("toast")

    async def open(self, id: str | None = None, at: int | None = None) -> None:
        """Load the page at a conversation, or at the first screen, and wait until it can be used."""
        path = f"/c/{id}{f'?at={at}' if at else ''}" if id else "/"
        await self.page.goto(self.url + path)
        await expect(self.field).to_be_visible()
        if id:
            await expect(self.page.get_by_test_id("status")).to_have_attribute("data-kind", "live")

    async def choose(self, assistant: str) -> None:
        """Choose who answers, on the first screen."""
        await self.page.get_by_test_id("choose-assistant").select_option(label=assistant)

    async def begin(self, text: str, assistant: str = "Stage") -> str:
        """Begin a conversation on the first screen, wait for its answer and return its id."""
        await self.open()
        await self.choose(assistant)
        await self.say(text)
        return self.page.url.rsplit("/", 1)[1]

    async def say(self, text: str) -> None:
        """Send a message and wait for the end of its answer."""
        before = await self.answers.count()
        await self.write(text)
        await expect(self.answers).to_have_count(before + 1)
        await self.is_answered()

    async def write(self, text: str) -> None:
        """Send a message."""
        await self.field.fill(text)
        await self.field.press("Enter")

    async def is_answered(self) -> None:
        """Wait until nothing is being written."""
        await expect(self.answers.last).to_have_attribute("data-state", "done")
        await expect(self.page.get_by_test_id("stop")).to_have_count(0)

    async def sign_out(self) -> None:
        """Sign out, and wait until the page has started anew: it changes its address before that, which counts as a
        navigation, and may be asked for the key already."""
        async with self.page.expect_event("load"):
            await self.page.get_by_test_id("sign-out").click()

    def row(self, title: str) -> Locator:
        """The row of a conversation in the list."""
        return self.rows.filter(has=self.page.get_by_role("link").get_by_text(title, exact=True))

    async def more(self, what: str, title: str | None = None) -> None:
        """Choose something in the menu of the open conversation, or of one in the list."""
        if title is None:
            await self.page.get_by_test_id("more").click()
        else:
            row = self.row(title)
            await row.hover()
            await row.get_by_role("button", name=f"More about {title}", exact=True).click()
        await self.page.get_by_role("menuitem", name=what, exact=True).click()

    async def copied(self) -> str:
        """Wait until something is copied, take it, and return it."""
        await until(self.page, "() => navigator.clipboard.readText()")
        return str(await self.page.evaluate(TAKE))
