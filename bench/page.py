"""What the page weighs and how soon it can be used, beside a page that is nothing but HTML, from the same server.

    python -m bench.page             20 visits of each view
    python -m bench.page --quick     5 visits

A view can be used when its messages are shown and its field can be written in. A first visit begins with an empty
browser; the next one is a reload with what that browser kept. Browser and server share the machine, and the views take
turns, so that its noise hits all of them.
"""

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import Literal, NamedTuple

from playwright.async_api import Browser, Page, async_playwright, expect

from bench.page_tasks import measure_tasks
from bench.report import Report
from bench.wire import wired
from tests.browser.chromium import ARGUMENTS, chromium

SIZES = (200, 10_000)
HEAVIEST = 170
MOST_REQUESTS = 15
MOST_TIMES_SLOWER = 1.5
NOTE = """
window.usable = 0;
const look = () => {
    const isThere = document.querySelector("[data-testid=composer]") && document.querySelector(".answer, .suggestions");
    if (isThere) window.usable = performance.now();
    else requestAnimationFrame(look);
};
look();
"""
TIMES = """() => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return window.usable && paint ? [paint.startTime, window.usable] : null;
}"""
LOADED = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .map(({ name, transferSize }) => [new URL(name).pathname, transferSize])"""
KINDS = {"js": "scripts", "css": "styles", "svg": "icons", "webmanifest": "manifest"}


class Visit(NamedTuple):
    """When a view was painted and could be used, in milliseconds after it was asked for."""

    painted: float
    usable: float


@contextmanager
def serving() -> Iterator[tuple[int, dict[int, str], dict[str, str]]]:
    """Run the server on a free port; give the port, the conversations by size, and those with one long answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "bench.page_server", str(port), *map(str, SIZES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            _wait(port)
            yield port, {int(size): id for size, id in told["messages"].items()}, told["answers"]
        finally:
            process.kill()


def _wait(port: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the server did not start")


async def times_of(page: Page) -> Visit:
    """Wait until the view can be used, and return when that was."""
    async with asyncio.timeout(60):
        while (found := await page.evaluate(TIMES)) is None:  # noqa: ASYNC110 - it happens in another process
            await asyncio.sleep(0.02)
    return Visit(*found)


async def visit(browser: Browser, url: str) -> tuple[Visit, Visit]:
    """Open a view in an empty browser and load it again, when that browser has kept what it keeps."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    await page.add_init_script(NOTE)
    await page.goto(url)
    first = await times_of(page)
    if not url.endswith("/bare"):
        await page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    await page.reload()
    again = await times_of(page)
    await context.close()
    return first, again


async def weigh(browser: Browser, report: Report, port: int) -> None:
    """Count what the first screen makes an empty browser load, and what it keeps for a time without a network."""
    alone, loaded = await _loaded(browser, port, "block")
    whole, _ = await _loaded(browser, port, "allow")
    kinds: dict[str, list[int]] = {}
    for path, size in loaded:
        name = KINDS.get(path.rpartition(".")[2], "data" if path.startswith("/v1/") else "document")
        kinds.setdefault(name, []).append(size)
    rows = [[kind, str(len(sizes)), f"{sum(sizes) / 1000:.1f}"] for kind, sizes in sorted(kinds.items())]
    rows.append(["all of it on the wire", "", f"{alone / 1000:.1f}"])
    rows.append(["with what is kept in the background, to open without a network", "", f"{whole / 1000:.1f}"])
    report.table("The first screen in an empty browser", ["", "files", "KB"], rows)
    report.bar("KB on the wire for the first view", alone / 1000, at_most=HEAVIEST)
    report.bar("requests for the first view", len(loaded), at_most=MOST_REQUESTS)


async def _loaded(browser: Browser, port: int, workers: Literal["allow", "block"]) -> tuple[int, list[tuple[str, int]]]:
    """Return the bytes on the wire until nothing more comes, and what the page itself says about its files."""
    async with wired(port) as (wire, at):
        context = await browser.new_context(service_workers=workers)
        page = await context.new_page()
        await page.add_init_script(NOTE)
        await page.goto(f"http://127.0.0.1:{at}/")
        await times_of(page)
        if workers == "allow":
            await page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        down = await wire.settle()
        loaded = await page.evaluate(LOADED)
        await context.close()
    return down, loaded


async def measure(browser: Browser, report: Report, views: Mapping[str, str], rounds: int) -> None:
    """Visit each view in turn, and compare them."""
    found: dict[str, list[tuple[Visit, Visit]]] = {name: [] for name in views}
    for turn in range(rounds + 1):
        for name, url in views.items():
            visits = await visit(browser, url)
            if turn:  # the first round warms up
                found[name].append(visits)
        report.progress("visiting", (turn + 1) / (rounds + 1))
    rows = []
    for name, visits_of in found.items():
        times = [median(one[part][kind] for one in visits_of) for part in (0, 1) for kind in (0, 1)]
        rows.append([name, *(f"{time:.0f}" for time in times)])
    report.table(
        f"Milliseconds, median of {rounds}",
        ["", "first visit: painted", "usable", "next visit: painted", "usable"],
        rows,
    )
    small, large = (median(first.usable for first, _ in found[f"{size:,} messages"]) for size in SIZES)
    report.bar(f"usable with {SIZES[1]:,} messages / {SIZES[0]}", large / small, at_most=MOST_TIMES_SLOWER)


async def main() -> None:
    """Measure the page."""
    parser = argparse.ArgumentParser(prog="bench.page", description="The page beside one that is nothing but HTML.")
    parser.add_argument("--quick", action="store_true", help="5 visits of each view")
    expect.set_options(timeout=60_000)
    rounds = 5 if parser.parse_args().quick else 20
    report = Report(sys.stdout)
    report.title("The page")
    with serving() as (port, ids, answers):
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
            await weigh(browser, report, port)
            url = f"http://127.0.0.1:{port}"
            stored = {f"{size:,} messages": f"{url}/c/{id}" for size, id in ids.items()}
            await measure(browser, report, {"bare HTML": f"{url}/bare", "first screen": f"{url}/", **stored}, rounds)
            long = {name: f"{url}/c/{id}" for name, id in answers.items()}
            await measure_tasks(browser, report, f"{url}/c/{ids[SIZES[1]]}", long)
            await browser.close()
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
