"""A conversation of ten thousand messages: it opens at its newest page, and stays light to read and to write in."""

import shutil
from itertools import pairwise
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.conftest import Serve
from tests.browser.server import Server
from tests.browser.talking import Tab, settled, to_remember, words
from tests.browser.waiting import until
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.store.values import Append

MESSAGES = 10_000
AT_A_TIME = 1_000
LONG = "long"
MOST_ARTICLES = 400
FEW_PIXELS = 3
MOST_PASSED = 25  # messages that one turn of the wheel can pass; a page has twice as many
BODIES = (
    "Answer {}.",
    "# Answer {}\n\nIt has a *few* lines,\n\n- and\n- a\n- list.",
    "Answer {}:\n\n```python\nfor line in range(10):\n    print(line)\n```",
    "| answer | {} |\n|---|---|\n| a | b |\n| c | d |",
)
BOX = "document.querySelector('[data-testid=messages]')"
SEQS = "() => [...document.querySelectorAll('[data-role]')].map((one) => Number(one.dataset.seq))"
# Scrolls to a place and returns which message is the first in view there, and where it is.
LOOK_AT = f"""(place) => {{
    const box = {BOX};
    box.scrollTop = place;
    const top = box.getBoundingClientRect().top;
    const first = [...box.querySelectorAll("[data-seq]")].find((one) => one.getBoundingClientRect().bottom > top + 1);
    return {{ seq: first.dataset.seq, top: first.getBoundingClientRect().top }};
}}"""
TOP_OF = "(seq) => document.querySelector(`[data-seq='${seq}']`)?.getBoundingClientRect().top ?? null"
STARTS_BEFORE = "(seq) => Number(document.querySelector('[data-role]').dataset.seq) < seq"
# Notes from now on in which messages something is drawn anew.
NOTE_CHANGES = """
window.changed = new Set();
new MutationObserver((changes) => {
    for (const { target } of changes) {
        const article = (target.closest ? target : target.parentElement)?.closest("[data-seq]");
        if (article) window.changed.add(Number(article.dataset.seq));
    }
}).observe(document.querySelector("[data-testid=messages]"), { subtree: true, childList: true, characterData: true });
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the long conversation."""
    path = tmp_path_factory.mktemp("long") / "threadkeep.db"
    store = await open_store(f"sqlite:///{path}")
    await store.create(LOCAL, NewConversation(id=LONG, title="A long one"))
    for start in range(0, MESSAGES, AT_A_TIME):
        bodies = tuple(message(number) for number in range(start, start + AT_A_TIME))
        await store.append(LOCAL, LONG, Append(bodies=bodies))
    await store.close()
    return path


@pytest.fixture
def server(filled: Path, tmp_path: Path, serve: Serve) -> Server:
    """A server with the long conversation, which was there before the server was started."""
    own = shutil.copy(filled, tmp_path / "long.db")
    return serve("--store", f"sqlite:///{own}", pace=0.01)


