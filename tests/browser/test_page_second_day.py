"""What somebody needs who comes back every day: names, marks, plain words, and a focus that stays where it was."""

import re

from playwright.async_api import expect

from tests.browser.conftest import NewContext
from tests.browser.person import AT_ONCE, Api, Person
from tests.browser.server import Server
from tests.browser.test_page_access import LISTEN
from tests.browser.waiting import until

PACE = 0.01
LONG = "hold never and tell me everything that there is to know about the history of the lighthouse"
PRINT = """() => {
    window.print = () => {
        const images = [...document.querySelectorAll(".column img")].map((image) => image.naturalWidth);
        window.printed = [document.querySelectorAll(".said, .answer").length, images];
    };
}"""


async def test_a_conversation_has_a_name_at_once_and_says_who_answers(person: Person, api: Api) -> None:
    page = person.page
    await person.open()
    await person.choose("Stage")
    await person.write(LONG)
    name = "hold never and tell me everything that there is to know …"
    await expect(person.row(name)).to_be_visible()
    await expect(page.get_by_test_id("title")).to_have_text(name)
    await expect(person.row(name).get_by_role("link")).to_have_attribute("title", f"{name} (Stage)")
    await expect(page.get_by_test_id("assistant")).to_have_text("Stage")
    await expect(page.get_by_role("article", name="Stage")).to_have_count(1)
    await page.get_by_test_id("stop").click()
    await person.is_answered()
    await expect(page.get_by_text("You stopped this")).to_be_visible()
    await expect(page.get_by_test_id("announced")).to_have_text("You stopped the answer.")
    await page.reload()
    await expect(person.rows.first).to_contain_text("never and tell me everything")
    await expect(page.get_by_text("You stopped this")).to_be_visible()


async def test_what_was_not_seen_is_marked_until_it_is(person: Person, api: Api) -> None:
    old, open_one = await api.begin("Say one.", title="Seen before"), await api.begin("Say one.", title="Open")
    await person.open(open_one)
    unread = person.page.get_by_role("img", name="Has something that you have not seen")
    await expect(person.row("Seen before")).to_be_visible()
    await expect(unread).to_have_count(0)
    await api.say(old, "Say two.")
    await expect(person.row("Seen before").get_by_role("img")).to_have_attribute("data-state", "unread")
    await api.say(open_one, "Say two.")
    await expect(person.answers).to_have_count(2)
    await person.page.reload()
    await expect(unread).to_have_count(1)
    await person.row("Seen before").get_by_role("link").click()
    await expect(unread).to_have_count(0)


async def test_the_focus_stays_near_after_stop_allow_regenerate_and_an_edit(person: Person, api: Api) -> None:
    page = person.page
    await person.open(await api.begin("Say one."))
    await person.write("hold never")
    await page.get_by_test_id("stop").focus()
    await page.keyboard.press("Enter")
    await person.is_answered()
    await expect(person.field).to_be_focused()
    await person.write("remove a.txt")
    await page.get_by_role("button", name="Refuse").focus()
    await page.keyboard.press("Enter")
    await person.is_answered()
    card = person.answers.last.locator(".tk-tool")
    await expect(card).to_have_attribute("data-state", "refused")
    await expect(card.locator("summary")).to_contain_text("Refused by you")
    await expect(person.field).to_be_focused()
    await person.answers.last.get_by_role("button", name="Regenerate").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("approval")).to_be_visible()
    await expect(person.field).to_be_focused()
    await page.get_by_test_id("stop").click()
    await person.is_answered()
    await expect(person.answers.last.locator("summary").first).to_contain_text("stopped by you")
    await page.keyboard.press("Escape")
    await person.said.first.get_by_role("button", name="Edit").focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await expect(person.said).to_have_count(1)
    await person.is_answered()
    await expect(person.field).to_be_focused()


