"""Signing in and out where keys are asked for, and what happens when a key is taken away from somebody who is there."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.browser.conftest import NewContext
from tests.browser.person import Person, calling
from tests.browser.server import Server, free_port
from tests.browser.waiting import until
from tests.everything import settings_file
from tests.oidc import provided, settings


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that asks for a key."""
    server = Server(tmp_path_factory.mktemp("guarded"), "--auth", "keys")
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def key(guarded: Server) -> str:
    """The key of Ada."""
    return guarded.key(user="ada")


async def sign_in(person: Person, key: str) -> None:
    """Show a key."""
    await person.page.get_by_label("Your key").fill(key)
    await person.page.get_by_role("button", name="Sign in").click()


async def somebody(new_context: NewContext, server: Server, **options: Any) -> Person:
    """Somebody who has not signed in, in front of the page."""
    person = Person(await (await new_context(**options)).new_page(), server.url)
    await person.page.goto(server.url)
    await expect(person.page.get_by_role("heading", name="Sign in to Threadkeep")).to_be_visible()
    return person


async def test_a_wrong_key_is_refused_and_a_right_one_opens(new_context: NewContext, guarded: Server, key: str) -> None:
    person = await somebody(new_context, guarded)
    await sign_in(person, "tk_nonsense")
    await expect(person.page.get_by_role("alert")).to_be_visible()
    await expect(person.page.get_by_label("Your key")).to_be_focused()
    await expect(person.field).to_have_count(0)
    await sign_in(person, key)
    await expect(person.field).to_be_visible()
    await expect(person.page.locator(".who")).to_have_text("ada")
    assert await person.page.evaluate("document.cookie") == ""
    kept = await person.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert key not in kept
    assert key not in str(await person.page.context.cookies())


async def test_a_link_leads_to_its_conversation_after_signing_in(
    new_context: NewContext, guarded: Server, key: str
) -> None:
    async with calling(guarded.url, key) as api:
        id = await api.begin("My name is Ada.", assistant="chat")
    person = await somebody(new_context, guarded)
    await person.page.goto(f"{guarded.url}/c/{id}")
    await sign_in(person, key)
    await expect(person.answers).to_contain_text("Nice to meet you, Ada!")


async def test_signing_out_leaves_nothing_behind_in_any_tab(new_context: NewContext, guarded: Server, key: str) -> None:
    person = await somebody(new_context, guarded)
    await sign_in(person, key)
    await expect(person.field).to_be_visible()
    await person.write("My secret is green.")
    await expect(person.answers).to_have_attribute("data-state", "done")
    await person.field.fill("A draft of mine")
    other = Person(await person.page.context.new_page(), guarded.url)
    await other.page.goto(person.page.url)
    await expect(other.answers).to_have_count(1)
    (cookie,) = await person.page.context.cookies()
    await person.sign_out()
    for one in (person, other):
        await expect(one.page.get_by_role("heading", name="Sign in to Threadkeep")).to_be_visible()
        await expect(one.page.locator("body")).not_to_contain_text("green")
        await until(one.page, "() => !JSON.stringify([{...localStorage}, {...sessionStorage}]).includes('mine')")
    await until(person.page, "async () => !(await caches.has('threadkeep-data'))")
    assert await person.page.evaluate("fetch('/v1/me').then((answer) => answer.status)") == 401
    copied = httpx.Cookies({cookie["name"]: cookie["value"]})
    async with httpx.AsyncClient(base_url=guarded.url, cookies=copied) as thief:
        assert (await thief.get("/v1/me")).status_code == 401


async def test_another_person_at_the_same_browser_sees_nothing_of_the_first(
    new_context: NewContext, guarded: Server, key: str
) -> None:
    async with calling(guarded.url, key) as api:
        await api.begin(title="For Ada alone", assistant="chat")
    person = await somebody(new_context, guarded)
    await sign_in(person, key)
    await expect(person.row("For Ada alone")).to_be_visible()
    await person.field.fill("A draft of Ada")
    await person.sign_out()
    await expect(person.page.get_by_label("Your key")).to_be_visible()
    await sign_in(person, guarded.key(user="bob"))
    await expect(person.page.locator(".who")).to_have_text("bob")
    await expect(person.page.get_by_text("No conversations yet.")).to_be_visible()
    await expect(person.field).to_have_value("")


