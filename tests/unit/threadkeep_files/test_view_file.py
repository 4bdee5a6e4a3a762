"""The file of one conversation: replaced as a whole, never over another program's, put away and put back."""

import logging
import stat
from pathlib import Path

import pytest

from threadkeep.errors import InvalidId
from threadkeep.testing.clock import FakeClock
from threadkeep_files.view_file import MOST_PROBLEMS, FileProblems, ViewFile, files_in, folder_of, remove_put_away

NOW = FakeClock()()


def test_a_file_is_replaced_only_if_it_is_the_known_one(tmp_path: Path) -> None:
    file = ViewFile(tmp_path, "c")
    first = file.write(b"one", None)
    assert first == file.signature()
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.path.write_bytes(b"theirs")
    assert file.write(b"two", first) is None
    assert file.path.read_bytes() == b"theirs"
    assert file.write(b"two", file.signature()) == file.signature()
    assert file.path.read_bytes() == b"two"
    assert sorted(path.name for path in (tmp_path / ".threadkeep").iterdir()) == ["lock"]


def test_what_belongs_to_a_deleted_conversation_is_put_away_and_comes_back(tmp_path: Path) -> None:
    file, away = ViewFile(tmp_path, "c"), tmp_path / ".threadkeep" / "deleted" / "7"
    file.path.write_bytes(b"damaged")
    aside = file.set_aside(NOW)
    file.keep_original(b"more", NOW)
    known = file.write(b"{}", None)
    file.put_away(away, known)
    assert files_in(tmp_path) == {}
    assert file.aside() == []
    file.put_back(away)
    assert file.aside() == [aside]
    assert [path.read_bytes() for path in (tmp_path / ".threadkeep").glob("c.json.imported-*")] == [b"more"]
    assert not away.exists()


def test_a_file_that_another_program_changed_is_not_removed_with_its_conversation(tmp_path: Path) -> None:
    file = ViewFile(tmp_path, "c")
    known = file.write(b"{}", None)
    file.path.write_bytes(b"theirs")
    file.put_away(tmp_path / "away", known)
    assert file.path.read_bytes() == b"theirs"


def test_only_what_was_put_away_with_a_purged_conversation_is_removed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    remove_put_away(tmp_path, {"b"})
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_the_folder_of_a_tenant_looks_like_no_file_and_leads_nowhere_else(tmp_path: Path) -> None:
    assert folder_of(tmp_path, "local") == tmp_path
    assert folder_of(tmp_path, "acme") == tmp_path / "acme"
    assert folder_of(tmp_path, "x.json") == tmp_path / "x.json@"
    for name in ("..", ".threadkeep", "a/b", ""):
        with pytest.raises(InvalidId):
            folder_of(tmp_path, name)


def test_a_problem_that_stays_the_same_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    problems = FileProblems(FakeClock())
    with caplog.at_level(logging.WARNING):
        for detail in ("no JSON", "no JSON", "half a file"):
            problems.report(Path("a.json"), detail)
    assert [record.getMessage() for record in caplog.records] == ["a.json: no JSON", "a.json: half a file"]
    assert [problem.detail for problem in problems.all()] == ["half a file"]


def test_the_oldest_problem_makes_room() -> None:
    problems = FileProblems(FakeClock())
    for number in range(MOST_PROBLEMS + 1):
        problems.report(Path(f"{number}.json"), "no JSON")
    assert len(problems.all()) == MOST_PROBLEMS
    assert problems.all()[0].path == Path("1.json")
