"""A whole creation over HTTP: the server killed after every exchange and in the middle of some, the same skill; another
device goes on; and a provider that plays a sensible model, and one that misbehaves."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.server_process import server_process
from tests.integration.serving import Server, serving
from threadkeep.settings import Settings
from threadkeep.testing import openai_answers as answers
from threadkeep.testing.openai_server import OpenAiServer, Played, openai_server
from threadkeep_assistants.demo.general_script import NOTICE
from threadkeep_assistants.skill_creator import skill_creator
from threadkeep_assistants.skill_creator.document import errors_in
from threadkeep_providers.provider_model import ProviderModel

ROOT = Path(__file__).parents[2]
TALK = (
    "hi",
    "I want a skill that turns meeting notes into action items",
    "yes, but change the name to Minutes Maker",
    "find tasks: owner, due date; write a summary",
    "first read the notes, then find the tasks, finally write the list",
    "you decide",
    "ok",
    "somebody pastes meeting notes",
    "date formats",
    "a script that parses dates",
    "no",
    "change the description to: Makes lists of tasks. Use it after meetings",
    "yes",
    "personal",
)
NAME = "local/personal/local/minutes-maker"


class Process:
    """`threadkeep serve` in a folder, which can be killed."""

    def __init__(self, process: asyncio.subprocess.Process, client: httpx.AsyncClient) -> None:
        self._process = process
        self.client = client

    async def kill(self) -> None:
        """Kill it with SIGKILL."""
        self._process.kill()
        await self._process.wait()

    async def say(self, path: str, number: int) -> dict[str, Any]:
        """Say a line; said again, with the same key, it is the same message."""
        headers = {"Idempotency-Key": f"line {number}"}
        answer = await self.client.post(f"{path}/messages", json={"content": TALK[number]}, headers=headers)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        assert told["turn"]["state"] == "completed", told
        return told

    async def say_until(self, path: str, number: int, event: str) -> None:
        """Say a line and leave at the first event of a name."""
        headers = {"Idempotency-Key": f"line {number}", "Accept": "text/event-stream"}
        send = self.client.stream("POST", f"{path}/messages", json={"content": TALK[number]}, headers=headers)
        async with send as stream:
            async for line in stream.aiter_lines():
                if line == f"event: {event}":
                    return


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Process]:
    """Run a server whose skills are saved below the folder."""
    async with server_process(folder, THREADKEEP_SKILLS_DIR="made") as process:
        yield Process(*process)


async def begun(process: Process) -> str:
    created = await process.client.post("/v1/conversations", json={"assistant": "skill_creator", "title": "A skill"})
    assert created.status_code == 201, created.text
    return str(created.headers["location"])


def made_in(folder: Path) -> dict[str, bytes]:
    """Return every file below the folder of skills, with what a dead process may have left."""
    root = folder / "made"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The skill that one server makes that nobody kills."""
    folder = tmp_path_factory.mktemp("undisturbed")

    async def play() -> None:
        async with served(folder) as process:
            path = await begun(process)
            said = [(await process.say(path, number))["message"]["content"] for number in range(len(TALK))]
            assert said[0].startswith(NOTICE)
            shown = (await process.client.get(path)).json()
            assert (shown["status"], shown["state"]["state"]) == ("completed", "completed")

    asyncio.run(play())
    return made_in(folder)


def test_an_undisturbed_creation_makes_a_valid_skill(undisturbed: dict[str, bytes]) -> None:
    files = {path.removeprefix(f"{NAME}/"): data.decode() for path, data in undisturbed.items()}
    assert set(files) == {"SKILL.md", "references/date-formats.md", "scripts/parses_dates.py"}
    assert errors_in(files) == []
    assert "Makes lists of tasks." in files["SKILL.md"]


