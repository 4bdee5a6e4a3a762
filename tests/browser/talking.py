"""A tab with the page of a server: what a person does there, and what is shown against what is stored.

The text of an answer is drawn from Markdown; how it must look is said by the stored text, drawn whole by the files of
the page itself.
"""

import re
from typing import Any

import httpx
from playwright.async_api import Locator, Page, expect

from tests.browser.server import PATIENCE
from tests.browser.waiting import patiently, until

SENT = re.compile(r"/c/(?!new-)")
NOTE_STATUSES = """
window.statuses = [];
new MutationObserver(() => {
    const status = document.querySelector("[data-testid=status] > span")?.textContent;
    if (status && status !== window.statuses.at(-1)) window.statuses.push(status);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""
SHOWN = """() => [...document.querySelectorAll("[data-role]")].flatMap((article) =>
    [...article.querySelectorAll(":scope > .bubble, [data-testid=answer-text]")].map((text) => text.textContent))"""
DRAWN = """async (messages) => {
    const { html, render } = await import("/static/preact.js");
    const { Markdown } = await import("/static/render/markdown.js");
    const draw = (text, growing, breaks) => {
        const box = document.createElement("div");
        render(html`<${Markdown} text=${text} streaming=${growing} breaks=${breaks} />`, box);
        const drawn = box.textContent;
        render(null, box);
        return drawn;
    };
    return messages.map(({ role, content, growing }) => draw(content, Boolean(growing), role === "user"));
}"""
IS_READY_OFFLINE = """async (path) => {
    const names = (await caches.keys()).filter((name) => name.startsWith("threadkeep-shell-"));
    const isKept = (await Promise.all(names.map(async (name) => (await caches.open(name)).match("/")))).some(Boolean);
    const data = await caches.open("threadkeep-data");
    const copies = await Promise.all(["/v1/me", "/v1/assistants", "/v1/models", path].map((one) => data.match(one)));
    if (!navigator.serviceWorker.controller || !isKept || !copies.every(Boolean)) return false;
    // A copy follows what is on the screen after a moment.
    const shown = [...document.querySelectorAll("[data-role=user]")].map((said) => said.textContent.trim());
    const { messages = [] } = await copies.at(-1).json();
    const users = messages.filter((message) => message.role === "user");
    return path === "/v1/conversations" || users.length === shown.length;
}"""


class Tab:
    """A tab that shows what is at `url`; `server` is where the server itself is, if there is something in between."""

    def __init__(self, page: Page, url: str, server: str | None = None) -> None:
        self.page = page
        self.url = url
        self.server = server or url
        self.composer = page.get_by_test_id("composer")
        self.status = page.get_by_test_id("status")
        self.pending = page.get_by_test_id("pending")
        self.said = page.locator("[data-role=user]")
        self.answers = page.locator("[data-role=assistant]")
        self.rows = page.get_by_test_id("conversation")

    @property
    def conversation(self) -> str:
        """The conversation that the address names."""
        return self.page.url.rpartition("/c/")[2]

    async def open(self, conversation: str | None = None) -> None:
        """Go to a conversation, or to the first screen, and wait until one can write there."""
        await self.page.add_init_script(NOTE_STATUSES)
        await self.page.goto(f"{self.url}/c/{conversation}" if conversation else self.url)
        await expect(self.composer).to_be_visible()

    async def say(self, text: str) -> None:
        """Write something and send it: it is on the page at once, whether it has been sent or not."""
        await self.composer.fill(text)
        await self.composer.press("Enter")
        await expect(self.page.locator(".bubble").last).to_have_text(text)

    async def begin(self, text: str) -> str:
        """Say the first thing in a new conversation and return its name, once the server has made it."""
        await self.say(text)
        await expect(self.page).to_have_url(SENT)
        return self.conversation

    def saying(self, text: str) -> Locator:
        """The last answer, if it shows this text."""
        return self.answers.last.filter(has_text=text)

    async def was(self, status: str) -> None:
        """Wait until the page says, or has said since it was loaded, a status that fits a pattern."""
        await until(self.page, "(told) => window.statuses.some((one) => new RegExp(told).test(one))", status)

    async def shown(self) -> list[str]:
        """Return the texts that are on the page, in order."""
        return [str(text) for text in await self.page.evaluate(SHOWN)]

    async def drawn(self, messages: list[dict[str, Any]]) -> list[str]:
        """Return how the page draws messages when it gets them whole, or as one that is still `growing`."""
        told = [one for one in messages if one["role"] in ("user", "assistant") and one["content"]]
        return [str(text) for text in await self.page.evaluate(DRAWN, told)]

    async def comes_to_show(self, messages: list[dict[str, Any]]) -> None:
        """Wait until the page shows exactly these messages."""
        expected = await self.drawn(messages)
        try:
            await until(self.page, f"(texts) => JSON.stringify(({SHOWN})()) === JSON.stringify(texts)", expected)
        except TimeoutError:
            shown = await self.shown()
            said = await self.page.evaluate("window.statuses")
            assert shown == expected, f"the page shows {shown}, not {expected}; it said {said}"

    async def shows_what_is_stored(self) -> list[dict[str, Any]]:
        """Wait for the end of all turns; then the page shows the stored messages, each once and whole, and no other."""
        await expect(self.pending).to_have_text([])  # which says what waits, if something does
        await expect(self.page).to_have_url(SENT)
        stored = await settled(self.server, self.conversation)
        await self.comes_to_show(stored)
        await expect(self.page.get_by_test_id("stop")).to_have_count(0)
        return stored

    async def is_ready_for_offline(self) -> None:
        """Wait until this browser has kept what it needs to open this conversation without a network."""
        path = f"/v1/conversations/{self.conversation}" if "/c/" in self.page.url else "/v1/conversations"
        await until(self.page, IS_READY_OFFLINE, path)


async def ask(server: str, conversation: str, content: str, **headers: str) -> None:
    """Say something on another device, and wait for the answer unless a header asks otherwise."""
    async with httpx.AsyncClient(base_url=server, timeout=PATIENCE) as client:
        path = f"/v1/conversations/{conversation}/messages"
        (await client.post(path, json={"content": content}, headers=headers)).raise_for_status()


async def settled(server: str, conversation: str) -> list[dict[str, Any]]:
    """Wait until no turn is open in a conversation, and return the stored messages of its current branch."""
    async with httpx.AsyncClient(base_url=server, timeout=PATIENCE) as client:

        async def is_quiet() -> bool:
            return not (await _read(client, conversation))["turns"]

        await patiently(is_quiet)
        # The messages of an answer are of the moment before its turns; those of the next one are all there.
        return list((await _read(client, conversation))["messages"])


async def _read(client: httpx.AsyncClient, conversation: str) -> dict[str, Any]:
    answer = await client.get(f"/v1/conversations/{conversation}", params={"limit": 200})
    return dict(answer.raise_for_status().json())


def words(count: int) -> str:
    """Return so many different words: none can be missing or doubled without being seen."""
    return " ".join(f"word{number:03}" for number in range(1, count + 1))


def to_remember(count: int) -> str:
    """Return something to say, which the demo repeats word by word."""
    return f"Remember that {words(count)}"
