"""The page about searching documents: its commands and its program do what it shows."""

import os
import subprocess
import sys
from pathlib import Path

from tests.documents import blocks_of, is_like

RUNNERS = {"sh": ["bash", "-ec"], "python": [sys.executable, "-c"]}


def test_every_command_and_program_prints_what_the_page_shows(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed, shown = "", 0
    for block in blocks_of("docs/howto/search-your-documents.md"):
        if block.kind == "console":
            continue  # what needs a network
        if block.kind == "text":
            assert is_like(printed, block.text), printed
            shown += 1
            continue
        ran = subprocess.run(
            [*RUNNERS[block.kind], block.text],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        printed = ran.stdout
    assert shown == 3
