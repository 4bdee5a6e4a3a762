"""The comparison with others says nothing of ours that no test proves, and nothing of theirs without a source."""

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "explanation" / "comparison.md").read_text(encoding="utf-8")
ROWS = [
    line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and "proven by" not in line
]
SOURCES = dict(re.findall(r"^\[([\w-]+)\]: (https://\S+)$", PAGE, re.MULTILINE))


async def test_every_row_names_a_test_that_there_is_or_says_that_there_is_nothing() -> None:
    tests = {name for file in HERE.glob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())}
    assert len(ROWS) >= 37
    for _, ours, proof, *_ in ROWS:
        assert proof.strip("`") in tests or (proof == "–" and ours.startswith(("no", "not")))


async def test_what_is_said_of_others_has_a_source_or_was_not_found() -> None:
    for name, _, _, *others in ROWS:
        assert len(others) == 3, name
        assert all(cell == "not found" or re.search(r"\]\[[\w-]+\]", cell) for cell in others), name
    assert set(re.findall(r"\]\[([\w-]+)\]", PAGE)) == set(SOURCES)
