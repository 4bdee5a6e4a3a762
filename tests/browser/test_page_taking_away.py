"""Taking a conversation along: exported as a file, copied as Markdown, or as commands and programs that really run."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.browser.conftest import Serve
from tests.browser.person import Api, Person, calling
from tests.browser.server import PATIENCE

SAID = ('Say it\'s "quoted" and `ticked` $HOME \\n.', "Say שלום and 😀.")


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def clipboard(context: BrowserContext) -> None:
    """Let the page copy, and the test read it."""
    await context.grant_permissions(["clipboard-read", "clipboard-write"])


async def download(person: Person, what: str) -> tuple[str, str]:
    """Export the open conversation, and return the name of the file and what is in it."""
    async with person.page.expect_download() as waiting:
        await person.more(what)
    file = await waiting.value
    return file.suggested_filename, Path(await file.path()).read_text(encoding="utf-8")


async def test_a_conversation_is_exported_as_markdown_json_and_html(person: Person, api: Api) -> None:
    id = await api.begin(*SAID, title="Words")
    await person.open(id)
    name, text = await download(person, "Export Markdown")
    assert name.endswith(".md")
    assert all(said in text for said in SAID)
    name, text = await download(person, "Export JSON")
    assert name.endswith(".json")
    assert all(said in [entry.get("content") for entry in walk(json.loads(text))] for said in SAID)
    name, text = await download(person, "Export HTML")
    assert name.endswith(".html")
    assert "Say שלום and 😀." in text
    assert "Content-Security-Policy" in text


def walk(value: object) -> list[dict[str, object]]:
    """Return every object inside of a JSON value."""
    if isinstance(value, list):
        return [found for item in value for found in walk(item)]
    if isinstance(value, dict):
        return [value, *walk(list(value.values()))]
    return []


async def test_what_is_exported_is_the_branch_that_is_shown(person: Person, api: Api) -> None:
    id = await api.begin("Say one.")
    await api.say(id, "Say other.", parent=None)
    await person.open(id)
    await person.page.get_by_role("button", name="Previous version").click()
    await expect(person.answers).to_contain_text("one.")
    _, text = await download(person, "Export Markdown")
    assert "Say one." in text
    assert "Say other." not in text


async def test_the_name_of_a_file_is_harmless_whatever_the_title_is(person: Person, api: Api) -> None:
    for title in ('../../etc/passwd"; filename="evil.exe', "a\r\nSet-Cookie: b=1", "CON", "...", "שלום/😀\\:*?"):
        await person.open(await api.begin("Say one.", title=title))
        name, _ = await download(person, "Export Markdown")
        assert name.endswith(".md"), title
        assert not set(name) & set('/\\:*?"<>|\r\n'), title


async def test_a_message_is_copied_as_it_was_written(person: Person, api: Api) -> None:
    await person.open(await api.begin(*SAID, "Write in Markdown"))
    await person.said.first.hover()
    await person.said.first.get_by_role("button", name="Copy this message").click()
    assert await person.copied() == SAID[0]
    await person.answers.last.hover()
    await person.answers.last.get_by_role("button", name="Copy as Markdown").click()
    assert "| Oslo | 700000 |" in await person.copied()


async def test_a_conversation_is_copied_as_markdown(person: Person, api: Api) -> None:
    id = await api.begin(*SAID)
    await person.open(id)
    await person.more("Copy as Markdown")
    await expect(person.notes).to_contain_text("Copied.")
    stored = await api.client.get(f"/v1/conversations/{id}/export", params={"format": "markdown"})
    assert await person.copied() == stored.text


async def repeated(api: Api, id: str) -> list[str]:
    """Return what was said in the newest conversation, which is another one than that of this id."""
    newest = (await api.client.get("/v1/conversations", params={"limit": 1})).json()["data"][0]
    assert newest["id"] != id
    messages = (await api.read(newest["id"]))["messages"]
    return [message["content"] for message in messages if message["role"] == "user"]


async def test_a_conversation_copied_as_python_says_the_same_again(person: Person, api: Api, tmp_path: Path) -> None:
    id = await api.begin(*SAID)
    await person.open(id)
    await person.more("Copy as Python")
    await expect(person.notes).to_contain_text("Copied.")
    program = tmp_path / "again.py"
    program.write_text(await person.copied(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8", str(program)],
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    assert f"You: {SAID[1]}" in done.stdout
    assert "Assistant: שלום and 😀." in done.stdout
    assert await repeated(api, id) == list(SAID)


async def test_a_conversation_copied_as_curl_says_the_same_again(person: Person, api: Api, tmp_path: Path) -> None:
    id = await api.begin(*SAID)
    await person.open(id)
    await person.more("Copy as curl")
    await expect(person.notes).to_contain_text("Copied.")
    text = await person.copied()
    assert shutil.which("curl"), "this test runs curl, which is not there"
    subprocess.run(["sh", "-e"], input=text, encoding="utf-8", capture_output=True, timeout=PATIENCE, check=True)
    assert await repeated(api, id) == list(SAID)


async def test_a_copied_command_asks_for_the_key_and_never_holds_it(
    context: BrowserContext, serve: Serve, tmp_path: Path
) -> None:
    server = serve("--auth", "keys")
    key = server.key()
    person = Person(await context.new_page(), server.url)
    async with calling(server.url, key) as api:
        id = await api.begin("Hello!", assistant="chat")
        await person.page.goto(f"{server.url}/c/{id}")
        await person.page.get_by_label("Your key").fill(key)
        await person.page.keyboard.press("Enter")
        await expect(person.answers).to_contain_text("Hello!")
        await person.more("Copy as curl")
        command = await person.copied()
        await person.more("Copy as Python")
        program = tmp_path / "again.py"
        program.write_text(await person.copied(), encoding="utf-8")
        for text in (command, program.read_text(encoding="utf-8")):
            assert key not in text
            assert re.search(r"Authorization.*THREADKEEP_KEY", text)
        subprocess.run([sys.executable, str(program)], env={"THREADKEEP_KEY": key}, timeout=PATIENCE, check=True)
        assert await repeated(api, id) == ["Hello!"]