async def test_a_server_killed_after_every_exchange_makes_the_same_bytes(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    path = ""
    for number in range(len(TALK)):
        async with served(tmp_path) as process:
            path = path or await begun(process)
            before = (await process.client.get(path)).json()["state"]
            await process.say(path, number)
            after = (await process.client.get(path)).json()["state"]
            assert set(before) <= {*after, "unconfirmed", "proposed", "open_question", "working_for", "replace"}
            await process.kill()
    assert made_in(tmp_path) == undisturbed


async def test_a_server_killed_in_the_middle_of_exchanges_makes_the_same_bytes(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    moments = {1: "text.delta", len(TALK) - 2: "state.changed", len(TALK) - 1: "tool.called"}
    path, number = "", 0
    while number < len(TALK):
        async with served(tmp_path) as process:
            path = path or await begun(process)
            while number < len(TALK) and number not in moments:
                await process.say(path, number)
                number += 1
            if number < len(TALK):
                await process.say_until(path, number, moments.pop(number))
                await process.kill()
    assert made_in(tmp_path) == undisturbed


def test_a_process_killed_between_any_two_writes_makes_the_same_bytes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.acceptance.skill_player", str(tmp_path), "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 60


async def test_another_device_goes_on_where_the_first_one_was(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    async with served(tmp_path) as process:
        path = await begun(process)
        for number in range(5):
            await process.say(path, number)
        async with httpx.AsyncClient(base_url=process.client.base_url, timeout=60) as other:
            found = (await other.get(path)).json()
            assert found["state"]["open_question"] == "examples"
            assert "What would somebody say to it?" in found["messages"][-1]["content"]
            for line in TALK[5:]:
                await other.post(f"{path}/messages", json={"content": line})
        assert (await process.client.get(path)).json()["state"]["state"] == "completed"
    assert made_in(tmp_path) == undisturbed


SAID = "We lose track after meetings: I want something that finds tasks with owner and due date in our notes."
UNDERSTOOD = {"purpose": "find tasks in our notes", "capabilities": [{"name": "find tasks", "details": ["owner"]}]}
BODY = "# Tasks\n\nFind the tasks in the notes.\n\n1. Read.\n2. List.\n"
SKILL = {"body": BODY, "files": {}}
INVENTED = {
    "body": "# Tasks\n\nRun `scripts/rm.sh`, see [x](../../etc/passwd).",
    "files": {"../../evil.sh": "rm -rf /"},
}


def told(value: object) -> Played:
    text = json.dumps(value)
    return answers.says(*(text[at : at + 40] for at in range(0, len(text), 40)))


@asynccontextmanager
async def with_model(folder: Path, *played: Played) -> AsyncIterator[tuple[Server, str, OpenAiServer]]:
    """Serve the skill creator with a model that is played through OpenAI's protocol."""
    async with openai_server(*played) as provider:
        model = ProviderModel.named("openai:played", api_key="sk-test", base_url=provider.url)
        async with serving("memory:", model, [skill_creator(Settings(skills_dir=str(folder)))]) as server:
            yield server, await server.conversation(assistant="skill_creator", title="A skill"), provider
        assert provider.unexpected == 0, "the provider was asked more often than expected"
        assert provider.answers == [], "the provider was not asked often enough"


async def said(server: Server, path: str, *lines: str) -> str:
    content = ""
    for line in lines:
        answer = (await server.say(path, line)).json()
        assert answer["turn"]["state"] == "completed", answer
        content = answer["message"]["content"]
    return content


async def state_of(server: Server, path: str) -> dict[str, Any]:
    found: dict[str, Any] = (await server.client.get(path)).json()["state"]
    return found


async def test_a_sensible_model_understands_and_writes(tmp_path: Path) -> None:
    async with with_model(tmp_path, told(UNDERSTOOD), told(SKILL)) as (server, path, provider):
        assert "**Purpose**: find tasks in our notes" in await said(server, path, SAID)
        assert "The skill is written." in await said(server, path, "yes", "write it")
        assert "Saved to" in await said(server, path, "shared")
        assert len(provider.requests) == 2
    (skill,) = tmp_path.rglob("SKILL.md")
    assert skill.read_text().endswith(BODY)


MISBEHAVING: dict[str, Sequence[Played]] = {
    "500 each time": [answers.fails(500)] * 3,
    "500 in the middle": [answers.fails_in_stream()] * 3,
    "cut": [answers.cut_in_text()] * 3,
    "broken JSON": [answers.says('{"body": "# Tasks')] * 3,
    "prose": [answers.says("Certainly! I will write that skill right away.")] * 3,
    "empty": [answers.empty()] * 3,
    "endless": [answers.huge(1)] * 3,
    "refused": [answers.fails(401)],
}


@pytest.mark.parametrize("played", MISBEHAVING.values(), ids=MISBEHAVING.keys())
async def test_a_model_that_misbehaves_while_writing_costs_nothing_but_the_try(
    tmp_path: Path, played: Sequence[Played]
) -> None:
    async with with_model(tmp_path, told(UNDERSTOOD), *played, told(SKILL)) as (server, path, _):
        await said(server, path, SAID, "yes")
        before = await state_of(server, path)
        assert "Nothing is lost" in await said(server, path, "write it")
        after = await state_of(server, path)
        assert after["state"] == "gathering_details"
        assert {key: after[key] for key in ("purpose", "capabilities", "skill_name", "description")} == {
            key: before[key] for key in ("purpose", "capabilities", "skill_name", "description")
        }
        assert "The skill is written." in await said(server, path, "try again")
        await said(server, path, "personal")
    assert len(list(tmp_path.rglob("SKILL.md"))) == 1


async def test_files_that_a_model_makes_up_are_never_written(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "skills"
    async with with_model(folder, told(UNDERSTOOD), *[told(INVENTED)] * 3) as (server, path, provider):
        assert "I mended it" in await said(server, path, SAID, "yes", "write it")
        assert "rm.sh" in str(provider.requests[2]["messages"]), "the model was not told what was wrong"
        await said(server, path, "personal")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["SKILL.md"]


async def test_a_model_that_misbehaves_while_understanding_is_not_missed(tmp_path: Path) -> None:
    nonsense = [
        answers.says("I see."),
        answers.fails(500),
        told({"purpose": "conquer the world", "skill_name": "../x"}),
    ]
    async with with_model(tmp_path, *nonsense) as (server, path, _):
        await said(server, path, "so I am not sure yet what this could be about")
        await said(server, path, "start over", "yes", "and now I am still thinking about what to say")
        answer = await said(server, path, "start over", "yes", "I want a skill that sorts all of my mail")
        assert "**Purpose**: sort all of my mail" in answer
        assert "conquer" not in answer
