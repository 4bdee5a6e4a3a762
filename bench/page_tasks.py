"""How long the page keeps a person waiting: its longest tasks while answers stream and long ones are drawn; its heap.

Counted is the processor time of a task in the browser's main thread, from the browser's own trace: the time on the wall
would be that of whatever else the machine does.
"""

import json
import time
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, expect

from bench.report import Report

LONGEST = {"streaming": 20.0, "drawing": 50.0, "typing": 16.0}
"""Milliseconds, by what the page does."""
MOST_OF_A_CORE = 6.0
MOST_HEAP = 15.0
WORDS = 400
DRAFT = 200_000
KEYS = 30
FILL = """(field, size) => {
    field.value = "word ".repeat(15).concat("\\n").repeat(size).slice(0, size);
    field.focus();
    field.setSelectionRange(size, size);
    field.dispatchEvent(new Event("input", { bubbles: true }));
}"""
CATEGORIES = ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline", "__metadata"]

# Looks cheaply and inside of the page: what asks from outside again and again would be the longest task itself.
DRAWN = """() => new Promise((resolve) => {
    const look = () => document.querySelector(".answer .tk-md *") && !document.querySelector("[aria-busy=true]");
    const timer = setInterval(() => look() && (clearInterval(timer), resolve()), 50);
})"""

STREAMED = """(last) => new Promise((resolve) => {
    const isDone = () => !document.querySelector("[data-testid=stop]")
        && [...document.querySelectorAll(".answer")].at(-1).textContent.includes(last);
    const timer = setInterval(() => isDone() && (clearInterval(timer), resolve()), 250);
})"""


def longest_of(trace: bytes) -> list[tuple[float, float]]:
    """Return the milliseconds of processor time of all tasks of the busiest main thread, the longest first: without and
    with the collection of garbage, whose moment the browser chooses."""
    tasks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    collecting: dict[tuple[int, int], list[tuple[float, float]]] = {}
    mains = set()
    for one in json.loads(trace)["traceEvents"]:
        thread = one["pid"], one["tid"]
        if one["name"] == "thread_name" and one["args"].get("name") == "CrRendererMain":
            mains.add(thread)
        elif one["name"] == "RunTask":
            tasks.setdefault(thread, []).append((one["ts"], one.get("tdur", 0)))
        elif one["name"] in ("MajorGC", "MinorGC"):
            collecting.setdefault(thread, []).append((one["ts"], one.get("tdur", 0)))
    main = max(mains & tasks.keys(), key=lambda thread: sum(length for _, length in tasks[thread]))
    starts = sorted(tasks[main])
    garbage = dict.fromkeys(range(-1, len(starts)), 0.0)  # what lies before the first task is of none
    for at, length in collecting.get(main, []):
        garbage[bisect_right(starts, (at, float("inf"))) - 1] += length
    found = [((length - garbage[place]) / 1000, length / 1000) for place, (_, length) in enumerate(starts)]
    return sorted(found, reverse=True)


async def traced(browser: Browser, page: Page, play: Callable[[Page], Awaitable[None]]) -> list[tuple[float, float]]:
    """Play something and return the tasks that it took."""
    await browser.start_tracing(page=page, categories=CATEGORIES)
    await play(page)
    return longest_of(await browser.stop_tracing())


async def heap(page: Page) -> float:
    """Return the megabytes that the page's objects take, without garbage."""
    session = await page.context.new_cdp_session(page)
    await session.send("HeapProfiler.collectGarbage")
    used = await session.send("Runtime.getHeapUsage")
    return float(used["usedSize"]) / 1e6


async def measure_tasks(browser: Browser, report: Report, long: str, answers: dict[str, str]) -> None:
    """Stream into the conversation at `long`, then draw each of the long answers."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, service_workers="block")
    page = await context.new_page()
    await page.goto(long)
    await expect(page.locator(".answer").last).to_be_visible()

    took = 0.0

    async def stream(page: Page) -> None:
        nonlocal took
        began = time.monotonic()
        said = " ".join(f"word{number:03}" for number in range(WORDS))
        await page.get_by_test_id("composer").fill(f"Remember that {said}")
        await page.get_by_test_id("send").click()
        await page.evaluate(STREAMED, f"word{WORDS - 1:03}")
        took = time.monotonic() - began

    found = {"streaming into 10,000 messages": (tasks := await traced(browser, page, stream))}
    share = sum(whole for _, whole in tasks) / took / 10
    report.bar(f"% of a core while {WORDS / took:.0f} words a second are streamed", share, at_most=MOST_OF_A_CORE)
    used = await heap(page)
    for name, url in answers.items():

        async def draw(page: Page, url: str = url) -> None:
            await page.locator(f'.row a[href="{urlsplit(url).path}"]').click()
            await page.evaluate(DRAWN)

        await page.get_by_test_id("new").click()
        await expect(page.locator(".suggestions")).to_be_visible()
        found[f"drawing {name} of Markdown"] = await traced(browser, page, draw)
    found[f"typing behind {DRAFT:,} characters"] = await _typing(browser, page)
    await context.close()
    rows = [
        [name, f"{tasks[0][0]:.0f}", f"{max(whole for _, whole in tasks):.0f}", str(len(tasks))]
        for name, tasks in found.items()
    ]
    columns = ["", "longest", "with the browser's collection of garbage", "tasks"]
    report.table("Tasks of the page, milliseconds of processor time", columns, rows)
    for name, tasks in found.items():
        report.bar(f"longest task, {name}", tasks[0][0], at_most=LONGEST[name.partition(" ")[0]])
    report.bar("MB of heap after streaming into 10,000 messages", used, at_most=MOST_HEAP)


async def _typing(browser: Browser, page: Page) -> list[tuple[float, float]]:
    """Type behind a long draft, one key after the other."""
    await page.get_by_test_id("composer").evaluate(FILL, DRAFT)
    await page.wait_for_timeout(1000)  # it is kept once nothing is typed

    async def play(page: Page) -> None:
        for _ in range(KEYS):
            await page.keyboard.press("a")
            await page.wait_for_timeout(50)

    return await traced(browser, page, play)
