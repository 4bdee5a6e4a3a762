"""What `make` would do, without doing it."""

import os
import subprocess

from tests.documents import ROOT


def _would_run(**variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")} | variables
    command = ["make", "--dry-run", "--always-make", "run"]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def test_run_installs_the_package_of_a_provider_whose_key_is_set() -> None:
    assert "requirements/models.txt" in _would_run(OPENAI_API_KEY="secret")
    assert "requirements/models.txt" in _would_run(ANTHROPIC_API_KEY="secret")
    assert "requirements/models.txt" not in _would_run()
    models = (ROOT / "requirements" / "models.txt").read_text(encoding="utf-8")
    assert "aiohttp==" in models
