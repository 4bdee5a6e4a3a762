"""The tutorial, the card and the example of the README, run as their readers run them: offline, in an empty folder."""

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_overloads

import pytest

import threadkeep
from tests.acceptance.pseudo_terminal import running
from tests.documents import ROOT, Block, blocks_of, is_like
from threadkeep.administration import Administration
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import Event, Happening
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.loop_turn import Loops, LoopTurn
from threadkeep.retention.erasure import Erasure
from threadkeep.store.usage import UsageTables
from threadkeep.turn.steps.accept import Sending
from threadkeep.turn_handle import TurnHandle

ENVIRONMENT = {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}


def run(command: str, folder: Path) -> str:
    """Run a command and return all that it prints."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    return done.stdout.decode()


def talk(command: str, lines: list[str], folder: Path) -> str:
    """Type lines into a chat, each when it is asked for, and return what is on the screen in the end."""
    program = str(Path(sys.executable).with_name("threadkeep"))
    with running(folder, program, *command.split()[1:], environment=ENVIRONMENT) as screen:
        screen.wait_for("Ctrl-D leaves.\n")
        for line in lines:
            screen.wait_for("> ")
            screen.type(f"{line}\r")
        assert screen.wait_for_end() == 0
        return screen.shown


def play(block: Block, folder: Path) -> None:
    """Write down a program, or run a command and hold its output against what is shown."""
    if block.kind == "python":
        (folder / block.text.partition("\n")[0].removeprefix("# ")).write_text(block.text)
    if block.kind != "console":
        return
    command, _, expected = block.text.removeprefix("$ ").partition("\n")
    typed = re.findall("^> (.*)$", expected, re.MULTILINE)
    shown = talk(command, typed, folder) if typed else run(command, folder)
    assert is_like(shown, expected), f"{command} shows:\n{shown}\ninstead of:\n{expected}"


def test_the_tutorial_tells_the_truth(tmp_path: Path) -> None:
    blocks = blocks_of("docs/tutorial.md")
    assert {block.kind for block in blocks} == {"sh", "python", "console"}
    for block in blocks:
        play(block, tmp_path)
    assert "Nice to meet you, Ada!" in (tmp_path / "ada.md").read_text()


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    (example,) = (block for block in blocks_of("README.md") if block.kind == "python")
    (tmp_path / "example.py").write_text(example.text)
    assert run("python example.py", tmp_path).startswith("Nice to meet you, Ada!")


def test_the_example_of_the_card_runs(tmp_path: Path) -> None:
    card, _, synchronous, shown = blocks_of("docs/reference/python-api.md")
    play(card, tmp_path)
    assert run("python card.py", tmp_path).startswith("weather says: Rain in Oslo.")
    play(synchronous, tmp_path)
    play(shown, tmp_path)


CARD = (ROOT / "docs/reference/python-api.md").read_text(encoding="utf-8")
OWNERS: dict[str, Any] = {
    "threadkeep": threadkeep,
    "conversations": Conversations,
    "conversation": ConversationHandle,
    "turn": TurnHandle,
    "cursor": Cursor,
    "store": threadkeep.ConversationStore,
}
PARTS = {"admin": Administration, "erasure": Erasure, "loops": Loops, "usage": UsageTables}
"""What is reached by an attribute that only an instance has."""
SENT = {*Sending.__annotations__, *inspect.signature(ConversationHandle.sending).parameters, "message"}
"""What whoever sends a message may say about it."""
CALLS = re.findall(r"^\| `(\w+)\.([\w.]+)\(([^`]*)\)` \|", CARD, re.MULTILINE)


@pytest.mark.parametrize(("owner", "path", "parameters"), CALLS)
def test_every_call_on_the_card_exists_with_its_parameters(owner: str, path: str, parameters: str) -> None:
    found = LoopTurn if owner == "turn" and not hasattr(TurnHandle, path) else OWNERS[owner]
    for name in path.split("."):
        found = PARTS.get(name) or getattr(found, name)
    named = [parameter.partition("=")[0].strip() for parameter in re.split(r",\s*(?![^(]*\))", parameters)]
    assert any({*named} - {""} <= taken(each) for each in get_overloads(found) or [found])


def taken(function: Callable[..., Any]) -> set[str]:
    """Return the names of what a function takes, with those that it hands on as they are."""
    known = inspect.signature(function).parameters
    options = [value.annotation for value in known.values() if value.kind is value.VAR_KEYWORD]
    handed_on = SENT if options == [Any] else {name for each in options for name in get_args(each)[0].__annotations__}
    return {*known, *handed_on}


def public(owner: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(owner, inspect.isfunction) if not name.startswith("_")}


def test_nothing_is_missing_on_the_card() -> None:
    calls = {f"{owner}.{path}" for owner, path, _ in CALLS}
    assert {f"conversation.{name}" for name in public(ConversationHandle)} <= calls
    assert {f"conversations.{name}" for name in public(Conversations)} <= calls
    assert [name for name in public(Administration) if f".{name}(" not in CARD] == []
    assert {f"store.{name}" for name in public(threadkeep.ConversationStore)} <= calls
    assert {f"turn.{name}" for name in public(TurnHandle)} <= calls
    assert [name for name in threadkeep.__all__ if f"threadkeep.{name}" not in CARD] == []
    assert [name for name in Event.__dataclass_fields__ if f"`event.{name}`" not in CARD] == []


def test_the_events_on_the_card_are_those_that_there_are() -> None:
    kinds = {kind.__name__ for kind in get_args(Happening)}
    assert {name for name in kinds if f"`threadkeep.{name}`" in CARD} == kinds
