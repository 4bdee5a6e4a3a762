"""Waiting for something that no locator can see, in a page or elsewhere.

`page.wait_for_function` does not do under the policy of our page: after its first look it would have to use `eval`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import Error, Page

from tests.browser.server import PATIENCE

PAUSE = 0.02
"""Seconds between two looks: whoever asks all the time takes the time of what is waited for."""
LEFT = "Execution context was destroyed"


async def patiently(holds: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again, until what is looked for is there."""
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110 - what is asked for is in another process
            await asyncio.sleep(PAUSE)


async def until(page: Page, holds: str, arg: Any = None) -> None:
    """Wait until a function in the page (`() => window.isDone`) returns something true, also if it is loaded anew."""

    async def look() -> bool:
        try:
            return bool(await page.evaluate(holds, arg))
        except Error as error:
            if LEFT not in error.message:
                raise
            return False  # the page was left in the middle of the question

    await patiently(look)
