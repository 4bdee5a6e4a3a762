"""The page that walks through a turn names files that exist, all files of a turn, and all states."""

import re
from pathlib import Path

import pytest

from threadkeep.conversation.turn import TurnState

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "life-of-a-turn.md"
LEFT_OUT = {"__init__.py", "assistant.py", "observer.py"}
"""What is beside the path of a turn: what an assistant is, and who watches."""


def _links() -> list[tuple[str, str]]:
    return re.findall(r"\[`?([^\]`]+)`?\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("shown", "target"), _links())
def test_a_link_leads_to_a_file_that_exists_and_shows_its_path(shown: str, target: str) -> None:
    path = (PAGE.parent / target).resolve()
    assert path.is_file()
    if "/" in shown:
        assert path == ROOT / shown


def test_every_file_that_runs_turns_is_on_the_page() -> None:
    named = {(PAGE.parent / target).resolve() for _, target in _links()}
    folder = ROOT / "src" / "threadkeep" / "turn"
    every = {path for path in folder.rglob("*.py") if path.name not in LEFT_OUT}
    assert every - named == set()


def test_every_state_is_in_the_diagram() -> None:
    diagram = PAGE.read_text(encoding="utf-8").split("```")[1]
    assert [state for state in TurnState if state not in diagram] == []
