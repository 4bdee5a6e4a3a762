"""Assistants for tests that hang their process: with C code that keeps the interpreter to itself, or the event loop.

Before they hang they leave a line in the file `hangs`, so that a test can wait for it.
"""

import re
from pathlib import Path

from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.demo.script import Call, Reply, Scene, Script

SETTINGS = """\
[assistants.poison]
program = "tests.acceptance.poison:ASSISTANT"
"""


def _tell() -> None:
    with Path("hangs").open("a") as file:
        file.write("hangs\n")


def _spin() -> None:
    _tell()
    re.match(r"(a+)+$", "a" * 80 + "b")


@tool(repeatable=True)
def match() -> str:
    """Look for a pattern, for ever."""
    _spin()
    return "matched"


@tool(repeatable=True)
async def block() -> str:
    """Keep the event loop busy, for ever."""
    _tell()
    while True:
        pass


def _rule(scene: Scene) -> Reply | None:
    if scene.question == "spin":
        _spin()
    return Reply(calls=(Call(scene.question),)) if scene.question in ("match", "block") else Reply(text="Fine.")


ASSISTANT = Assistant(name="poison", script=Script(rules=(_rule,)), tools=Registry([match, block]))
