"""The Chromium that the tests of the page drive: the system's own, headless, with nothing of it calling home.

`THREADKEEP_TEST_CHROMIUM` names another one; `tests/install` gets it from the system's packages.
"""

import os
import shutil

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "there is no Chromium on this machine: run tests/install (or 'apt-get install -y chromium' as root), "
    "or set THREADKEEP_TEST_CHROMIUM to the program"
)
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def chromium() -> str:
    """Return the path of the program; where there is none the test fails, and says what to do."""
    named = os.environ.get("THREADKEEP_TEST_CHROMIUM")
    for name in (named,) if named else NAMES:
        if path := shutil.which(name):
            return path
    pytest.fail(f"THREADKEEP_TEST_CHROMIUM is {named}, which cannot be run" if named else MISSING, pytrace=False)
