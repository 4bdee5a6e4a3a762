"""Files on the page: attached in every way, sent once whatever happens in between, shown, and gone with who left."""

import asyncio
import base64
from typing import Any

import pytest
from playwright.async_api import BrowserContext, FilePayload, Page, Route, expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import NewContext, Serve
from tests.browser.network import network
from tests.browser.person import AT_ONCE, Api, Person
from tests.browser.pixels import png
from tests.browser.server import Server
from tests.browser.talking import Tab
from tests.browser.waiting import patiently, until
from threadkeep.testing import openai_answers as answers
from threadkeep.testing.openai_server import openai_server

RED: FilePayload = {"name": "red square.png", "mimeType": "image/png", "buffer": png(320, 200)}
BLUE: FilePayload = {"name": "blue.png", "mimeType": "image/png", "buffer": png(200, 320, (30, 30, 200))}
NOTES: FilePayload = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"# Notes\n\nBuy milk.\n"}
SOUND: FilePayload = {
    "name": "beep.wav",
    "mimeType": "audio/wav",
    "buffer": b"RIFF\x2c\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00@\x1f\x00\x00\x01\x00\x08\x00"
    b"data\x08\x00\x00\x00\x80\x80\x80\x80\x80\x80\x80\x80",
}
MEGABYTE = 1024 * 1024
GIVE = """([selector, kind, name, type, data]) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const given = new DataTransfer();
    given.items.add(new File([bytes], name, { type }));
    const target = document.querySelector(selector);
    const how = { bubbles: true, cancelable: true };
    if (kind === "paste") target.dispatchEvent(new ClipboardEvent("paste", { ...how, clipboardData: given }));
    else for (const event of kind) target.dispatchEvent(new DragEvent(event, { ...how, dataTransfer: given }));
}"""
KEPT = """async () => {
    const kept = await (await caches.open("threadkeep-files")).keys();
    return kept.length;
}"""


async def give(page: Page, selector: str, kind: str | list[str], file: FilePayload) -> None:
    """Paste a file, or drag it over the page."""
    data = base64.b64encode(file["buffer"]).decode()
    await page.evaluate(GIVE, [selector, kind, file["name"], file["mimeType"], data])


async def attach(page: Page, *files: FilePayload) -> None:
    """Attach files with the button, and wait until each is there or refused."""
    before = await page.locator(".composer-box .chip").count()
    await page.get_by_test_id("clip").set_input_files(list(files))
    await expect(page.locator(".composer-box .chip")).to_have_count(before + len(files))
    await expect(page.locator(".chip[data-state=sending], .chip[data-state=waiting]")).to_have_count(0)


async def is_there(held: list[Route]) -> bool:
    """Whether somebody waits for an answer."""
    return bool(held)


