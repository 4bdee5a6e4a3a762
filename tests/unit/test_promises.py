"""The page of promises names only tests that there are, and every line of what the five systems asked for."""

import re

from tests.documents import ROOT

PAGE = (ROOT / "docs/explanation/promises.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([A-E]\d+) \| .+ \| (.+) \|$", PAGE, re.MULTILINE)


def test_every_line_of_the_five_systems_has_its_proof() -> None:
    lines = [
        f"{letter}{number}"
        for letter, most in zip("ABCDE", (9, 9, 14, 8, 11), strict=True)
        for number in range(1, most + 1)
    ]
    assert [line for line, _ in ROWS] == lines
    files = [path for folder in ("tests", "src/threadkeep/testing") for path in (ROOT / folder).rglob("*.py")]
    tests = {name for path in files for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))}
    proofs = {name for _, proof in ROWS for name in re.findall(r"`(test_\w+)`", proof)}
    assert proofs - tests == set()
    assert [line for line, proof in ROWS if "`" not in proof] == []
