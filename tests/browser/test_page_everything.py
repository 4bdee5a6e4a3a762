"""The page with every option of the server on, on PostgreSQL; the other tests of the page have them on with SQLite."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.person import Person
from tests.browser.server import Server
from tests.browser.stage import SETTINGS
from tests.everything import everything, settings_file
from tests.postgres_server import Urls
from tests.watching import note_log


@pytest.fixture
def instances(postgres_database: Urls, collector: str, tmp_path: Path) -> Iterator[tuple[Server, ...]]:
    """Two servers on one database, the second of which has two workers."""
    workers = {"one": 1, "two": 2}
    servers = tuple(_server(tmp_path / name, postgres_database.server, collector, workers[name]) for name in workers)
    yield servers
    for server in servers:
        server.stop()
        note_log(server.log)


def _server(folder: Path, store: str, collector: str, workers: int) -> Server:
    folder.mkdir()
    settings = settings_file(everything(folder, store, workers=workers)) + SETTINGS
    (folder / "threadkeep.toml").write_text(settings, encoding="utf-8")
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector}
    server = Server(folder, "--store", store, pace=0.01, variables=variables)
    server.start()
    return server


async def test_a_dialogue_goes_through_a_tool_consent_a_kill_and_another_instance(
    page: Page, instances: tuple[Server, ...]
) -> None:
    one, two = instances
    person = Person(page, one.url)
    id = await person.begin("draw")
    await expect(person.answers.locator(".tk-usage dl").first).to_contain_text("$")
    await person.write("remove the.file")
    await page.get_by_role("button", name="Allow", exact=True).click()
    await person.is_answered()
    await expect(person.answers.last).to_contain_text("Done: the.file is gone.")
    await person.write("Tell a long story")
    await expect(person.answers.last).to_contain_text("word5")
    one.restart(pace=0)
    await person.is_answered()
    await expect(person.answers.last).to_contain_text("word4000")
    elsewhere = Person(page, two.url)
    await elsewhere.open(id)
    await expect(elsewhere.answers.last).to_contain_text("word4000")
    await elsewhere.say("say goodbye")
    await expect(elsewhere.answers.last).to_contain_text("goodbye")
