"""The how-tos about tools: what they show is run."""

import re
import tomllib
from pathlib import Path
from typing import Any

from tests.unit.tools.samples import CONTEXT
from threadkeep.cli.settings_loading import load_settings
from threadkeep.conversation.blocks import Table
from threadkeep.tools.registry import AT_ONCE, SHOWN_CHARACTERS

HOWTOS = Path(__file__).parents[3] / "docs" / "howto"


def blocks(page: str, language: str) -> list[str]:
    """Return the code of one language on a page."""
    return re.findall(rf"```{language}\n(.*?)```", (HOWTOS / page).read_text(), re.DOTALL)


def run(code: list[str]) -> dict[str, Any]:
    """Run blocks of Python one after the other and return what they defined."""
    names: dict[str, Any] = {}
    for block in code:
        exec(block, names)  # noqa: S102
    return names


async def test_the_tools_of_the_how_to_work_and_complain_as_it_says() -> None:
    names = run(blocks("write-a-tool.md", "python"))
    weather, order = names["weather"], names["place_order"]
    assert list(names["tools"]) == [weather]
    assert (await weather.run({"city": "Bergen"}, CONTEXT)).content == '{"city":"Bergen","days":1,"sky":"clear"}'
    shown = blocks("write-a-tool.md", "text")[0].strip()
    assert (await weather.run({"days": 30}, CONTEXT)).error == shown
    ordered = await order.run({"item": "tea"}, CONTEXT)
    assert ordered.blocks == (Table(columns=["item"], rows=[["tea"]]),)
    assert ordered.state == {"orders": ["tea"]}


def test_the_limits_of_the_how_to_are_those_of_the_code() -> None:
    page = (HOWTOS / "write-a-tool.md").read_text()
    assert f"at most {SHOWN_CHARACTERS:,} characters" in page
    assert f"up to {AT_ONCE} of them" in page


def test_the_settings_of_the_how_to_are_valid() -> None:
    settings = load_settings({}, {}, tomllib.loads(blocks("connect-an-mcp-server.md", "toml")[0]))
    assert list(settings.mcp.servers) == ["git", "docs"]