async def test_who_hears_the_page_is_told_of_the_connection_and_of_what_waits(person: Person, api: Api) -> None:
    page = person.page
    await person.open(await api.begin("Say one."))
    await page.evaluate(LISTEN)
    await page.context.set_offline(True)
    await person.write("Say two.")
    heard = "(text) => window.heard.some((one) => one.startsWith(text))"
    await until(page, heard, "Your message is waiting in this browser.")
    await page.context.set_offline(False)
    await until(page, heard, "Connected again. Your message was sent.")
    await expect(person.answers).to_have_count(2)


async def test_a_conversation_is_printed_whole(person: Person, api: Api) -> None:
    page = person.page
    said = ("paint something", *(f"Say {number}." for number in range(58)), "Write in Markdown")
    id = await api.begin(*said, title="To be printed")
    await person.open(id)
    await page.evaluate(PRINT)
    await person.more("Print")
    await until(page, "() => window.printed")
    assert await page.evaluate("window.printed") == [120, [120]]  # the one image is as wide as it is
    await page.emulate_media(media="print", color_scheme="dark")
    await expect(page.locator(".hljs-keyword").first).to_have_css("color", "rgb(138, 44, 107)")
    await expect(page.get_by_role("navigation", name="Conversations")).to_be_hidden()
    await expect(person.field).to_be_hidden()
    await expect(page.get_by_test_id("title")).to_be_visible()
    assert await page.evaluate("document.scrollingElement.scrollHeight > 60 * 80")


async def test_marks_are_kept_where_colours_are_the_readers_own(
    new_context: NewContext, stage: Server, api: Api
) -> None:
    context = await new_context(forced_colors="active")
    person = Person(await context.new_page(), stage.url)
    id = await api.begin("break the lamp", title="Marks")
    await api.say(id, "hold never", AT_ONCE)
    await person.open(id)
    same = "one => getComputedStyle(one).backgroundColor === getComputedStyle(document.body).backgroundColor"
    for selector in (".row .mark", ".status i", ".tk-tool-mark"):
        assert not await person.page.locator(selector).first.evaluate(same), selector
    await api.client.post(f"/v1/conversations/{id}/cancel")
    await person.is_answered()


async def test_lists_and_tables_go_in_the_direction_of_their_language(person: Person, api: Api) -> None:
    hebrew = "repeat - שלום עולם\n- עוד שורה\n\n| שם | מספר |\n|---|---|\n| אחד | 1 |"
    await person.open(await api.begin(hebrew))
    for selector in ("ul", "table"):
        shown = person.answers.locator(f".text {selector}").first
        assert await shown.evaluate("one => getComputedStyle(one).direction") == "rtl", selector


