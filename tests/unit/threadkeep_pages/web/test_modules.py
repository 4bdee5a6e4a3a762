"""The page's modules that need no browser: node runs their tests, `*.test.js`."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT
from threadkeep.assistants import found_assistants
from threadkeep.settings import Settings

HERE = Path(__file__).parent
ENGLISH = ROOT / "src" / "threadkeep_pages" / "web" / "texts" / "en.js"
INTRODUCED = re.compile(r'^  (?:about|example)_\w+:\s+("(?:[^"\\]|\\.)*"),$', re.MULTILINE)


@pytest.mark.parametrize("name", sorted(path.relative_to(HERE).as_posix() for path in HERE.rglob("*.test.js")))
def test_a_module_does_what_its_own_tests_say(name: str) -> None:
    node = Path(sys.executable).with_name("node")
    told = subprocess.run(
        [node, "--expose-internals", "--test", "--test-reporter=spec", HERE / name],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_catalogues_translate_what_the_assistants_that_come_along_say_of_themselves_word_for_word() -> None:
    known = [json.loads(text) for text in INTRODUCED.findall(ENGLISH.read_text(encoding="utf-8"))]
    offered = found_assistants(Settings()).values()
    said = {text for one in offered for text in (one.description, *one.examples[:4])}
    assert set(known) == said
