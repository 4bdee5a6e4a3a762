"""What `make` installs is pinned by the digests of its files, all of it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["run", "models", "test", "dev", "local", "bench"])
def test_every_requirement_is_pinned_by_version_and_digest(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines
    assert [line for line in lines if "==" not in line or "--hash=sha256:" not in line] == []


def test_nothing_is_installed_without_its_digest() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    installs = [line for line in text.splitlines() if " install " in line and "-r requirements" in line]
    assert len(installs) == 6
    assert all("--require-hashes" in line for line in installs)
