"""The page of the dialects: its commands are run against a real server."""

from pathlib import Path

from tests.acceptance.fuzz import serving
from tests.documents import assert_commands_answer


def test_every_command_answers_as_the_page_shows(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        assert_commands_answer("docs/reference/dialects.md", url, tmp_path)
