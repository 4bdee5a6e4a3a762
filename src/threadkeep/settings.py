"""The settings of a process: one frozen object, made once at the edge and handed in.

Flags win over the environment, the environment over `threadkeep.toml`, the file over the defaults. Nothing else in
Threadkeep reads the environment or the file, and nothing changes a setting after the start.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from threadkeep.errors import InvalidValue
from threadkeep.tools.mcp_config import McpServer, McpServerName

PREFIX = "THREADKEEP_"
_VARIABLE = re.compile(r"\$\{(\w+)\}")


class McpSettings(BaseModel):
    """Everything about MCP: the servers by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    servers: dict[McpServerName, McpServer] = Field(default_factory=dict)


class Settings(BaseModel):
    """What can be set. Each field is a key of `threadkeep.toml`, and the variable `THREADKEEP_<FIELD>` of the
    environment unless it is a table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store: str = Field(default="sqlite:///threadkeep.db", min_length=1)
    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=8000, ge=0, le=65535)
    model: str | None = Field(default=None, max_length=200)
    mcp: McpSettings = Field(default_factory=McpSettings)

    @property
    def store_without_secrets(self) -> str:
        """The store's URL as it may be shown: no password, no options."""
        parts = urlsplit(self.store)
        user, at, address = parts.netloc.rpartition("@")
        shown = parts._replace(netloc=f"{user.partition(':')[0]}{at}{address}", query="", fragment="")
        return shown.geturl() if parts.netloc else self.store.partition("?")[0]


def read_file(environment: Mapping[str, str]) -> dict[str, Any]:
    """Read the file that `THREADKEEP_CONFIG` names, or else `threadkeep.toml` here, if there is one.

    `${NAME}` in a text stands for a variable of the environment, so that the file needs to hold no secrets.
    """
    named = environment.get(f"{PREFIX}CONFIG")
    path = Path(named or "threadkeep.toml")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
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
    names = Settings.model_fields.keys() - {"mcp"}
    variables = {name: environment.get(f"{PREFIX}{name.upper()}") or None for name in names}
    given = {name: value for name, value in [*variables.items(), *flags.items()] if value is not None}
    try:
        return Settings.model_validate({**(file or {}), **given})
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in wrong["loc"])
        raise InvalidValue(f"the setting {place} is not valid: {wrong['msg']}") from None


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
