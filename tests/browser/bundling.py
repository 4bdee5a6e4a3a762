"""Pages of our examples, bundled with the packages of the registry and served as an app of somebody's own, on an origin
of its own."""

import functools
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.clients import NODE, client
from tests.documents import ROOT

PAGE = '<!doctype html><meta charset="utf-8"><title>App</title><div id="root"></div><script src="app.js"></script>'
BUILD = """require("esbuild").buildSync({ entryPoints: ["app.jsx"], outfile: "app.js", bundle: true, jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' }, logLevel: "warning" })"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *given: Any) -> None:
        """Say nothing."""


@contextmanager
def app_of(example: str, folder: Path) -> Iterator[str]:
    """Bundle an example of ours in a folder, serve it, and yield its origin."""
    (folder / "node_modules").symlink_to(client("assistant-ui") / "node_modules")
    (folder / "app.jsx").write_text((ROOT / "examples" / example).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    subprocess.run([NODE, "--eval", BUILD], cwd=folder, check=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            serving.join()


class AppTab:
    """A tab with such a page, which talks to `server`; `#` of its address names the chat. What a person does there."""

    def __init__(self, page: Page, app: str, server: str) -> None:
        self.page, self.app, self.server = page, app, server

    async def open(self, chat: str = "") -> None:
        """Open a chat, or a new one."""
        await self.page.add_init_script(f"globalThis.THREADKEEP_URL = {self.server!r}")
        await self.page.goto(f"{self.app}/#{chat}")
        await expect(self.page.get_by_placeholder("Message")).to_be_visible()

    async def say(self, text: str) -> None:
        """Send a message."""
        await self.page.get_by_placeholder("Message").fill(text)
        await self.button("Send").click()

    def button(self, name: str) -> Locator:
        """Return a button by its name."""
        return self.page.get_by_role("button", name=name, exact=True)

    @property
    def chat(self) -> str:
        """The chat that the address names."""
        return self.page.url.rpartition("#")[2]