def parts_of(message: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the files of a message by type and name."""
    return [(part["type"], part["name"]) for part in message["parts"]]


async def test_files_are_attached_by_button_paste_and_drop_and_shown(person: Person, api: Api) -> None:
    page = person.page
    await person.open()
    await person.choose("Stage")
    await attach(page, RED, NOTES, SOUND)
    await expect(page.get_by_test_id("announced")).to_have_text("Uploaded: red square.png, notes.md, beep.wav.")
    await give(page, "#composer", "paste", BLUE)
    await give(page, "main", ["dragover"], RED)
    await expect(page.locator(".hint")).to_have_text("Drop files to attach them.")
    await give(page, "main", ["drop"], {**RED, "name": "dropped.png"})
    chips = page.locator(".composer-box .chip")
    await expect(chips).to_have_count(5)
    await expect(page.locator(".chip[data-state=there]")).to_have_count(5)
    await expect(chips.first.locator("img")).to_be_visible()
    await find_nothing(page, "attached files")
    async with page.expect_response(lambda answer: answer.request.method == "DELETE") as gone:
        await chips.last.get_by_role("button", name="Remove dropped.png").click()
    assert (await gone.value).status == 204
    await expect(chips).to_have_count(4)
    await person.say("Say thanks.")

    said = person.said.last
    stored = (await api.read(page.url.rsplit("/", 1)[1]))["messages"][0]
    assert stored["content"] == "Say thanks."
    named = [("image", "red square.png"), ("file", "notes.md"), ("audio", "beep.wav"), ("image", "blue.png")]
    assert parts_of(stored) == named
    await expect(said.get_by_role("img", name="red square.png")).to_have_js_property("naturalWidth", 320)
    await expect(said.locator("audio")).to_have_attribute("aria-label", "beep.wav")
    async with page.expect_download() as download:
        await said.get_by_role("link", name="notes.md").click()
    assert (await (await download.value).path()).read_bytes() == NOTES["buffer"]
    await find_nothing(page, "files in a message")
    await until(page, f"async () => await ({KEPT})() === 0")


async def test_an_image_opens_full_size_and_the_keyboard_goes_through_them(person: Person) -> None:
    page = person.page
    await person.open()
    await person.choose("Stage")
    await attach(page, RED, BLUE)
    await person.say("Say thanks.")
    picture = person.said.last.get_by_role("button", name="Show red square.png full size")
    await picture.focus()
    await page.keyboard.press("Enter")
    viewer = page.get_by_test_id("viewer")
    await expect(viewer.get_by_role("img", name="red square.png")).to_be_visible()
    await find_nothing(page, "an image in full size")
    await page.keyboard.press("ArrowRight")
    await expect(viewer.get_by_role("img", name="blue.png")).to_be_visible()
    await expect(viewer).to_contain_text("2/2")
    await page.keyboard.press("Escape")
    await expect(viewer).to_have_count(0)
    await expect(picture).to_be_focused()


async def test_a_message_of_files_alone_is_answered_and_edits_keep_them(person: Person, api: Api) -> None:
    page = person.page
    await person.open()
    await person.choose("Stage")
    await attach(page, RED, NOTES)
    await page.get_by_test_id("send").click()
    await expect(person.answers).to_have_count(1)
    await person.is_answered()
    id = page.url.rsplit("/", 1)[1]
    first = (await api.read(id))["messages"][0]
    assert (first["content"], parts_of(first)) == ("", [("image", "red square.png"), ("file", "notes.md")])
    await page.get_by_role("button", name="Regenerate: makes a branch").click()
    await expect(page.get_by_test_id("siblings")).to_have_text("2/2")
    await person.is_answered()
    assert parts_of((await api.read(id))["messages"][0]) == parts_of(first)

    await person.said.hover()
    await page.get_by_role("button", name="Edit this message: makes a branch").click()
    await page.get_by_role("button", name="Remove notes.md").click()
    await page.get_by_label("Edit your message").fill("Say what it is.")
    await page.get_by_label("Edit your message").press("Enter")
    await expect(person.said.locator(".bubble")).to_have_text("Say what it is.")
    await person.is_answered()
    edited = (await api.read(id))["messages"][0]
    assert (edited["content"], parts_of(edited)) == ("Say what it is.", [("image", "red square.png")])


async def test_an_image_that_a_tool_made_is_shown_in_the_answer_at_once_and_later(person: Person) -> None:
    await person.begin("paint something")
    painted = person.answers.last.get_by_role("img", name="painted.png")
    await expect(painted).to_have_js_property("naturalWidth", 120)
    await person.page.reload()
    await expect(painted).to_have_js_property("naturalWidth", 120)


async def test_a_model_that_can_see_gets_the_very_image(page: Page, serve: Serve) -> None:
    # The server may ask which models there are before somebody asks one of them.
    async with openai_server(*[answers.says("A red square.")] * 3) as provider:
        known = {"OPENAI_API_KEY": "sk-of-the-test", "OPENAI_BASE_URL": provider.url}
        person = Person(page, serve("--model", "openai:gpt-4o", variables=known).url)
        await person.open()
        await attach(page, RED)
        await person.say("What is this?")
        await expect(person.answers.last).to_contain_text("A red square.")
    asked = next(one for one in provider.requests if "messages" in one)["messages"][-1]["content"]
    seen = next(part["image_url"]["url"] for part in asked if part["type"] == "image_url")
    assert base64.b64decode(seen.partition("base64,")[2]) == RED["buffer"]


async def test_what_only_claims_to_be_an_image_is_neither_drawn_nor_run(person: Person, api: Api) -> None:
    page = person.page
    await page.add_init_script("window.alert = () => (window.ran = true);")
    await person.open()
    await person.choose("Stage")
    script = b"<script>parent.alert(1); alert(1)</script>"
    await attach(
        page,
        {"name": "page.png", "mimeType": "image/png", "buffer": b"<!doctype html><html><body>" + script},
        {
            "name": "drawing.svg",
            "mimeType": "image/svg+xml",
            "buffer": b'<svg xmlns="http://www.w3.org/2000/svg">' + script + b"</svg>",
        },
    )
    await expect(page.locator(".chip", has_text="page.png").locator("img")).to_have_count(0)
    await person.say("Say thanks.")
    stored = (await api.read(page.url.rsplit("/", 1)[1]))["messages"][0]
    assert parts_of(stored) == [("file", "page.png"), ("file", "drawing.svg")]
    await expect(person.said.locator("img")).to_have_count(0)
    for part in stored["parts"]:
        async with page.expect_download():
            await page.evaluate("(path) => void window.open(path)", f"/v1/files/{part['file']}")
    assert await page.evaluate("window.ran") is None


async def test_a_hostile_name_is_refused_for_that_file_alone_and_shown_as_what_it_is(person: Person) -> None:
    page = person.page
    await person.open()
    names = (
        "x" * 10_000 + ".md",
        "../../etc/passwd",
        "nul\0.png",
        "photo\u202egnp.exe",
        "<img src=x onerror=alert(1)>.md",
    )
    no_path, no_control = "The name of a file has at most 255 characters and is no path.", "no control characters"
    for name in names:
        await give(page, "#composer", "paste", {"name": name, "mimeType": "image/png", "buffer": png(8, 8)})
        if name == names[0]:
            await expect(page.get_by_test_id("announced")).to_contain_text(f"{'x' * 255}…: {no_path}")
    chips = page.locator(".composer-box .chip")
    await expect(chips).to_have_count(len(names))
    await expect(page.locator(".chip[data-state=sending], .chip[data-state=waiting]")).to_have_count(0)
    shown = await chips.locator(".name").all_text_contents()
    assert shown == ["x" * 255 + "…", names[1], "nul\ufffd.png", "photo\ufffdgnp.exe", names[4]]
    states = [await chip.get_attribute("data-state") for chip in await chips.all()]
    assert states == ["wrong", "wrong", "wrong", "wrong", "there"]
    for chip, told in zip(await chips.all(), (no_path, no_path, no_control, no_control, ""), strict=True):
        await expect(chip).to_contain_text(told)
    # With the keyboard alone: the focus stays among the files, and ends where one writes.
    await page.get_by_role("button", name="Remove ../../etc/passwd").focus()
    for count in range(len(names), 0, -1):
        await expect(chips).to_have_count(count)
        await page.keyboard.press("Enter")
    await expect(person.field).to_be_focused()


@pytest.mark.usefixtures("no_worker")
async def test_a_file_that_was_refused_is_tried_again_and_one_that_cannot_be_read_says_so(person: Person) -> None:
    page = person.page
    held: list[Route] = []
    full = {"code": "storage_full", "detail": "At most 5 bytes may be stored; delete some conversations."}
    await page.route("**/v1/files?*", lambda route: held.append(route))
    await person.open()
    await person.choose("Stage")
    chips = page.locator(".composer-box .chip")
    await page.evaluate("File.prototype.slice = function () { return { arrayBuffer: async () => { throw this; } }; }")
    await page.get_by_test_id("clip").set_input_files([NOTES])
    await expect(chips).to_contain_text("This file cannot be read. If it is a folder, attach the files in it.")
    await page.reload()
    await page.get_by_role("button", name="Remove notes.md").click()

    await page.get_by_test_id("clip").set_input_files([RED])
    await patiently(lambda: is_there(held))
    await held.pop().fulfill(status=429, json=full)
    await expect(chips).to_contain_text("At most 5 bytes may be stored")
    await chips.get_by_role("button", name="Try again").click()
    await patiently(lambda: is_there(held))
    # Sent before it is there: the message waits for it, can be taken back, and says which file is wrong.
    await person.choose("Stage")
    await person.write("Say thanks.")
    pending = page.get_by_test_id("pending")
    await expect(pending.get_by_role("button", name="Discard")).to_be_visible()
    await held.pop().fulfill(status=422, json={"code": "invalid_value", "detail": "This file is wrong."})
    await expect(pending.locator(".chip[data-state=wrong]")).to_contain_text("This file is wrong.")
    await page.unroute("**/v1/files?*")
    await pending.get_by_role("button", name="Try again").click()
    await expect(person.said.get_by_role("img", name="red square.png")).to_have_js_property("naturalWidth", 320)
    await person.is_answered()


async def test_a_queued_message_keeps_its_files_when_it_is_edited(person: Person, api: Api, stage: Server) -> None:
    page = person.page
    id = await api.begin()
    await api.say(id, "hold files", AT_ONCE)
    await person.open(id)
    await attach(page, RED)
    await person.write("Say later.")
    pending = page.get_by_test_id("pending")
    await expect(pending).to_have_attribute("data-state", "queued")
    await expect(pending.get_by_role("img", name="red square.png")).to_have_js_property("naturalWidth", 320)
    await pending.get_by_role("button", name="Edit").click()
    await expect(pending).to_have_count(0)
    await expect(person.field).to_have_value("Say later.")
    await expect(page.locator(".composer-box .chip[data-state=there] img")).to_be_visible()
    await person.field.press("Enter")
    await expect(pending).to_have_attribute("data-state", "queued")
    (stage.folder / "files").touch()
    await expect(person.answers).to_have_count(2)
    await person.is_answered()
    last = [message for message in (await api.read(id))["messages"] if message["role"] == "user"][-1]
    assert (last["content"], parts_of(last)) == ("Say later.", [("image", "red square.png")])


async def test_every_file_says_what_is_wrong_with_it_before_it_is_sent(page: Page, serve: Serve) -> None:
    limits = {"THREADKEEP_MAX_FILE_BYTES": "2000", "THREADKEEP_MAX_ATTACHED_BYTES": "2500"}
    person = Person(page, serve(variables=limits).url)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/v1/files" in request.url else None)
    await person.open()
    large: FilePayload = {"name": "large.txt", "mimeType": "text/plain", "buffer": b"x" * 2001}
    middle: FilePayload = {"name": "middle.txt", "mimeType": "text/plain", "buffer": b"y" * 1500}
    empty: FilePayload = {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""}
    await attach(page, large, empty, middle, {**middle, "name": "more.txt"})
    chips = page.locator(".composer-box .chip")
    await expect(chips.nth(0)).to_contain_text("Too large: a file can have at most 2 kB.")
    await expect(chips.nth(1)).to_contain_text("This file is empty.")
    await expect(chips.nth(3)).to_contain_text("the files of a message can have at most 2.4 kB together.")
    assert [url.rsplit("name=", 1)[1] for url in asked] == ["middle.txt"]
    await expect(page.get_by_test_id("send")).to_be_disabled()
    await find_nothing(page, "files that cannot be sent")
    for name in ("large.txt", "empty.txt", "middle.txt"):
        await page.get_by_role("button", name=f"Remove {name}").click()
    await expect(page.locator(".chip[data-state=there]")).to_have_text("more.txt1.5 kB")
    await expect(page.get_by_test_id("send")).to_be_enabled()


@pytest.mark.usefixtures("no_worker")
async def test_a_file_that_is_being_sent_shows_how_far_it_is_and_can_be_cancelled(person: Person) -> None:
    page = person.page
    held: list[Route] = []
    await page.route("**/v1/uploads/*", lambda route: held.append(route))
    await person.open()
    large: FilePayload = {"name": "large.bin", "mimeType": "", "buffer": b"z" * 4 * MEGABYTE}
    await page.get_by_test_id("clip").set_input_files([large])
    chip = page.locator(".composer-box .chip")
    await expect(chip).to_contain_text("25% uploaded")
    await expect(chip.get_by_role("progressbar")).to_have_attribute("value", "0.25")
    await chip.get_by_role("button", name="Remove large.bin").click()
    await expect(chip).to_have_count(0)
    await until(page, f"async () => await ({KEPT})() === 0")
    await expect(page.get_by_test_id("send")).to_be_disabled()
    assert [route.request.method for route in held] == ["PATCH", "DELETE"]


async def test_what_was_attached_without_a_network_outlives_its_tab_and_is_sent_once(
    context: BrowserContext, server: Server
) -> None:
    async with network(server.url) as between:
        tab = Tab(await context.new_page(), between.url, server.url)
        await tab.open()
        await tab.begin("My name is Alice")
        await tab.shows_what_is_stored()
        await tab.is_ready_for_offline()
        await between.cut()
        await tab.page.get_by_test_id("clip").set_input_files([RED, NOTES])
        await expect(tab.page.locator(".composer-box .chip")).to_have_count(2)
        conversation = tab.conversation
        await tab.page.close()

        tab = Tab(await context.new_page(), between.url, server.url)
        await tab.open(conversation)
        await expect(tab.page.locator(".composer-box .chip")).to_have_count(2)
        await expect(tab.page.locator(".composer-box .chip img")).to_be_visible()
        await tab.say("Thank you")
        await expect(tab.pending).to_contain_text("Waiting in this browser")
        await tab.page.close()

        tab = Tab(await context.new_page(), between.url, server.url)
        await tab.open(conversation)
        await expect(tab.pending.locator(".chip")).to_have_count(2)
        await expect(tab.pending.locator(".chip img")).to_be_visible()
        await between.mend()
        stored = await tab.shows_what_is_stored()
        said = [message for message in stored if message["role"] == "user"]
        assert parts_of(said[-1]) == [("image", "red square.png"), ("file", "notes.md")]
        assert len(said) == 2
        await expect(tab.said.last.get_by_role("img")).to_have_js_property("naturalWidth", 320)
        await until(tab.page, f"async () => await ({KEPT})() === 0")


async def test_a_file_that_the_server_has_forgotten_is_sent_again(person: Person, api: Api) -> None:
    page = person.page
    await person.open()
    await person.choose("Stage")
    async with page.expect_response("**/v1/files?*") as told:
        await attach(page, {**NOTES, "name": "forgotten.md"})
    file = (await (await told.value).json())["id"]
    (await api.client.delete(f"/v1/files/{file}")).raise_for_status()
    await person.say("Say thanks.")
    stored = (await api.read(page.url.rsplit("/", 1)[1]))["messages"][0]
    assert parts_of(stored) == [("file", "forgotten.md")]
    assert (await api.client.get(f"/v1/files/{file}")).content == NOTES["buffer"]


@pytest.mark.usefixtures("no_worker")
async def test_an_upload_that_broke_off_goes_on_where_it_was(person: Person, api: Api) -> None:
    page = person.page
    large: FilePayload = {"name": "large.bin", "mimeType": "", "buffer": bytes(range(256)) * 4096 * 3}
    asked: list[tuple[str, int | None]] = []
    is_held = asyncio.Event()

    async def disturb(route: Route) -> None:
        offset = route.request.headers.get("upload-offset")
        asked.append((route.request.method, int(offset) // MEGABYTE if offset else None))
        if len(asked) == 1:
            is_held.set()  # and nothing comes: the page is loaded anew in the middle
        elif len(asked) == 3:
            await route.fetch()
            await route.abort()  # the server has it, and nobody learns that
        else:
            await route.continue_()

    await page.route("**/v1/uploads/*", disturb)
    await person.open()
    await person.choose("Stage")
    await page.get_by_test_id("clip").set_input_files([large])
    await is_held.wait()
    await page.reload()
    await expect(page.locator(".composer-box .chip[data-state=there]")).to_have_count(1)
    assert asked == [("PATCH", 1), ("HEAD", None), ("PATCH", 1), ("HEAD", None), ("PATCH", 2)]
    await person.choose("Stage")
    await person.say("Say thanks.")
    part = (await api.read(page.url.rsplit("/", 1)[1]))["messages"][0]["parts"][0]
    assert (await api.client.get(f"/v1/files/{part['file']}")).content == large["buffer"]


async def test_signing_out_leaves_no_bytes_behind(new_context: NewContext, serve: Serve) -> None:
    guarded = serve("--auth", "keys")
    person = Person(await (await new_context()).new_page(), guarded.url)
    page = person.page
    await page.goto(guarded.url)
    await page.get_by_label("Your key").fill(guarded.key(user="ada"))
    await page.get_by_role("button", name="Sign in").click()
    await expect(person.field).to_be_visible()
    await attach(page, RED)
    assert await page.evaluate(KEPT) == 1
    await person.sign_out()
    await expect(page.get_by_label("Your key")).to_be_visible()
    assert "threadkeep-files" not in await page.evaluate("caches.keys()")
    assert "red square" not in await page.evaluate("JSON.stringify({...localStorage})")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_phone_takes_photos_and_nothing_is_wider_than_it(
    new_context: NewContext, stage: Server, scheme: str
) -> None:
    size = {"width": 390, "height": 844}
    context = await new_context(viewport=size, has_touch=True, is_mobile=True, color_scheme=scheme)
    person = Person(await context.new_page(), stage.url)
    page = person.page
    await person.open()
    await person.choose("Stage")
    camera = page.get_by_test_id("camera")
    await expect(camera).to_have_attribute("capture", "environment")
    await camera.set_input_files([RED])
    await attach(page, NOTES, {**NOTES, "name": "a very long name of a file that goes on and on " * 3 + ".md"})
    await find_nothing(page, f"attached on a phone, {scheme}")
    await person.field.fill("Say thanks.")
    await page.get_by_test_id("send").tap()
    await person.is_answered()
    await find_nothing(page, f"files on a phone, {scheme}")
    assert await page.evaluate("document.scrollingElement.scrollWidth") <= 390
    await person.said.get_by_role("button", name="Show red square.png full size").tap()
    await find_nothing(page, f"an image on a phone, {scheme}")
