"""The page on LangChain's histories tells the truth."""

import subprocess
import sys
from pathlib import Path

from tests.documents import blocks_of


def test_the_programs_of_the_page_run(tmp_path: Path) -> None:
    said = []
    for block in blocks_of("docs/howto/use-langchain-history.md"):
        if block.kind == "python":
            run = [sys.executable, "-W", "ignore", "-c", block.text]
            said.append(
                subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120).stdout
            )
    assert said[0].startswith("Cold. Take a coat.\n[HumanMessage(content='How is Oslo?'")
    assert said[1] == "3\n"