def message(number: int) -> Message:
    """Return a message of the long conversation."""
    if number % 2 == 0:
        return Message(role=Role.USER, content=f"Question {number}")
    return Message(role=Role.ASSISTANT, content=BODIES[number // 2 % len(BODIES)].format(number))


async def seqs(tab: Tab) -> list[int]:
    """Return the entries that are on the page."""
    return [int(seq) for seq in await tab.page.evaluate(SEQS)]


async def opened(page: Page, server: Server) -> Tab:
    """Open the long conversation."""
    tab = Tab(page, server.url)
    await tab.open(LONG)
    await expect(page.locator(f"[data-seq='{MESSAGES}']")).to_be_in_viewport()
    return tab


async def test_it_opens_at_its_newest_page_with_few_elements(page: Page, server: Server) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    tab = await opened(page, server)
    found = await seqs(tab)
    assert found == list(range(found[0], MESSAGES + 1))
    assert len(found) <= 100
    assert await page.evaluate("document.querySelectorAll('*').length") < 4_000
    assert len([url for url in asked if f"/v1/conversations/{LONG}?" in url]) <= 2
    assert await tab.shown() == await tab.drawn((await settled(server.url, LONG))[-len(found) :])


async def test_older_messages_load_while_scrolling_up_and_the_position_holds(page: Page, server: Server) -> None:
    tab = await opened(page, server)
    found = await seqs(tab)
    for _ in range(12):
        anchor = await page.evaluate(LOOK_AT, 600)
        await until(page, STARTS_BEFORE, found[0])
        top = await page.evaluate(TOP_OF, anchor["seq"])
        assert abs(top - anchor["top"]) < FEW_PIXELS
        found = await seqs(tab)
        assert found == list(range(found[0], found[-1] + 1))
        assert len(found) <= MOST_ARTICLES
    assert found[-1] < MESSAGES
    await page.get_by_role("button", name="Go to the newest message").click()
    await expect(page.locator(f"[data-seq='{MESSAGES}']")).to_be_in_viewport()


async def test_the_wheel_goes_up_through_the_pages_without_a_jump(page: Page, server: Server) -> None:
    tab = await opened(page, server)
    await page.get_by_test_id("messages").hover()
    seen = [int((await page.evaluate(LOOK_AT, 1_000_000))["seq"])]
    while seen[-1] > MESSAGES - 150:
        before = seen[-1]
        await page.mouse.wheel(0, -900)
        await until(page, f"(seq) => Number(({LOOK_AT})({BOX}.scrollTop).seq) < seq", before)
        seen.append(int((await page.evaluate(LOOK_AT.replace("box.scrollTop = place;", "")))["seq"]))
    assert all(0 < earlier - later < MOST_PASSED for earlier, later in pairwise(seen))
    found = await seqs(tab)
    assert found == list(range(found[0], found[-1] + 1))


async def test_the_first_message_can_be_gone_to_and_newer_ones_load_from_there(page: Page, server: Server) -> None:
    tab = Tab(page, server.url)
    await page.goto(f"{server.url}/c/{LONG}?at=1")
    await expect(page.get_by_text("Question 0", exact=True)).to_be_in_viewport()
    for _ in range(3):
        last = (await seqs(tab))[-1]
        await page.evaluate(LOOK_AT, 1_000_000)
        await until(
            page, "(seq) => Number([...document.querySelectorAll('[data-role]')].at(-1).dataset.seq) > seq", last
        )
    found = await seqs(tab)
    assert found == list(range(1, len(found) + 1))
    await tab.say("Thank you")
    await expect(tab.answers.last).to_contain_text("You are welcome!")
    await expect(tab.answers.last).to_be_in_viewport()


async def test_one_can_write_while_an_answer_streams_and_old_messages_are_left_alone(
    page: Page, server: Server
) -> None:
    tab = await opened(page, server)
    await tab.say(to_remember(200))
    await expect(tab.saying("word003")).to_be_visible()
    await page.evaluate(NOTE_CHANGES)
    await tab.composer.press_sequentially(words(10))
    await expect(tab.composer).to_have_value(words(10))
    await expect(tab.composer).to_be_focused()
    assert await page.evaluate(f"[...window.changed].filter((seq) => seq <= {MESSAGES})") == []
    await page.get_by_test_id("stop").wait_for(state="detached")
    await expect(tab.saying("word200")).to_be_in_viewport()
    stored = await settled(server.url, LONG)
    assert (await tab.shown())[-2:] == await tab.drawn(stored[-2:])
    await expect(tab.composer).to_have_value(words(10))


async def test_reading_further_up_is_not_disturbed_by_an_answer_that_grows(page: Page, server: Server) -> None:
    tab = await opened(page, server)
    await tab.say(to_remember(200))
    await expect(tab.saying("word003")).to_be_visible()
    anchor = await page.evaluate(LOOK_AT, 1_500)
    await expect(tab.saying("word200")).to_have_count(1)
    assert abs(await page.evaluate(TOP_OF, anchor["seq"]) - anchor["top"]) < FEW_PIXELS
    await page.get_by_role("button", name="Go to the newest message").click()
    await expect(tab.saying("word200")).to_be_in_viewport()
