"""The assistant that the tests of the page talk to: its script says what the tests need to see, and no more.

A server loads it by name from the settings of its folder. `hold` runs until a file of that name is there, `draw` gives
another card each time, `remove_file` asks first, whoever says "stumble" gets an answer at the second try only, and
"hurry" one that is asked for again after a pause.
"""

import asyncio
import math
import re
from itertools import count
from pathlib import Path

from tests.browser.pixels import png
from threadkeep.conversation.blocks import Block, Chart, Citation, Narrative, RankedList, SplitCompare, Table
from threadkeep.errors import ModelRateLimited
from threadkeep.tools.base import ToolFile
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.demo.script import Call, Reply, Scene, Script, after, asked, calls

SETTINGS = """\
models = [
    "openai:gpt-one", "openai:gpt-two", "openai:gpt-three", "openai:gpt-four", "openai:gpt-five",
    "anthropic:claude-six", "anthropic:claude-seven", "anthropic:claude-eight",
]

[assistants.stage]
program = "tests.browser.stage:ASSISTANT"

[assistants.forgetful]
instructions = "You forget everything but the last two messages."
newest_messages = 2
"""
MARKDOWN = """## A heading

Some **bold** words, `code` and [a link](https://example.org/there).

1. first
2. second

| city | people |
|------|-------:|
| Oslo | 700000 |
| Bern | 140000 |

```python
def greet(name: str) -> str:
    return f"Hello {name}"
```
"""
STORY = " ".join(f"word{number}" for number in range(1, 4001))
RIGHT_TO_LEFT = "שלום עולם, זה משפט בעברית.\n\nAnd this is English.\n\nمرحبا بالعالم"
ROWS = [
    {"ticker": "AAA", "name": "Alpha", "score": 0.7, "cap": 10},
    {"ticker": "BBB", "name": "Beta", "score": 0.9, "cap": 30},
    {"ticker": "CCC", "name": "Gamma", "score": 0.8, "cap": 20},
]

_cards, _tries, _hurries = count(1), count(1), count(1)
PAUSE = 8


@tool(timeout=math.inf)
async def hold(name: str) -> str:
    """Wait for a file."""
    while not Path(name).exists():  # noqa: ASYNC110 - a file is no event
        await asyncio.sleep(0.01)
    return f"{name} is there"


@tool
def draw() -> str:
    """Draw a card."""
    return f"card {next(_cards)}"


@tool
def paint() -> ToolFile:
    """Paint a picture."""
    return ToolFile(media_type="image/png", data=png(120, 80), name="painted.png")


@tool
def broken(part: str) -> str:
    """Fail."""
    raise ValueError(f"the {part} is broken")


@tool(needs_approval=True)
def remove_file(path: str) -> str:
    """Remove a file, which is not really there."""
    return f"{path} is gone"


@tool
def show() -> list[Block]:
    """Show a block of each kind."""
    points = [{"x": "2024-01", "y": 1}, {"x": "2024-02", "y": 3}, {"x": "2024-03", "y": 2}]
    return [
        Narrative(text="A **narrative** of its own."),
        RankedList(rows=ROWS),
        SplitCompare(leftTitle="Alpha", rightTitle="Beta", left={"price": 10, "risk": "low"}, right={"price": 30}),
        Table(columns=["centre", "budget"], rows=[["CC-1001", 50_000], ["CC-1002", 20_000]]),
        Chart(chart="line", series=[{"name": "Alpha", "points": points}]),
        Citation.model_validate({"source": "report.pdf", "title": "The report", "text": "It grew."}),
        Citation.model_validate({"source": "notes.txt", "url": "https://example.org/notes"}),
    ]


def stumble(_match: re.Match[str], _scene: Scene) -> str:
    """Fail every other time."""
    if next(_tries) % 2:
        raise ValueError("The model stumbled.")
    return "On its feet again."


def hurry(_match: re.Match[str], _scene: Scene) -> str:
    """Ask for a pause every other time."""
    if next(_hurries) % 2:
        raise ModelRateLimited("Not so fast.", retry_after=PAUSE)
    return "There you are."


def both(match: re.Match[str], _scene: Scene) -> Reply:
    """Call a tool that needs nobody and one that a person must allow."""
    return Reply(calls=(Call("draw"), Call("remove_file", {"path": match["path"]})))


def shown(_told: str, scene: Scene) -> str | Reply:
    """End, or hold something before, as the question asks."""
    held = re.search(r"and keep (\w+)", scene.question)
    return Reply(calls=(Call("hold", {"name": held[1]}),)) if held else "Here they are."


ASSISTANT = Assistant(
    name="stage",
    description="Plays what the tests of the page ask for.",
    examples=("Write in Markdown", "Show all blocks"),
    tools=Registry([hold, draw, paint, broken, remove_file, show]),
    script=Script(
        rules=(
            asked("Markdown", lambda _match, _scene: MARKDOWN),
            asked("long story", STORY),
            asked("right to left", RIGHT_TO_LEFT),
            asked("stumble", stumble),
            asked("hurry", hurry),
            asked("too long", lambda _match, _scene: Reply(text="The first half", ending="length")),
            asked("filtered", lambda _match, _scene: Reply(text="The first", ending="content_filter")),
            asked("be blocked", lambda _match, _scene: Reply(text="", ending="content_filter")),
            asked(r"(?s)repeat (?P<words>.+)", "{words}"),
            asked(r"say (?P<words>.+)", "{words}"),
            calls(r"hold (?P<name>\w+)", "hold"),
            asked(r"draw and remove (?P<path>\S+)", both),
            calls("draw", "draw"),
            calls("paint", "paint"),
            calls("break the (?P<part>.+)", "broken"),
            calls(r"remove (?P<path>\S+)", "remove_file"),
            calls("all blocks", "show"),
            after("hold", lambda told, _scene: f"Well: {told}."),
            after("paint", lambda _told, _scene: "Here it is."),
            after("draw", lambda told, _scene: f"You have {told}."),
            after("remove_file", lambda told, _scene: f"Done: {told}."),
            after("show", shown),
        )
    ),
)
