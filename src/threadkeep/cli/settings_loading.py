"""Where the values of settings come from: flags win over the environment, the environment over `threadkeep.toml`, the
file over the defaults. Nothing else in Threadkeep reads the environment or the file.
"""

import argparse
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from threadkeep.errors import InvalidPeriod, InvalidValue
from threadkeep.settings import Settings

PREFIX = "THREADKEEP_"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_TABLES = "assistants budgets dialects identity mcp options prices webhooks"
_SIMPLE = Settings.model_fields.keys() - _TABLES.split()
"""The settings that can be variables: all but the tables that only the file has."""
_OTHER_VARIABLES = ("CONFIG", "NO_REAL_MODELS", "URL", "KEY", "TEST_POSTGRES")
"""Variables of ours that are no settings: for the file, for `llm/`, for clients and for tests."""


def file_path(environment: Mapping[str, str]) -> Path:
    """Return where the file is, whether it is there or not."""
    return Path(environment.get(f"{PREFIX}CONFIG") or "threadkeep.toml")


def read_file(environment: Mapping[str, str], check_unnamed: Callable[[Path, bytes], None]) -> dict[str, Any]:
    """Read the file that `THREADKEEP_CONFIG` names, or else `threadkeep.toml` here, if there is one.

    A file that was found and not named is used only if `check_unnamed` does not raise. `${NAME}` in a text stands for a
    variable of the environment, so that the file need not contain secrets.
    """
    named, path = environment.get(f"{PREFIX}CONFIG"), file_path(environment)
    try:
        content = path.read_bytes()
        if not named:
            check_unnamed(path, content)
        values = tomllib.loads(content.decode())
    except FileNotFoundError:
        if named:
            raise InvalidValue(f"there is no file {path}") from None
        return {}
    except (OSError, ValueError) as error:
        raise InvalidValue(f"{path} cannot be read: {error}") from None
    return {key: _filled_in(value, environment) for key, value in values.items()}


def load_settings(
    environment: Mapping[str, str], flags: Mapping[str, object], file: Mapping[str, Any] | None = None
) -> Settings:
    """Read the settings; a flag that is None was not given. Raises InvalidValue naming the setting that is wrong."""
    try:
        return Settings.model_validate({**(file or {}), **_variables(environment), **_given(flags)})
    except InvalidPeriod as error:
        origin = origins(environment, flags, file or {})["retention"]
        raise InvalidValue(f"the setting retention is not valid (from {origin}): {error}") from None
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in wrong["loc"])
        origin = origins(environment, flags, file or {}).get(str(wrong["loc"][0]), "default") if wrong["loc"] else ""
        if wrong["type"] == "extra_forbidden":
            raise InvalidValue(f"there is no setting {place} (from {origin})") from None
        raise InvalidValue(f"the setting {place} is not valid (from {origin}): {wrong['msg']}") from None


def origins(environment: Mapping[str, str], flags: Mapping[str, object], file: Mapping[str, Any]) -> dict[str, str]:
    """Return where the value of each setting comes from: the file's name, a variable, a flag, or `default`."""
    return {
        **dict.fromkeys(Settings.model_fields, "default"),
        **dict.fromkeys(file, str(file_path(environment))),
        **{name: f"{PREFIX}{name.upper()}" for name in _variables(environment)},
        **{name: f"--{name.replace('_', '-')}" for name in _given(flags)},
    }


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return the variables that look like our settings but are none."""
    known = {f"{PREFIX}{name.upper()}" for name in _SIMPLE} | {f"{PREFIX}{name}" for name in _OTHER_VARIABLES}
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)


def _variables(environment: Mapping[str, str]) -> dict[str, object]:
    """Return the settings that the environment gives; an empty variable gives none."""
    return _given({name: environment.get(f"{PREFIX}{name.upper()}") or None for name in _SIMPLE})


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _filled_in(value: Any, environment: Mapping[str, str]) -> Any:
    """Return a value of the file with its variables filled in."""
    match value:
        case str():
            return _VARIABLE.sub(lambda found: _variable(found[1], environment), value)
        case dict():
            return {key: _filled_in(each, environment) for key, each in value.items()}
        case list():
            return [_filled_in(each, environment) for each in value]
        case _:
            return value


def _variable(name: str, environment: Mapping[str, str]) -> str:
    if name not in environment:
        raise InvalidValue(f"threadkeep.toml asks for the variable {name}, which is not set")
    return environment[name]


_FLAGS: dict[str, dict[str, Any]] = {
    "--host": {"help": "the address to listen on (default: 127.0.0.1)"},
    "--port": {"type": int, "help": "the port to listen on, 0 for any free one (default: 8000)"},
    "--workers": {"metavar": "N", "help": "how many processes serve together, auto for one a core (default: 1)"},
    "--root-path": {"metavar": "PATH", "help": "the path under which a proxy serves this server, such as /threads"},
    "--store": {"metavar": "URL", "help": "where conversations are kept (default: sqlite:///threadkeep.db)"},
    "--files": {
        "metavar": "URL",
        "help": "where attached files are kept: file:///folder, s3://bucket (default: in the store)",
    },
    "--spool": {
        "dest": "spool_dir",
        "metavar": "FOLDER",
        "help": "where messages are kept while PostgreSQL is away (default: nowhere)",
    },
    "--auth": {"choices": ["none", "keys"], "help": "whether people must sign in with API keys (default: none)"},
    "--killable": {
        "action": "store_true",
        "default": None,
        "help": "let the page kill this server, which starts again, to see what is left",
    },
    "--share": {
        "action": argparse.BooleanOptionalAction,
        "help": "let people make links by which anybody can read a conversation (default: only without authentication)",
    },
    "--model": {"help": "the model that answers, such as openai:gpt-5 (default: what is found, or demo)"},
}


def add_setting_flags(parser: argparse.ArgumentParser) -> None:
    """Declare a flag for each setting that a command line sets; one that is not given is None."""
    for flag, described in _FLAGS.items():
        parser.add_argument(flag, **described)


def given_flags(arguments: argparse.Namespace) -> dict[str, object]:
    names = [described.get("dest") or flag[2:].replace("-", "_") for flag, described in _FLAGS.items()]
    return {name: getattr(arguments, name) for name in names}
