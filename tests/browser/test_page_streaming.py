"""A page that is loaded anew in the middle of an answer: it goes on, and ends with exactly the stored text."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from playwright.async_api import Page, expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import Serve
from tests.browser.talking import Tab, to_remember, words
from tests.integration.serving import AT_ONCE, serving
from threadkeep.llm.base import Reasoned, Stopped, Text
from threadkeep.testing.scripted_model import ScriptedModel, Step, wants

QUESTION = "What is 17 * 23?"
BEFORE_THE_TOOL = ("# A head", "ing\n\nA para", "graph, *slan", "ted* and **bo", "ld**")
AFTER_IT = (
    *("Then `co", "de`, [a li", "nk](https://example.org/a_b)\n\n- o", "ne\n- two\n  - in", "ner\n\n| a | b |\n|--"),
    *("-|---|\n| 1 | 2 |\n| x", " | y |\n\n```py", "thon\nprint('7", "')\n```\n\nمرحبا", " 漢字", "かな 🧵"),
    *(" and 🪡\n\n1. first\n", "2. second\n\n> quo", "ted\n\n<b>no ta", "g</b> \\*", "star\n\n---\n\nThe e", "nd."),
)
NOTE_DOUBLES = """
window.doubles = [];
new MutationObserver(() => {
    const texts = [...document.querySelectorAll(".bubble")].map((bubble) => bubble.textContent);
    window.doubles.push(...texts.filter((text, place) => texts.indexOf(text) !== place));
}).observe(document, { subtree: true, childList: true });
"""


def gated(pieces: Sequence[str]) -> tuple[list[Step], list[asyncio.Event]]:
    """Return an answer that waits before each of its pieces, and what it waits for."""
    gates = [asyncio.Event() for _ in pieces]
    return [step for gate, piece in zip(gates, pieces, strict=True) for step in (gate, Text(piece))], gates


def moments() -> Iterator[list[dict[str, Any]]]:
    """Yield what has been said after each piece of the answer."""
    said = [{"role": "user", "content": QUESTION}]
    for pieces in (BEFORE_THE_TOOL, AFTER_IT):
        for count in range(1, len(pieces) + 1):
            growing = {"role": "assistant", "content": "".join(pieces[:count]), "growing": True}
            yield [*said, growing]
        said.append({"role": "assistant", "content": "".join(pieces)})


async def test_a_page_loaded_anew_at_twenty_moments_of_an_answer_shows_each_word_once(page: Page) -> None:
    first, gates = gated(BEFORE_THE_TOOL)
    second, more = gated(AFTER_IT)
    ending = asyncio.Event()
    model = ScriptedModel(
        [*first, *wants(("call_1", "calculate", {"expression": "17 * 23"}))], [*second, ending, Stopped("stop")]
    )
    async with serving(model=model) as server:
        path = await server.conversation(title="Reloads")
        await server.say(path, QUESTION, **AT_ONCE)
        tab = Tab(page, server.url)
        await tab.open(path.rpartition("/")[2])
        told, gates = list(moments()), [*gates, *more]
        assert len(gates) > 20
        for number, (gate, said) in enumerate(zip(gates, told, strict=True)):
            gate.set()
            if number % 2:  # else the page is loaded while the piece is on its way
                await tab.comes_to_show(said)
            await page.reload()
            await tab.comes_to_show(said)
        await expect(page.get_by_text("calculate")).to_be_visible()
        ending.set()
        stored = await tab.shows_what_is_stored()
    texts = [message["content"] for message in stored if message["role"] == "assistant"]
    assert texts == ["".join(BEFORE_THE_TOOL), "".join(AFTER_IT)]


async def test_a_page_that_is_loaded_anew_again_and_again_ends_with_what_the_demo_said(
    page: Page, serve: Serve
) -> None:
    tab = Tab(page, serve(pace=0.1).url)
    await tab.open()
    await tab.begin(to_remember(100))
    await expect(tab.saying("word003")).to_be_visible()
    reloads = 0
    while await page.get_by_test_id("stop").count():
        seen = await tab.shown()
        await page.reload()
        await expect(tab.saying(seen[-1].split()[-1])).to_be_visible()
        reloads += 1
    assert reloads
    stored = await tab.shows_what_is_stored()
    assert [message["role"] for message in stored] == ["user", "assistant"]
    assert stored[1]["content"].startswith(f"I will remember that {words(100)}")


async def test_what_a_person_says_is_there_at_once_and_never_twice(page: Page, serve: Serve) -> None:
    tab = Tab(page, serve(pace=0.02).url)
    await page.add_init_script(NOTE_DOUBLES)
    await tab.open()
    await tab.begin(to_remember(30))
    for number in range(5):
        await tab.say(f"My number is {number}")
    stored = await tab.shows_what_is_stored()
    assert len(stored) == 12
    assert await page.evaluate("window.doubles") == []


async def test_what_the_model_thinks_is_shown_as_it_comes_and_folded_when_it_speaks(page: Page) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    thinking: list[Step] = [Reasoned(text="First *this*, "), gates[0], Reasoned(text="then that."), gates[1]]
    model = ScriptedModel([*thinking, Text("It is "), gates[2], Text("blue."), Stopped("stop")])
    async with serving(model=model) as server:
        path = await server.conversation(title="Thoughts")
        await server.say(path, QUESTION, **AT_ONCE)
        tab = Tab(page, server.url)
        await tab.open(path.rpartition("/")[2])
        reasoning = page.get_by_test_id("reasoning")
        await expect(reasoning).to_contain_text("First this,")
        await expect(reasoning).to_have_attribute("open", "")
        await find_nothing(page, "a model that thinks")
        gates[0].set()
        await expect(reasoning).to_contain_text("First this, then that.")
        await page.reload()
        await expect(reasoning).to_contain_text("First this, then that.")
        gates[1].set()
        await expect(tab.saying("It is")).to_be_visible()
        await expect(reasoning).not_to_have_attribute("open", "")
        gates[2].set()
        await tab.shows_what_is_stored()
        await expect(reasoning.locator("summary")).to_contain_text("Thought for")
        await page.reload()
        await reasoning.locator("summary").click()
        await expect(reasoning).to_contain_text("First this, then that.")
