"""What `make` installs is pinned by the digests of its files, all of it."""

import json
import subprocess
import sys
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


def test_the_bill_of_materials_names_all_that_a_release_brings_along() -> None:
    made = subprocess.run([sys.executable, ROOT / "requirements" / "sbom"], capture_output=True, check=True).stdout
    bill = json.loads(made)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["name"] == "threadkeep"
    named = {component["purl"].rpartition("@")[0] for component in bill["components"]}
    pinned = (ROOT / "requirements" / "container.txt").read_text(encoding="utf-8")
    assert {f"pkg:pypi/{line.partition('==')[0]}" for line in pinned.splitlines() if "==" in line} <= named
    folders = [folder.name for folder in (ROOT / "src/threadkeep_pages/web/vendor").iterdir() if folder.is_dir()]
    assert len([name for name in named if name.startswith("pkg:npm/")]) == len(folders) > 5
    references = [component["bom-ref"] for component in bill["components"]]
    assert len(set(references)) == len(references)