def revoke(server: Server, user: str) -> None:
    """Take away the key of somebody."""
    listed = next(line.split() for line in server.command("keys", "list").splitlines() if user in line.split())
    server.command("keys", "revoke", listed[0])


async def test_an_open_page_notices_that_its_key_was_revoked_and_keeps_the_draft(
    new_context: NewContext, guarded: Server
) -> None:
    person = await somebody(new_context, guarded)
    await sign_in(person, guarded.key(user="cy"))
    await expect(person.field).to_be_visible()
    await person.write("My name is Cy.")
    await expect(person.answers).to_have_attribute("data-state", "done")
    await person.field.fill("A thought half written")
    revoke(guarded, "cy")
    await expect(person.page.get_by_role("heading", name="Sign in to Threadkeep")).to_be_visible()
    await expect(person.page.get_by_test_id("signed-out")).to_contain_text("your key was revoked")
    await person.page.reload()
    await expect(person.page.get_by_test_id("signed-out")).to_contain_text("your key was revoked")
    await expect(person.page.locator("body")).not_to_contain_text("Cy")
    await sign_in(person, guarded.key(user="cy"))
    await expect(person.answers).to_contain_text("Nice to meet you, Cy!")
    await expect(person.field).to_have_value("A thought half written")


async def test_the_first_screen_notices_that_its_login_has_ended_though_nothing_is_asked(
    new_context: NewContext, guarded: Server
) -> None:
    person = await somebody(new_context, guarded)
    await sign_in(person, guarded.key(user="ed"))
    await expect(person.field).to_be_visible()
    revoke(guarded, "ed")
    await expect(person.page.get_by_role("heading", name="Sign in to Threadkeep")).to_be_visible()


async def test_a_message_of_somebody_whose_key_was_revoked_is_kept_until_there_is_another(
    new_context: NewContext, guarded: Server
) -> None:
    person = await somebody(new_context, guarded, service_workers="block")
    # Never answered: else the page is told before it asks.
    await person.page.context.route("**/v1/events*", lambda route: None)
    await sign_in(person, guarded.key(user="di"))
    await person.field.fill("My name is Di.")
    revoke(guarded, "di")
    await person.field.press("Enter")
    await expect(person.page.get_by_role("heading", name="Sign in to Threadkeep")).to_be_visible()
    await sign_in(person, guarded.key(user="di"))
    await expect(person.rows).to_have_count(1)
    await person.rows.get_by_role("link").click()
    await expect(person.answers).to_contain_text("Nice to meet you, Di!")


async def test_somebody_signs_in_at_a_provider_and_out_again(
    new_context: NewContext, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, port = tmp_path_factory.mktemp("provided"), free_port()
    url = f"http://127.0.0.1:{port}"
    with provided(url) as issuer:
        known = {"auth": "keys", "identity": {"oidc": settings(url, issuer)}}
        (folder / "threadkeep.toml").write_text(settings_file(known), encoding="utf-8")
        server = Server(folder, "--port", str(port))
        server.start()
        try:
            person = await somebody(new_context, server)
            page = person.page
            await page.get_by_role("link", name="Sign in with Test").click()
            await page.get_by_placeholder("Enter any login").fill("ada")
            await page.get_by_placeholder("and password").fill("any")
            await page.get_by_role("button", name="Sign-in").click()
            await page.get_by_role("button", name="Continue").click()
            await expect(page.locator(".who")).to_have_text("ada")
            await person.say("Hello")
            await page.get_by_test_id("sign-out").click()
            await expect(page.get_by_role("heading", name="Do you want to sign-out")).to_be_visible()
            await page.goto(url)
            await expect(page.get_by_role("heading", name="Sign in to Threadkeep")).to_be_visible()
        finally:
            server.kill()
