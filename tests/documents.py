"""Documents whose programs and commands are run by tests: their blocks, and whether an output is the one shown."""

import os
import re
import runpy
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
CUT = "\n=====\n"

_BLOCK = re.compile(r"^ *```(?P<kind>\w+)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of code: `kind` is what stands behind the opening fence."""

    kind: str
    text: str


def blocks_of(document: str) -> list[Block]:
    """Return the blocks of a document of this repository in order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [Block(found["kind"], found["text"]) for found in _BLOCK.finditer(text)]


def programs_of(document: str, folder: Path) -> list[dict[str, Any]]:
    """Run each block of Python of a document, and return what it defines."""
    programs = [block.text for block in blocks_of(document) if block.kind == "python"]
    for number, text in enumerate(programs):
        (folder / f"program{number}.py").write_text(text, encoding="utf-8")
    return [runpy.run_path(str(folder / f"program{number}.py")) for number in range(len(programs))]


def is_like(shown: str, expected: str) -> bool:
    """Whether an output is the expected one: `…` stands for anything in a line, and alone for any lines."""
    pattern = ""
    for line in expected.strip().splitlines():
        pattern += r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\s*?\n"
    return re.fullmatch(pattern, f"{shown.strip()}\n") is not None


def assert_commands_answer(document: str, url: str, folder: Path) -> None:
    """Run the commands of a document in one shell against a server; each must print what the block behind it shows."""
    blocks = blocks_of(document)
    script = f"printf '{CUT.encode('unicode_escape').decode()}'\n".join(
        block.text for block in blocks if block.kind == "sh"
    )
    done = subprocess.run(
        ["bash", "-c", script.replace("http://127.0.0.1:8000", url)],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    printed, shown = iter(done.stdout.split(CUT)), ""
    for block in blocks:
        if block.kind == "sh":
            shown = next(printed)
        elif block.kind == "text":
            assert is_like(shown, block.text), shown
