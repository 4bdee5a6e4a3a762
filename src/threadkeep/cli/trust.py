"""`threadkeep trust`: use the `threadkeep.toml` of the current folder, as it is now.

Such a file can start programs and send conversations elsewhere, and it may have come with somebody else's files. So it
is used only if it was named (`--config`, `THREADKEEP_CONFIG`), or confirmed; after a change it must be confirmed again.
"""

import argparse
import hashlib
import json
import os
import pwd
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from threadkeep.cli.settings_loading import file_path, load_settings, read_file
from threadkeep.errors import InvalidValue
from threadkeep.settings import Settings

_HOW = "look at it, and then either run 'threadkeep trust' or name it with --config"


def add_trust_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep trust`: there are none."""


def run_trust(arguments: argparse.Namespace) -> int:
    """Remember the file as it is."""
    path = file_path(os.environ)
    try:
        _remember(path, path.read_bytes(), os.environ)
    except FileNotFoundError:
        raise InvalidValue(f"there is no {path} here") from None
    print(f"{path} is used from now on, until it changes")
    return 0


def trusted_settings(flags: Mapping[str, object]) -> Settings:
    """Return the settings from flags, the environment and the file, if that may be used."""
    return load_settings(os.environ, flags, read_trusted_file(os.environ))


def read_trusted_file(environment: Mapping[str, str]) -> dict[str, Any]:
    """Read the file of settings, if the person who runs this wants it."""

    def check(path: Path, content: bytes) -> None:
        if _known(environment).get(str(path.resolve())) == _digest(content):
            return
        if not _is_confirmed(path):
            raise InvalidValue(f"{path} in this folder can start programs, and was not confirmed as it is: {_HOW}")
        _remember(path, content, environment)

    return read_file(environment, check)


def _is_confirmed(path: Path) -> bool:
    """Ask the person at the terminal; without a terminal the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{path.resolve()} was not used before as it is now. It can start programs.", file=sys.stderr)
    print("Use it from now on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remember(path: Path, content: bytes, environment: Mapping[str, str]) -> None:
    memory = _memory(environment)
    known = {**_known(environment), str(path.resolve()): _digest(content)}
    memory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = memory.with_name(f"{memory.name}.{os.getpid()}")
    written.touch(mode=0o600)
    written.write_text(json.dumps(known, indent=2), encoding="utf-8")
    written.replace(memory)


def _known(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of confirmed files, by path; none if the record cannot be read."""
    try:
        known = json.loads(_memory(environment).read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _memory(environment: Mapping[str, str]) -> Path:
    # A path that is not absolute is no valid one, and would let a folder bring its own record along.
    home, chosen = Path(environment.get("HOME", "")), Path(environment.get("XDG_CONFIG_HOME", ""))
    if not home.is_absolute():
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    return Path(chosen if chosen.is_absolute() else home / ".config", "threadkeep", "trusted.json")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
