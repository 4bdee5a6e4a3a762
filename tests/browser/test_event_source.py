"""The `EventSource` of a real browser as a reader: it knows nothing of us, and loses nothing."""

import asyncio
from typing import Any

import httpx
from httpx_sse import ServerSentEvent
from playwright.async_api import BrowserContext, Page

from tests.acceptance.stream_reader import Reader
from tests.browser.conftest import Serve
from tests.browser.server import Server
from tests.browser.waiting import until
from tests.integration.serving import AT_ONCE, serving
from threadkeep.llm.base import Stopped, Text
from threadkeep.testing.scripted_model import ScriptedModel

SLOW = 0.2
STRANGE = "a\rb\nc\r\nd\x00e\u2028f\u2029g\x85h\r\r\n\ni 😀"
NAMES = ["turn.started", "message.started", "text.delta", "message.completed", "conversation.updated", "turn.completed"]
OPEN = """([path, names]) => {
    const source = new EventSource(path);
    window.told = [];
    window.opened = 0;
    source.onopen = () => window.opened++;
    for (const name of names) {
        source.addEventListener(name, event => window.told.push([event.type, event.lastEventId, event.data]));
    }
}"""
HAS_TOLD = "([name, count]) => window.told.filter(event => event[0] === name).length >= count"
LOGIN = """key => fetch("/v1/login", {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({key}),
}).then(answer => answer.status)"""


async def listen(page: Page, path: str) -> None:
    """Open an `EventSource` in the page that notes everything it is told."""
    await page.evaluate(OPEN, [path, NAMES])
    await until(page, "() => window.opened === 1")


async def has_told(page: Page, name: str, count: int = 1) -> None:
    """Wait until the page was told an event of this name so many times."""
    await until(page, HAS_TOLD, [name, count])


async def read(page: Page, path: str) -> Reader:
    """Return what the page was told, as a reader that can be checked."""
    return Reader(path, [ServerSentEvent(*told) for told in await events(page)])


async def events(page: Page) -> list[tuple[str, str, str]]:
    """Return name, data and id of what the page was told."""
    return [(name, data, id) for name, id, data in await page.evaluate("window.told")]


async def begin(client: httpx.AsyncClient, **fields: Any) -> str:
    """Create a conversation and return its path."""
    return str((await client.post("/v1/conversations", json=fields)).raise_for_status().headers["location"])


async def say(client: httpx.AsyncClient, path: str, content: str, **headers: str) -> None:
    """Send a message, and wait for the end of its turn unless a header asks otherwise."""
    (await client.post(f"{path}/messages", json={"content": content}, headers=headers)).raise_for_status()


async def test_it_is_told_what_is_stored_first_and_then_what_happens(page: Page, server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        path = await begin(client, title="Names")
        await say(client, path, "My name is Alice.")
        await page.goto(server.url)
        await listen(page, f"{path}/events?after=0")
        await has_told(page, "turn.completed")
        stored = await events(page)
        assert "text.delta" not in [name for name, _, _ in stored]
        await say(client, path, "What is my name?")
        await has_told(page, "turn.completed", 2)
        messages = (await client.get(path)).json()["messages"]
    reader = await read(page, path)
    reader.check()
    assert (await events(page))[: len(stored)] == stored
    assert "text.delta" in [event.event for event in reader.events]
    told = [data["message"]["content"] for name, data in reader.told() if name == "message.completed"]
    assert told == [message["content"] for message in messages]


async def test_it_goes_on_in_mid_sentence_after_the_server_was_killed(page: Page, serve: Serve) -> None:
    server = serve(pace=SLOW)
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        path = await begin(client, title="Names")
        await page.goto(server.url)
        await listen(page, f"{path}/events?after=0")
        await say(client, path, "What can you do?", **AT_ONCE)
        await has_told(page, "text.delta", 3)
        server.restart(pace=0)
        await has_told(page, "turn.completed")
        messages = (await client.get(path)).json()["messages"]
    reader = await read(page, path)
    reader.check()
    assert await page.evaluate("window.opened") == 2
    assert [message["status"] for message in messages] == ["complete", "interrupted", "complete"]
    told = [data["message"]["content"] for name, data in reader.told() if name == "message.completed"]
    assert told == [message["content"] for message in messages]


async def test_every_kind_of_line_end_comes_out_as_it_went_in(page: Page) -> None:
    heard = asyncio.Event()
    model = ScriptedModel([Text(STRANGE), heard, Text(STRANGE), Stopped("stop")])
    async with serving(model=model) as server:
        path = await server.conversation(title=STRANGE)
        await page.goto(server.url)
        await listen(page, f"{path}/events?after=0")
        await server.say(path, STRANGE, **AT_ONCE)
        await has_told(page, "text.delta")
        heard.set()
        await server.client.patch(path, json={"title": f"{STRANGE}again"})
        await has_told(page, "turn.completed")
        await has_told(page, "conversation.updated")
        reader = await read(page, path)
    reader.check()
    told = reader.told()
    assert [data["message"]["content"] for name, data in told if name == "message.completed"] == [STRANGE, STRANGE * 2]
    assert [data["title"] for name, data in told if name == "conversation.updated"] == [f"{STRANGE}again"]
    assert "".join(event.json()["text"] for event in reader.events if event.event == "text.delta") == STRANGE * 2


async def test_the_cookie_of_the_login_opens_a_stream_and_without_it_there_is_none(
    context: BrowserContext, page: Page, serve: Serve
) -> None:
    server = serve("--auth", "keys")
    key = server.key()
    await page.goto(server.url)
    assert await page.evaluate(LOGIN, key) == 204
    assert await page.evaluate("document.cookie") == ""
    bearer = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=server.url, headers=bearer, timeout=30) as client:
        path = await begin(client)
        await listen(page, f"{path}/events?after=0")
        await say(client, path, "My name is Alice.")
        await has_told(page, "turn.completed")
        (await read(page, path)).check()
        await context.clear_cookies()
        closed = """path => new Promise(told => {
            const source = new EventSource(path);
            source.onerror = () => told(source.readyState === EventSource.CLOSED);
        })"""
        assert await page.evaluate(closed, f"{path}/events?after=0")
