"""The page in the language of its reader: chosen by the browser or in the settings, from right to left where it is so.

In a made-up language every text of the catalogue is marked, so that one from elsewhere shows.
"""

import json
import re
from pathlib import Path

from playwright.async_api import Page, Route, expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import NewContext
from tests.browser.person import Api, Person
from tests.browser.server import Server

TEXTS = Path(__file__).parents[2] / "src" / "threadkeep_pages" / "web" / "texts"
# Everything that is read or heard, but not what people, models and tools said, names of things, and keys.
UNMARKED = """() => {
  const said = '[dir=auto], code, kbd, strong, pre, .tk-md, .tk-legend, svg text, .answers [title], noscript';
  const names = '.brand, .badge, .models, .assistant, .by, .row small, [data-testid=model]';
  const listed = '[data-testid=suggestions] *, :is(#set-assistant, #set-language, .filter, .quiet) option';
  const isOurs = (node) => node && !node.closest([said, names, listed].join());
  const isToday = (text) => text === new Intl.RelativeTimeFormat('de', { numeric: 'auto' }).format(0, 'day');
  // A text with elements in it comes in parts; what stands between two marks is a value.
  const unmarked = (text) => text.replace(/⟦.*⟧/s, '').replace(/^.*⟧|⟦.*$/gs, '').replace(/[(](Enter|Esc)[)]/, '');
  const isLeft = (text) => !isToday(text.toLowerCase()) && /\\p{L}{2}/u.test(unmarked(text));
  const found = [];
  const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (all.nextNode()) if (isOurs(all.currentNode.parentElement)) found.push(all.currentNode.data);
  for (const node of document.body.querySelectorAll('[aria-label], [title], [placeholder]')) {
    if (!isOurs(node) || node.matches('article, .card, .approval')) continue;
    for (const name of ['aria-label', 'title', 'placeholder']) found.push(node.getAttribute(name) ?? '');
  }
  return found.map((text) => text.trim()).filter(isLeft);
}"""
SIDES = """(element) => {
    const sides = ({ left, right }) => [left, right];
    const range = document.createRange();
    const words = document.createTreeWalker(element, NodeFilter.SHOW_TEXT, (node) => node.data.trim() ? 1 : 2);
    range.selectNodeContents(words.nextNode());
    return { text: sides(range.getBoundingClientRect()), box: sides(element.getBoundingClientRect()) };
}"""


def marked() -> str:
    """English with marks around every text."""
    return re.sub(r'(:\s*)"((?:[^"\\]|\\.)*)"', r'\1"⟦\2⟧"', (TEXTS / "en.js").read_text(encoding="utf-8"))


async def in_marks(page: Page) -> None:
    """Let German be the made-up language."""

    async def answer(route: Route) -> None:
        await route.fulfill(content_type="text/javascript", body=marked())

    await page.route("**/static/texts/de.js", answer)


async def test_no_text_of_the_page_is_outside_of_the_catalogue(
    new_context: NewContext, stage: Server, api: Api
) -> None:
    context = await new_context(locale="de-DE", service_workers="block")
    person = Person(await context.new_page(), stage.url)
    await in_marks(person.page)
    conversation = await api.begin("Show all blocks", "Write in Markdown", "break the lamp")
    left: dict[str, list[str]] = {}

    async def look(name: str) -> None:
        if found := await person.page.evaluate(UNMARKED):
            left[name] = found

    await person.open()
    await expect(person.page.get_by_test_id("trial-card")).to_contain_text("⟦")
    await look("first")
    await person.page.get_by_test_id("open-settings").click()
    await look("settings")
    await person.page.keyboard.press("Escape")
    for place, dialog in enumerate(("prompts", "your-data", "preferences", "administration")):
        await person.page.locator(".foot button").nth(place).click()
        await expect(person.page.get_by_test_id(dialog)).to_contain_text("⟦")
        await look(dialog)
        await person.page.keyboard.press("Escape")
    await person.open(conversation)
    await expect(person.answers).to_have_count(3)
    await look("conversation")
    for key in "?tmx":
        await person.page.get_by_test_id("messages").focus()
        await person.page.keyboard.press(key)
        await look(f"key {key}")
        await person.page.keyboard.press("Escape")
    await person.write("remove a.txt")
    await expect(person.page.get_by_test_id("approval")).to_be_visible()
    await look("approval")
    await person.write("and another")
    await expect(person.page.get_by_test_id("pending")).to_be_visible()
    await look("queued")
    await context.set_offline(True)
    await person.write("and later")
    await expect(person.page.get_by_test_id("status")).to_have_attribute("data-kind", "away")
    await look("offline")
    await context.set_offline(False)
    assert json.dumps(left, ensure_ascii=False) == "{}"


async def test_the_browser_says_the_language_and_the_settings_another(
    new_context: NewContext, stage: Server, api: Api
) -> None:
    await api.begin(title="In English")
    context = await new_context(locale="de-AT", service_workers="block")
    person = Person(await context.new_page(), stage.url)
    await person.open()
    await expect(person.page.get_by_role("heading", level=1)).to_have_text("Worüber möchten Sie sprechen?")
    await expect(person.page.locator("html")).to_have_attribute("lang", "de")
    await person.page.get_by_role("button", name="Einstellungen der Seite").click()
    await person.page.get_by_label("Sprache der Seite").select_option("ar")
    await expect(person.page.locator("html")).to_have_attribute("dir", "rtl")
    await expect(person.page.get_by_role("heading", level=1)).to_have_text("عمّ تريد أن تتحدث؟")
    sidebar = await person.page.get_by_role("navigation").bounding_box()
    assert sidebar is not None
    assert sidebar["x"] > 600, "the list is not at the right"
    await expect(person.row("In English").get_by_role("link")).to_have_css("text-align", "right")
    await find_nothing(person.page, "the first screen in Arabic")
    await person.open(await api.begin("repeat - one\n- two"))
    listed = await person.answers.locator("ul").evaluate(SIDES)
    assert listed["text"][0] > listed["box"][0] + 10, "there is no room for the marks of a list"


async def test_tables_and_charts_in_english_stay_whole_on_an_arabic_page(
    new_context: NewContext, stage: Server, api: Api
) -> None:
    context = await new_context(locale="ar", service_workers="block")
    person = Person(await context.new_page(), stage.url)
    wide = "|".join(f"column number {number}" for number in range(30))
    await person.open(await api.begin(f"repeat |{wide}|\n{'|-' * 30}|", "Show all blocks"))
    table = person.answers.locator(".tk-scroll").first
    first = await table.locator("th").first.evaluate(SIDES)
    box = await table.evaluate(SIDES)
    assert first["text"][0] > box["box"][0], "a wide table does not begin with its first column"
    chart = person.answers.locator("[data-type=chart] svg").first
    label, axis = chart.locator(".tk-axes text").first, chart.locator(".tk-axes line").first
    left = await axis.evaluate("line => line.getBoundingClientRect().left")
    assert (await label.evaluate(SIDES))["text"][1] < left - 5, "a number stands on the axis"


async def test_a_problem_is_told_in_the_language_of_the_page(new_context: NewContext, stage: Server, api: Api) -> None:
    context = await new_context(locale="fr-FR", service_workers="block")
    person = Person(await context.new_page(), stage.url)
    await person.open(await api.begin("stumble"))
    await expect(person.page.get_by_test_id("failure")).to_contain_text("Le modèle a échoué.")
    await expect(person.page.get_by_test_id("failure")).not_to_contain_text("stumbled")
