"""Waiting for something in a page that no locator can see.

`page.wait_for_function` does not do under the policy of our page: after its first look it would have to use `eval`.
"""

import asyncio
from typing import Any

from playwright.async_api import Page

from tests.browser.server import PATIENCE


async def until(page: Page, holds: str, arg: Any = None) -> None:
    """Wait until a function in the page (`() => window.isDone`) returns something true."""
    async with asyncio.timeout(PATIENCE):
        while not await page.evaluate(holds, arg):
            pass
