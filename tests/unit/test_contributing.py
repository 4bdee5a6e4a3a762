"""The page for contributors: every path on it exists, and each of the changes stays within six files."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Changes, and where they go")[2].partition("\n## ")[0]
_, *CHANGES = re.findall(r"^\| (.+?) \| (.+?) \|", TABLE, re.MULTILINE)  # but for the head of the table


def test_the_expensive_changes_are_named_too() -> None:
    named = " ".join(change for change, _ in CHANGES)
    assert len(CHANGES) >= 13
    assert all(change in named for change in ("A field of a conversation", "A kind of entry", "A store backend"))


@pytest.mark.parametrize(("change", "files"), CHANGES)
def test_a_change_names_at_most_six_files_and_all_of_them_exist(change: str, files: str) -> None:
    paths = re.findall(r"`([^`]+)`", files)
    assert 0 < len(paths) <= 6
    assert [path for path in paths if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:src|tests|docs|bench|examples)/[\w./-]*)`", PAGE))))
def test_a_path_that_the_page_names_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_group_of_entry_points_is_on_the_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [group for group in project["entry-points"] if f"| `{group}` |" not in PAGE] == []