async def test_queued_messages_are_moved_edited_and_taken_back(person: Person, api: Api, stage: Server) -> None:
    page = person.page
    id = await api.begin()
    await person.open(id)
    await person.write("hold queue")
    await expect(page.get_by_test_id("stop")).to_be_visible()
    queued = page.locator(".pending[data-state=queued]")
    for number, word in enumerate(("one", "two", "three", "four"), 1):
        await person.write(f"Say {word}.")
        await expect(queued).to_have_count(number)
    bubbles = queued.locator(".bubble")
    await queued.nth(2).get_by_role("button", name="Move up").focus()
    await page.keyboard.press("Enter")
    await expect(bubbles).to_have_text(["Say one.", "Say three.", "Say two.", "Say four."])
    await expect(queued.nth(1).get_by_role("button", name="Move up")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(bubbles).to_have_text(["Say three.", "Say one.", "Say two.", "Say four."])
    await expect(queued.first.get_by_role("button", name="Edit")).to_be_focused()
    await queued.nth(3).get_by_role("button", name="Withdraw").click()
    await expect(bubbles).to_have_text(["Say three.", "Say one.", "Say two."])
    await queued.nth(2).get_by_role("button", name="Edit").click()
    await expect(person.field).to_have_value("Say two.")
    await person.write("Say five.")
    await expect(bubbles).to_have_text(["Say three.", "Say one.", "Say five."])
    (stage.folder / "queue").touch()
    await expect(person.said.locator(".bubble")).to_have_text(["hold queue", "Say three.", "Say one.", "Say five."])
    await person.is_answered()


async def test_an_answer_that_was_cut_says_so_and_goes_on(person: Person, api: Api) -> None:
    await person.open(await api.begin("Be filtered.", "Be too long."))
    ending = person.page.get_by_test_id("ending")
    await expect(ending.first).to_contain_text("The provider's filter ended this answer. Ask in other words.")
    await expect(ending.first.get_by_role("button")).to_have_count(0)
    await expect(ending.last).to_contain_text("This answer was cut")
    await ending.last.get_by_role("button", name="Continue").click()
    await expect(person.said.last).to_contain_text("Continue where your answer was cut off.")
    await person.is_answered()
    await expect(person.page.get_by_role("button", name="Continue")).to_have_count(0)


async def test_an_answer_that_was_stopped_goes_on(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one."))
    await person.write("hold never")
    await expect(person.answers.last.locator(".tk-tool")).to_be_visible()
    await person.page.get_by_test_id("stop").click()
    await person.is_answered()
    stopped = person.page.get_by_test_id("stopped").last
    await stopped.get_by_role("button", name="Continue").click()
    await expect(person.said.last).to_contain_text("Continue where your answer was cut off.")
    await person.is_answered()
    await expect(person.page.get_by_role("button", name="Continue")).to_have_count(0)


async def test_an_answer_of_which_the_filter_left_nothing_gives_the_providers_reason(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one."))
    await person.write("Be blocked.")
    told = person.page.get_by_test_id("no-answer")
    await expect(told).to_contain_text("This question has no answer. The model gave an empty answer.")
    await expect(told).to_contain_text("The provider's reason: content_filter.")
    await person.page.reload()
    await expect(told).to_contain_text("The provider's reason: content_filter.")


async def test_a_provider_that_asks_to_wait_is_shown_with_the_attempt_and_the_time(person: Person, api: Api) -> None:
    await person.open(await api.begin())
    retrying = person.page.get_by_test_id("retrying")
    await person.write("hurry")
    await expect(retrying).to_have_text(re.compile(r"asks to slow down\. Asking again in \d s: attempt 2 of 4\."))
    await person.page.reload()
    await expect(retrying).to_contain_text("attempt 2 of 4")
    await person.is_answered()
    await expect(person.answers.last).to_contain_text("There you are.")
    await expect(retrying).to_have_count(0)


async def test_conversations_are_pinned_filed_filtered_and_found_by_title(
    new_context: NewContext, stage: Server, api: Api
) -> None:
    await api.begin(title="The oldest zebra")
    await api.begin(title="About lions", assistant="forgetful")
    for number in range(62):
        await api.begin(title=f"Later {number}")
    person = Person(await (await new_context()).new_page(), stage.url)
    page = person.page
    await person.open()
    await expect(person.row("Later 61")).to_be_visible()
    await expect(person.row("The oldest zebra")).to_have_count(0)
    await page.get_by_test_id("search").fill("ZEBRA")
    await expect(person.row("The oldest zebra")).to_be_visible()
    await expect(page.get_by_test_id("announced")).to_have_text("Found: 1 title, 0 messages.")
    await person.more("Pin", "The oldest zebra")
    await page.get_by_test_id("search").fill("")
    await page.reload()
    group = page.get_by_test_id("conversations").locator("section")
    pinned = group.filter(has=page.get_by_role("heading", name="Pinned", exact=True))
    await expect(pinned.get_by_role("link").get_by_text("The oldest zebra", exact=True)).to_be_visible()
    await person.more("Move to a folder", "Later 60")
    await page.get_by_role("textbox", name="Name of the folder").fill("Work")
    await page.get_by_role("button", name="Move", exact=True).click()
    work = group.filter(has=page.get_by_role("heading", name="Work", exact=True))
    await expect(work.get_by_role("link").get_by_text("Later 60", exact=True)).to_be_visible()
    elsewhere = Person(await (await new_context()).new_page(), stage.url)
    await elsewhere.open()
    there = elsewhere.page.locator("section").filter(has=elsewhere.page.get_by_role("heading", name="Work"))
    await expect(there.get_by_text("Later 60", exact=True)).to_be_visible()
    await elsewhere.page.get_by_role("button", name="Work", exact=True).click()
    await expect(elsewhere.row("Later 60")).to_have_count(0)
    await person.more("Unpin", "The oldest zebra")
    await expect(pinned).to_have_count(0)
    await page.get_by_test_id("filter").select_option(label="Forgetful")
    await expect(person.rows.locator("a > span")).to_have_text(["About lions"])
    done = await api.begin(title="Done with it")
    await api.client.patch(f"/v1/conversations/{done}", json={"status": "completed"})
    for number in range(61):
        await api.begin(title=f"Still later {number}")
    await page.reload()
    await page.get_by_test_id("filter").select_option(label="Completed")
    await expect(person.rows.locator("a > span")).to_have_text(["Done with it"])
    await page.get_by_test_id("filter").select_option(label="Abandoned")
    await expect(page.get_by_text("Nothing was found.")).to_be_visible()


async def test_an_unknown_address_has_a_page_that_says_so(person: Person, api: Api) -> None:
    answer = await person.page.goto(f"{person.url}/no/such/page")
    assert answer
    assert answer.status == 404
    await expect(person.page.get_by_role("heading", name="There is no such page.")).to_be_visible()
    assert (await api.client.get("/no/such/page")).headers["content-type"] == "application/problem+json"
    await person.page.get_by_role("button", name="Begin a conversation").click()
    await expect(person.field).to_be_focused()


async def test_one_can_go_on_writing_behind_a_very_long_draft(new_context: NewContext, stage: Server) -> None:
    context = await new_context(permissions=["clipboard-read", "clipboard-write"])
    person = Person(await context.new_page(), stage.url)
    await person.open()
    for end, text in (("paragraph", "word " * 40_000), ("lines", "word\n" * 40_000)):
        await person.page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
        await person.field.press("ControlOrMeta+a")
        await person.field.press("ControlOrMeta+v")
        await person.field.press_sequentially(end)
        await expect(person.field).to_have_value(text + end)
        await person.page.reload()
        await expect(person.field).to_have_value(text + end)


async def test_whoever_waits_long_is_asked_once_and_told_when_the_answer_is_ready(
    new_context: NewContext, stage: Server, api: Api
) -> None:
    context = await new_context()
    await context.add_init_script("""
        window.told = [];
        window.Notification = class extends EventTarget {
            static permission = "default";
            static requestPermission() { this.permission = "granted"; }
            constructor(title, { body }) { super(); window.told.push([title, body]); }
        };
        Object.defineProperty(document, "hidden", { get: () => window.isHidden ?? false });
    """)
    person = Person(await context.new_page(), stage.url)
    await person.page.clock.install()
    await person.open(await api.begin(title="Slow"))
    await person.write("hold notification")
    mark = person.row("Slow").get_by_role("img", name="An answer is being written")
    await expect(mark).to_be_visible()
    await person.page.clock.fast_forward(16_000)
    await person.notes.get_by_role("button", name="Notify me").click()
    await person.page.evaluate("window.isHidden = true")
    (stage.folder / "notification").touch()
    await until(person.page, "() => window.told.length > 0")
    assert await person.page.evaluate("window.told") == [["Slow", "The answer is ready."]]
    await person.page.evaluate("Notification.permission = 'default'")
    await person.write("hold never")
    await expect(mark).to_be_visible()
    await person.page.clock.fast_forward(16_000)
    await expect(person.notes).to_have_count(0)
    await person.page.get_by_test_id("stop").click()
    manifest = (await api.client.get("/static/app.webmanifest")).json()
    for icon in manifest["icons"]:
        (await api.client.get(f"/static/{icon['src']}")).raise_for_status()
