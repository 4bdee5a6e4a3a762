"""The comparison with other pages says nothing of ours that no test proves."""

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "explanation" / "comparison.md").read_text(encoding="utf-8")


async def test_every_row_names_a_test_that_there_is_or_says_that_there_is_nothing() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and "proven by" not in line]
    tests = {name for file in HERE.glob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())}
    assert len(rows) == 44
    for _, ours, proof, *_ in rows:
        assert proof.strip("`") in tests or (proof == "–" and ours.startswith(("no", "not")))
