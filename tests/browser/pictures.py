"""Takes the pictures of the page for the documentation: `python -m tests.browser.pictures [folder]`.

Each scene is played in a real browser against a real server, at the width of a desk, of a tablet and of a phone, in
light and dark. All of them together are small enough for the repository. Letters are those of the machine; for the ones
of the documentation install Debian's `fonts-inter`, `fonts-urw-base35` and `fonts-jetbrains-mono`.
"""

import argparse
import asyncio
import tempfile
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.browser.chromium import ARGUMENTS, chromium
from tests.browser.person import Person, calling
from tests.browser.server import Server

SIZES = {
    "desk": {"width": 1280, "height": 860},
    "tablet": {"width": 820, "height": 1180},
    "phone": {"width": 390, "height": 844},
}
QUALITY = 72
SCHEMES = ("light", "dark")

Scene = Callable[[Person, BrowserContext], Awaitable[None]]


async def first_start(person: Person, _context: BrowserContext) -> None:
    """Nobody has said anything yet."""
    await person.open()


async def listed(person: Person, _context: BrowserContext) -> None:
    """What was said before, at the first screen and in the list, with a folder."""
    await person.begin("My name is Alice", "Chat")
    async with calling(person.url) as api:
        said = {"Budget of cost centre 1001": "", "Nvidia beside AMD": "Stocks", "Which headphones for running": ""}
        for title, folder in said.items():
            id = await api.begin(title=title, assistant="chat")
            await api.client.patch(f"/v1/conversations/{id}", json={"folder": folder})
    await person.open()
    if await person.page.get_by_test_id("open-list").is_visible():
        await person.page.get_by_test_id("open-list").click()
    await expect(person.row("Nvidia beside AMD")).to_be_visible()


async def settings(person: Person, _context: BrowserContext) -> None:
    """The sheet of a conversation, with what it was begun with."""
    await person.open()
    async with calling(person.url) as api:
        about = {"assistant": "market", "system": "Answer in three sentences.", "title": "Nvidia"}
        id = await api.begin("Tell me about Nvidia", **about)
    await person.open(id)
    await person.more("Settings")


async def streaming(person: Person, _context: BrowserContext) -> None:
    """An answer is being written, behind a tool's card."""
    await person.open()
    await person.choose("Skillian")
    await person.write("What is the budget of cost centre CC-1001?")
    await expect(person.answers.last.get_by_test_id("answer-text")).to_contain_text("50,000")


async def ranked_list(person: Person, _context: BrowserContext) -> None:
    """A list and a comparison."""
    await person.begin("What stocks benefit from rate cuts?", "Market")
    await person.say("Compare the first two")
    await person.page.get_by_role("table").last.scroll_into_view_if_needed()


async def chart(person: Person, _context: BrowserContext) -> None:
    """A company with its quarters."""
    await person.begin("Tell me about Nvidia", "Market")
    await person.page.locator("[data-type=chart]").evaluate("chart => chart.scrollIntoView({ block: 'center' })")


async def guided(person: Person, _context: BrowserContext) -> None:
    """A skill is half finished."""
    await person.begin("I want a skill that turns meeting notes into action items", "Skill creator")
    await person.say("yes")


async def follow_up(person: Person, _context: BrowserContext) -> None:
    """A follow-up that was looked up, with its source and what was looked for."""
    await person.begin("Which phones are under $500?", "Shop")
    await person.say("tell me more about the Samsung one")
    await person.page.get_by_text("Looked up").last.click()


async def searching(person: Person, _context: BrowserContext) -> None:
    """Something is looked for in all conversations."""
    await person.open()
    await person.page.keyboard.press("Control+k")
    await expect(person.page.get_by_role("searchbox")).to_be_focused()
    await person.page.keyboard.type("rate cuts")
    await expect(person.page.locator("mark").first).to_be_visible()


async def branches(person: Person, _context: BrowserContext) -> None:
    """An answer was asked for again, and the branches are shown."""
    await person.begin("Remember that the meeting is on Friday", "Chat")
    await person.say("When is the meeting?")
    await person.answers.last.hover()
    await person.page.get_by_role("button", name="Regenerate").last.click()
    await expect(person.answers.last.get_by_test_id("siblings")).to_have_text("2/2")
    await person.is_answered()
    await person.page.get_by_test_id("branches").click()


async def offline(person: Person, context: BrowserContext) -> None:
    """The network is gone, and a message waits in the outbox."""
    await person.begin("My name is Alice", "Chat")
    await context.set_offline(True)
    await person.write("What's my name?")
    await expect(person.page.get_by_test_id("pending")).to_be_visible()


async def sign_in(person: Person, _context: BrowserContext) -> None:
    """The server asks who is there."""
    await person.page.goto(person.url)
    await expect(person.page.get_by_role("button", name="Sign in")).to_be_visible()


SCENES: dict[str, Scene] = {
    "first-start": first_start,
    "list": listed,
    "streaming": streaming,
    "ranked-list": ranked_list,
    "chart": chart,
    "guided": guided,
    "follow-up": follow_up,
    "search": searching,
    "tree": branches,
    "settings": settings,
    "offline": offline,
    "sign-in": sign_in,
}


async def take(browser: Browser, server: Server, name: str, size: str, scheme: str, folder: Path) -> None:
    """Play one scene and keep the picture."""
    context = await browser.new_context(viewport=SIZES[size], color_scheme=scheme, device_scale_factor=1)  # type: ignore[arg-type]
    page: Page = await context.new_page()
    try:
        await SCENES[name](Person(page, server.url), context)
        # Whatever fades in has to be there.
        await page.wait_for_timeout(400)
        session = await context.new_cdp_session(page)
        shot = await session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
        (folder / f"{name}-{size}-{scheme}.webp").write_bytes(b64decode(shot["data"]))
        print(f"{name}, {size}, {scheme}", flush=True)
    except Exception as error:
        await page.screenshot(path=folder / f"failed-{name}-{size}-{scheme}.png")
        print(f"{name}, {size}, {scheme}: {error}", flush=True)
    finally:
        await context.close()


async def take_all(folder: Path, names: list[str]) -> None:
    """Play all scenes in all forms, each form on a server of its own: what was said before is in the list."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        for size in SIZES:
            for scheme in SCHEMES:
                with serving(pace=0.05) as open_server, serving("--auth", "keys") as with_keys:
                    for name in names:
                        server = with_keys if name == "sign-in" else open_server
                        await take(browser, server, name, size, scheme, folder)
        await browser.close()


@contextmanager
def serving(*arguments: str, pace: float = 0) -> Iterator[Server]:
    """Run a server with an empty file for a while."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), *arguments, pace=pace)
        server.start()
        try:
            yield server
        finally:
            server.kill()


def main() -> None:
    """Take the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("docs/images"))
    parser.add_argument("--only", nargs="*", default=list(SCENES), choices=list(SCENES))
    arguments = parser.parse_args()
    expect.set_options(timeout=60_000)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(take_all(arguments.folder, arguments.only))


if __name__ == "__main__":
    main()
