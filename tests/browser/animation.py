"""Films the moment that is special for the README: `python -m tests.browser.animation [file]`.

An answer is being written; the page is reloaded in the middle of it, the server is killed, something is written
meanwhile, and everything is there. A real browser and a real server; the pictures become one animated WebP.
"""

import argparse
import asyncio
import io
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

from PIL import Image
from playwright.async_api import Page, ViewportSize, async_playwright, expect

from tests.browser.chromium import ARGUMENTS, chromium
from tests.browser.person import Person
from tests.browser.server import Server

SIZE: ViewportSize = {"width": 960, "height": 640}
PAUSE = 0.2
MOST = 450
"""Milliseconds for which a picture is shown at most, whatever else this machine does."""
LAST = 3000
QUALITY = 50


class Film:
    """Pictures of a page, each with the time for which it is shown; one that looks as the last one prolongs it."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._shots: list[tuple[bytes, float]] = []

    @asynccontextmanager
    async def rolling(self) -> AsyncIterator[None]:
        """Take pictures as long as the block runs."""
        task = asyncio.create_task(self._roll())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _roll(self) -> None:
        while True:
            self._shots.append((await self._page.screenshot(), time.monotonic()))
            await asyncio.sleep(PAUSE)

    def save(self, path: Path) -> None:
        """Write everything as one file."""
        kept = [shot for at, shot in enumerate(self._shots) if at == 0 or shot[0] != self._shots[at - 1][0]]
        times = [min(round((later[1] - shot[1]) * 1000), MOST) for shot, later in pairwise(kept)]
        first, *others = [Image.open(io.BytesIO(shot)).convert("RGB") for shot, _ in kept]
        durations = [*times, LAST]
        first.save(path, save_all=True, append_images=others, duration=durations, loop=0, quality=QUALITY, method=6)


async def play(person: Person) -> None:
    """Try to break the page, with its own buttons."""
    page, trial = person.page, person.page.get_by_test_id("trial")
    await page.get_by_test_id("trial-card").get_by_role("button").click()
    text = page.get_by_test_id("answer-text").first
    await expect(text).to_contain_text("scripted")
    await page.get_by_role("button", name="Reload now").click()
    await expect(trial.get_by_role("listitem").first).to_have_attribute("data-done", "true")
    before = len(await text.inner_text())
    while len(await text.inner_text()) < before + 40 and await page.get_by_test_id("stop").count():
        await page.wait_for_timeout(100)
    await page.get_by_role("button", name="Stop the server now").click()
    await expect(page.get_by_test_id("status")).to_contain_text("reconnecting")
    await person.field.press_sequentially("My name is Alice.", delay=60)
    await person.field.press("Enter")
    await expect(page.get_by_test_id("pending")).to_be_visible()
    await expect(person.answers.last).to_contain_text("Nice to meet you, Alice!")
    await person.is_answered()
    await page.get_by_role("button", name="Compare").click()
    await expect(trial).to_contain_text("The same:")


async def film(path: Path) -> None:
    """Start a server and a browser, and film them."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), "--killable", pace=0.07)
        server.start()
        try:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
                page = await browser.new_page(viewport=SIZE, color_scheme="light")
                person, taken = Person(page, server.url), Film(page)
                await person.open()
                await page.wait_for_timeout(500)  # icons come after the text
                async with taken.rolling():
                    await play(person)
                    await page.wait_for_timeout(500)
                await browser.close()
                taken.save(path)
        finally:
            server.stop()


def main() -> None:
    """Film it once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=Path("docs/images/unbreakable.webp"))
    expect.set_options(timeout=60_000)
    asyncio.run(film(parser.parse_args().file))


if __name__ == "__main__":
    main()
