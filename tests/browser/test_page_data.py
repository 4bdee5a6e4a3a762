"""Your data as a file and back, and the administrator's corner."""

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import NewContext, Serve
from tests.browser.person import Api, Person, calling


@pytest.mark.parametrize(
    ("way", "kind", "name"),
    [("light", "Everything with attached files, as a ZIP", "all.zip"), ("dark", "as JSON Lines", "all.jsonl")],
)
async def test_what_was_exported_is_imported_elsewhere_once(
    new_context: NewContext, serve: Serve, tmp_path: Path, way: str, kind: str, name: str
) -> None:
    one, other = serve(), serve()
    page = await (await new_context(color_scheme=way, reduced_motion="reduce")).new_page()
    async with calling(one.url) as api:
        await api.begin("Hello!", title="To be moved", assistant="chat")
    person = Person(page, one.url)
    await person.open()
    await page.get_by_role("button", name="Your data").click()
    await find_nothing(page, "your data")
    async with page.expect_download() as downloading:
        await page.get_by_role("link", name=kind).click()
    file = tmp_path / name
    await (await downloading.value).save_as(file)
    person = Person(page, other.url)
    await person.open()
    await page.get_by_role("button", name="Your data").click()
    for told in (
        "Imported: 1 new, 0 already here, 0 not readable.",
        "Imported: 0 new, 1 already here, 0 not readable.",
    ):
        await page.get_by_label("Import").set_input_files(file)
        await expect(page.get_by_test_id("imported")).to_have_text(told)
    await expect(person.row("To be moved")).to_be_visible()


@pytest.mark.usefixtures("no_worker")
async def test_whoever_deletes_everything_is_asked_twice_and_gets_a_receipt(page: Page, serve: Serve) -> None:
    server = serve("--auth", "keys")
    mine, other = server.key(), server.key(user="bob")
    for key in (mine, other):
        async with calling(server.url, key) as api:
            await api.begin("A canary sings.", title="To be kept or not", assistant="chat")
    await page.goto(server.url)
    await page.get_by_label("Your key").fill(mine)
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Your data").click()
    await page.get_by_role("button", name="Delete everything …").click()
    await find_nothing(page, "asked before everything is deleted")
    await page.get_by_role("button", name="Keep it").click()
    await page.get_by_role("button", name="Delete everything …").click()
    await page.get_by_role("button", name="Yes, delete everything").click()
    await expect(page.get_by_test_id("receipt")).to_contain_text('"conversations": 1')
    await page.route("**/v1/import", lambda route: route.fulfill(status=401, json={"code": "not_authenticated"}))
    async with page.expect_response("**/v1/import"):  # the page learns that the login is over
        await page.get_by_label("Import").set_input_files({"name": "a", "mimeType": "", "buffer": b"{}"})
    await expect(page.get_by_test_id("receipt")).to_be_visible()
    await page.get_by_role("button", name="Close and leave").click()
    await expect(page.get_by_label("Your key")).to_be_visible()
    async with calling(server.url, other) as api:
        assert len((await api.client.get("/v1/conversations")).json()["data"]) == 1
    async with calling(server.url, mine) as api:
        assert (await api.client.get("/v1/conversations")).status_code == 401


async def test_an_administrator_sees_usage_rules_holds_and_the_audit(person: Person, api: Api) -> None:
    rated = await api.begin("Say one.", title="Rated well")
    answer = (await api.read(rated))["messages"][-1]["seq"]
    opinion = {"rating": "up", "comment": "Short."}
    await api.client.post(f"/v1/conversations/{rated}/messages/{answer}/feedback", json=opinion)
    page = person.page
    await person.open()
    await page.get_by_role("button", name="Administration").click()
    corner = page.get_by_test_id("administration")
    await expect(corner.get_by_role("columnheader", name="Conversations")).to_be_visible()
    await find_nothing(page, "usage")
    size = await corner.bounding_box()
    await corner.get_by_role("button", name="Costs").click()
    await expect(corner.get_by_role("row").filter(has_text="demo")).to_be_visible()
    await expect(corner.get_by_role("row").filter(has_text="local")).to_be_visible()
    await find_nothing(page, "costs")
    await corner.get_by_role("button", name="Ratings").click()
    await expect(corner.get_by_role("row").filter(has_text="demo")).to_be_visible()
    await find_nothing(page, "ratings")
    await corner.get_by_role("button", name="Conversations").click()
    await corner.get_by_role("button", name="Rated well").click()
    await expect(corner.get_by_test_id("transcript")).to_contain_text("Say one.")
    await expect(corner.get_by_test_id("transcript")).to_contain_text("Good answer: Short.")
    await find_nothing(page, "the conversation of somebody")
    await corner.get_by_role("button", name="Back to all").click()
    await expect(corner.get_by_role("button", name="Rated well")).to_be_visible()
    assert await corner.bounding_box() == size, "the corner is as large for one part as for another"
    await corner.get_by_role("button", name="Retention").click()
    await expect(corner).to_contain_text("Nothing is due.")
    await corner.get_by_role("button", name="Holds").click()
    await page.set_viewport_size({"width": 390, "height": 844})
    field = await corner.get_by_label("Reason").bounding_box()
    assert field is not None
    assert field["width"] > 130, "nobody sees what is written there"
    await corner.get_by_label("Reason").fill("case 17")
    await corner.get_by_role("button", name="Hold", exact=True).click()
    await expect(corner.get_by_test_id("holds")).to_contain_text("case 17: everything")
    await find_nothing(page, "holds")
    await corner.get_by_role("button", name="Audit").click()
    await expect(corner.get_by_role("cell", name="hold.added")).to_be_visible()
    await corner.get_by_role("button", name="Holds").click()
    await corner.get_by_role("button", name="Remove the hold case 17").click()
    await expect(corner.get_by_test_id("holds")).to_be_empty()


async def test_an_administrator_makes_a_key_sees_it_once_and_revokes_it(page: Page, serve: Serve) -> None:
    server = serve("--auth", "keys")
    await page.goto(server.url)
    await page.get_by_label("Your key").fill(server.key(role="admin"))
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Administration").click()
    corner = page.get_by_test_id("administration")
    await corner.get_by_role("button", name="Keys").click()
    await corner.get_by_label("User").fill("grace")
    await corner.get_by_label("Expires after").fill("90d")
    await corner.get_by_role("button", name="Make a key").click()
    secret = await corner.get_by_test_id("made-key").inner_text()
    row = corner.get_by_role("listitem").filter(has_text="grace (user)")
    await expect(row).to_contain_text(f"{secret[:9]}…, until")
    await find_nothing(page, "keys")
    async with calling(server.url, secret) as api:
        assert (await api.client.get("/v1/me")).json()["user"] == "grace"
        await row.get_by_role("button").click()
        await expect(row).to_contain_text("revoked")
        await expect(row.get_by_role("button")).to_have_count(0)
    await corner.get_by_role("button", name="Audit").click()
    await expect(corner.get_by_role("cell", name="key.revoked")).to_be_visible()
    await corner.get_by_role("button", name="Keys").click()
    await expect(corner.get_by_test_id("made-key")).to_have_count(0)


async def test_whoever_is_no_administrator_has_no_such_corner(page: Page, serve: Serve) -> None:
    server = serve("--auth", "keys")
    await page.goto(server.url)
    await page.get_by_label("Your key").fill(server.key())
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Your data")).to_be_visible()
    await expect(page.get_by_role("button", name="Administration")).to_have_count(0)
