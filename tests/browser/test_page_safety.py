"""What the page shows is never run: hostile text in every place that a server can put it, and the policy behind it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, Request, expect

from tests.browser.harness import Harness
from tests.browser.hostile_store import TURNS, fill, settings
from tests.browser.person import Api, Person
from tests.browser.server import Server
from tests.browser.waiting import until
from tests.browser.xss_payloads import PAYLOADS

ALIVE = """() => {
    const never = "body script, body style, body link, body meta, base, iframe, frame, object, embed, video, audio," +
        "form:not(.composer), math, template, foreignObject, animate, set, portal, applet, picture, source";
    const ours = /^(?:https?:|mailto:|\\/c\\/|\\/static\\/|\\/openapi.json|#composer$)/;
    const height = /^contain-intrinsic-block-size: auto [0-9.]+em;$/;
    const size = /^[-a-z: 0-9.]*px;(?: [-a-z: 0-9.]*px;)?$/;
    const found = [...document.querySelectorAll(never)].map((one) => one.outerHTML.slice(0, 200));
    for (const one of document.querySelectorAll("body *")) {
        for (const name of one.getAttributeNames()) {
            const value = one.getAttribute(name);
            // The width of the list, and where its rows begin.
            if (name === "style" && one.matches(".shell, .rows") && size.test(value)) continue;
            // A part of a long answer that is not in view: its height, and nothing else.
            if (one.className === "tk-part" && name === "style" && height.test(value)) continue;
            if (/^on|^(?:style|srcset|srcdoc|action|formaction|ping|background|poster|xlink:href)$/.test(name)) {
                found.push(`${one.localName} ${name}=${value}`);
            }
            if (name === "src" && !value.startsWith("/static/")) found.push(`src ${value}`);
            if (name === "href" && !ours.test(value)) found.push(`href ${value}`);
        }
    }
    return found;
}"""
PROVOKE = """() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    for (const one of document.querySelectorAll("[data-testid=messages] *, .list *, .suggestions *, .quiet *")) {
        for (const name of ["mouseover", "focus", "toggle", "animationstart", "load", "error"]) {
            one.dispatchEvent(new Event(name, { bubbles: false }));
        }
    }
}"""
GO = """(path) => {
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
}"""

IS_SHOWN = """async (text) => {
    const { html, render } = await import("/static/preact.js");
    const { Markdown } = await import("/static/render/markdown.js");
    const box = document.createElement("div");
    render(html`<${Markdown} text=${text} breaks />`, box);
    const isShown = document.querySelector(".said .bubble")?.textContent === box.textContent;
    render(null, box);
    return isShown;
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the hostile server keeps everything."""
    return tmp_path_factory.mktemp("hostile")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def talks(folder: Path) -> list[str]:
    """The conversations in which every payload is said."""
    (folder / "threadkeep.toml").write_text(settings(PAYLOADS), encoding="utf-8")
    return await fill(Server(folder).store, PAYLOADS)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hostile(folder: Path, talks: list[str]) -> AsyncIterator[Server]:
    """A server that is full of hostile text."""
    server = Server(folder)
    server.start()
    yield server
    server.kill()


@pytest_asyncio.fixture(loop_scope="session")
async def watched(page: Page, hostile: Server) -> AsyncIterator[Harness]:
    """A page of that server; at its end nothing was run, nothing asked, and nobody else was called."""
    harness = Harness(page, hostile.url)
    elsewhere: list[str] = []

    def asked(request: Request) -> None:
        if not request.url.startswith(f"{hostile.url}/"):
            elsewhere.append(request.url)

    page.context.on("request", asked)
    page.context.on("page", lambda opened: elsewhere.append(f"a window: {opened.url}"))
    await harness.watch()
    yield harness
    await harness.check()
    assert elsewhere == []
    assert await page.evaluate("Object.prototype.ran") is None


async def test_messages_tools_and_blocks_are_text(watched: Harness, talks: list[str]) -> None:
    assert len(PAYLOADS) >= 300
    page = watched.page
    await page.goto(watched.url)
    await expect(page.get_by_test_id("composer")).to_be_visible()
    parts = [PAYLOADS[start : start + TURNS] for start in range(0, len(PAYLOADS), TURNS)]
    for id, said in zip(talks, parts, strict=True):
        count = len(said)
        await page.evaluate(GO, f"/c/{id}")
        await until(page, IS_SHOWN, said[0])
        await expect(page.locator(".said")).to_have_count(count)
        await expect(page.locator(".answer")).to_have_count(count)
        await expect(page.locator(".tk-tool")).to_have_count(count)
        await expect(page.locator(".tk-block")).to_have_count(count * 8)
        await page.evaluate(PROVOKE)
        assert await page.evaluate(ALIVE) == []


async def test_titles_are_text(watched: Harness) -> None:
    page = watched.page
    await page.goto(watched.url)
    rows = page.get_by_test_id("conversation")
    await expect(rows.first).to_be_visible()
    drawn: set[str] = set()
    for number in range(len(PAYLOADS)):
        drawn.update(await rows.locator("a").evaluate_all("all => all.map((one) => one.getAttribute('href'))"))
        if len(drawn) == len(PAYLOADS):
            break
        await page.get_by_test_id("conversations").evaluate("(list, to) => list.scrollTo(0, to)", number * 300)
        await page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert len(drawn) == len(PAYLOADS)
    await page.evaluate(PROVOKE)
    assert await page.evaluate(ALIVE) == []


async def test_descriptions_and_examples_of_assistants_are_text(watched: Harness) -> None:
    await watched.page.goto(watched.url)
    choice = watched.page.get_by_test_id("choose-assistant")
    names = await choice.locator("option").evaluate_all("all => all.map((one) => one.value)")
    assert len(names) >= len(PAYLOADS)
    for name in names:
        await choice.select_option(name)
        await expect(watched.page.get_by_test_id("example").first).to_be_attached()
    await watched.page.evaluate(PROVOKE)
    assert await watched.page.evaluate(ALIVE) == []


async def test_what_the_search_finds_is_text(watched: Harness) -> None:
    page = watched.page
    await page.goto(watched.url)
    for words in ("alert", "script", "onerror", "javascript"):
        await page.get_by_test_id("search").fill(words)
        await expect(page.get_by_test_id("hit").locator("mark").first).to_be_visible()
        await page.evaluate(PROVOKE)
        assert await page.evaluate(ALIVE) == []


async def test_branches_and_notes_are_text(watched: Harness, talks: list[str]) -> None:
    person = Person(watched.page, watched.url)
    await person.open(talks[0])
    await person.page.get_by_test_id("branches").click()
    await expect(person.page.get_by_test_id("tree").get_by_role("navigation")).to_be_visible()
    assert await person.page.evaluate(ALIVE) == []
    await person.page.keyboard.press("Escape")
    await person.more("Delete")
    await expect(person.notes).to_contain_text(PAYLOADS[0])
    assert await person.page.evaluate(ALIVE) == []
    await person.notes.get_by_role("button", name="Undo").click()
    await expect(person.notes).to_have_count(0)


async def test_an_exported_page_is_text_wherever_it_is_opened(
    watched: Harness, talks: list[str], tmp_path: Path
) -> None:
    person = Person(watched.page, watched.url)
    await person.open(talks[1])
    async with person.page.expect_download() as waiting:
        await person.more("Export HTML")
    file = tmp_path / "exported.html"
    await (await waiting.value).save_as(file)
    asked: list[str] = []
    opened = await person.page.context.browser.new_page()  # type: ignore[union-attr] # the context has one
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("dialog", lambda dialog: asked.append(dialog.message))
    await opened.goto(file.as_uri())
    await expect(opened.locator("article")).to_have_count(TURNS * 2)
    await opened.close()
    assert asked == [file.as_uri()]


async def test_hostile_words_are_text_while_they_are_said_and_heard(page: Page, person: Person, api: Api) -> None:
    harness = Harness(page, person.url)
    await harness.watch()
    await person.open(await api.begin())
    for place in range(0, len(PAYLOADS), 60):
        await person.say("repeat " + "\n\n".join(PAYLOADS[place : place + 60]))
    await page.evaluate(PROVOKE)
    assert await page.evaluate(ALIVE) == []
    await harness.check()


async def test_the_policy_allows_our_own_files_and_nothing_inline(api: Api) -> None:
    id = await api.begin()
    for path in ("/", f"/c/{id}", "/sw.js", "/static/app.js", f"/v1/conversations/{id}", "/nothing"):
        answer = await api.client.get(path)
        policy = dict(rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; "))
        assert "unsafe" not in str(policy), path
        assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'", path
        assert policy["frame-ancestors"] == "'none'", path
        assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'", path
        assert answer.headers["x-content-type-options"] == "nosniff", path
        assert answer.headers["referrer-policy"] == "no-referrer", path


async def test_a_link_is_followed_only_by_who_presses_it_and_learns_nothing(person: Person, api: Api) -> None:
    asked: list[str] = []
    person.page.context.on("request", lambda request: asked.append(request.url))
    said = "repeat ![a picture](https://elsewhere.example/p.png) and [a page](https://elsewhere.example/page)"
    await person.open(await api.begin(said))
    link = person.answers.get_by_role("link", name="a page")
    await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    await expect(link).to_have_attribute("target", "_blank")
    await expect(person.answers.get_by_role("link", name="a picture")).to_be_visible()
    await link.hover()
    assert [url for url in asked if not url.startswith(f"{person.url}/")] == []
