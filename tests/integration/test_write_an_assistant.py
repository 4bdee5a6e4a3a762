"""The how-to about assistants, followed as its readers follow it: offline, in an empty folder."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.documents import ROOT, blocks_of, is_like
from tests.integration.test_tutorial import ENVIRONMENT, run
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL

DOCUMENT = "docs/howto/write-an-assistant.md"


def test_what_the_page_shows_is_what_happens(tmp_path: Path) -> None:
    commands = 0
    for block in blocks_of(DOCUMENT):
        if block.kind in ("python", "toml"):
            (tmp_path / block.text.partition("\n")[0].removeprefix("# ")).write_text(block.text)
        else:
            command, _, expected = block.text.removeprefix("$ ").partition("\n")
            shown = run(command, tmp_path)
            assert is_like(shown, expected), shown
            commands += 1
    assert commands == 2


def test_the_program_has_about_twenty_lines() -> None:
    program = next(block.text for block in blocks_of(DOCUMENT) if block.kind == "python")
    assert len([line for line in program.splitlines() if line.strip()]) <= 20


def test_the_files_that_the_page_points_to_are_there() -> None:
    text = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    targets = [part.partition(")")[0].partition("#")[0] for part in text.split("](")[1:]]
    assert targets
    assert [target for target in targets if not (ROOT / DOCUMENT).parent.joinpath(target).exists()] == []


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ('description = "x"', "an assistant needs instructions, or a program as module:name"),
        ('program = "a:b"\ninstructions = "x"', "an assistant with a program has everything else there"),
        ('program = "nowhere:b"', "The assistant nowhere:b cannot be loaded: No module named 'nowhere'"),
        ('program = "json:loads"', "json:loads is no assistant, but a function"),
        ('instructions = "x"\ntools = ["json:loads"]', "json:loads is no tool; is there a @tool on top of it?"),
        (
            'instructions = "x"\nindex = "no.db"',
            "There is no index no.db; make one: threadkeep index add no.db FILE...",
        ),
        ('instructions = "x"\ncolour = "red"', "there is no setting assistants.wrong.colour"),
    ],
)
def test_a_table_that_is_wrong_is_told_in_one_line(tmp_path: Path, table: str, complaint: str) -> None:
    (tmp_path / "threadkeep.toml").write_text(f"[assistants.wrong]\n{table}\n")
    done = subprocess.run(
        ["threadkeep", "chat", "--config", "threadkeep.toml", "--assistant", "wrong", "--model", "demo"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        input="hi\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_assistant_of_settings_looks_questions_up_in_an_index(tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("# Pets\n\nDogs may stay in rooms on the ground floor.\n")
    (tmp_path / "pool.md").write_text("# Pool\n\nThe pool closes at nine.\n")
    (tmp_path / "threadkeep.toml").write_text('[assistants.hotel]\ninstructions = "Answer."\nindex = "house.db"\n')
    run("threadkeep index add house.db rules.md pool.md", tmp_path)
    run(
        "echo 'Where may dogs stay?' | threadkeep chat --config threadkeep.toml --assistant hotel --model demo",
        tmp_path,
    )
    told = asyncio.run(_traces(tmp_path / "threadkeep.db"))
    assert [item["passages"][0] for item in told if item["kind"] == "query"] == ["rules.md"]


async def _traces(store: Path) -> list[dict[str, Any]]:
    """Return all traces of the one conversation in a store."""
    async with threadkeep.open(f"sqlite:///{store}", model="demo") as conversations:
        conversation = (await conversations._store.list(LOCAL)).items[0]
        entries = await conversations._store.newest(LOCAL, conversation.id, limit=10)
        return [item for entry in entries if isinstance(entry.body, Message) for item in entry.body.tool_trace]


def test_config_shows_assistants_with_their_origin(tmp_path: Path) -> None:
    (tmp_path / "threadkeep.toml").write_text('[assistants.butler]\ninstructions = "Be brief."\n')
    shown = json.loads(run("threadkeep config --config threadkeep.toml --json", tmp_path))
    assert shown["assistants.butler.instructions"] == {"value": "Be brief.", "source": "threadkeep.toml"}
