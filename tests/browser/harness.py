"""An empty page on a real server, with the server's own policy, into which parts of the page are drawn one by one.

Drawing is done by the files that the server serves; only the document itself is ours. What a part may never do is
noted: requests to other hosts, dialogs, and scripts of others that ran (they call `alert` or push to `window.ran`).
"""

from typing import Any

from playwright.async_api import Page, Request, Route

from threadkeep.server.middleware.headers import SECURITY_HEADERS

DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parts</title>
<link rel="stylesheet" href="/static/whole.css">
</head>
<body><main id="root"></main></body>
</html>
"""
TRAPS = """
window.ran = [];
for (const name of ["alert", "confirm", "prompt", "print", "open"]) window[name] = () => window.ran.push(name);
"""
DRAW = """async ([file, part, props]) => {
    const { html, render } = await import("/static/preact.js");
    const module = await import(`/static/render/${file}.js`);
    window.chosen = [];
    const given = { ...props, onChoose: (head) => window.chosen.push(head) };
    render(html`<${module[part]} ...${given} />`, document.getElementById("root"));
}"""


class Harness:
    """The page of a server at some address, and what went wrong on it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.wrong: list[str] = []

    async def watch(self) -> None:
        """Note from now on what a page may never do, whichever page it is."""
        self.page.on("request", self._requested)
        self.page.on("dialog", lambda dialog: self.wrong.append(f"dialog {dialog.message}"))
        await self.page.add_init_script(TRAPS)

    async def open(self) -> None:
        """Go to the empty page."""
        await self.watch()
        await self.page.route(f"{self.url}/parts", self._answer)
        await self.page.goto(f"{self.url}/parts")

    async def draw(self, part: str, file: str | None = None, **props: Any) -> None:
        """Draw one part, in place of what was there."""
        await self.page.evaluate(DRAW, [file or part.lower(), part, props])

    async def check(self) -> None:
        """Nothing was run, asked for or said by what was drawn."""
        assert await self.page.evaluate("window.ran") == []
        assert self.wrong == []

    def _requested(self, request: Request) -> None:
        if not request.url.startswith(f"{self.url}/"):
            self.wrong.append(f"request {request.url}")

    @staticmethod
    async def _answer(route: Route) -> None:
        await route.fulfill(body=DOCUMENT, content_type="text/html", headers=SECURITY_HEADERS)
