"""`threadkeep config`: every setting, its value and where it came from. Passwords and the like are never shown."""

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from threadkeep.cli.settings_loading import PREFIX, add_setting_flags, file_path, given_flags, load_settings, origins
from threadkeep.cli.trust import read_trusted_file
from threadkeep.retention.rules import Retention
from threadkeep.settings import Settings
from threadkeep.tools.mcp import McpServer

HIDDEN = "(hidden)"


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    add_setting_flags(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_config(arguments: argparse.Namespace) -> int:
    flags, file = given_flags(arguments), read_trusted_file(os.environ)
    settings = load_settings(os.environ, flags, file)
    known = origins(os.environ, flags, file)
    rows = [
        (name, value, known[name] if name in known else _origin_in_table(name, file, known))
        for name, value in shown(settings)
    ]
    if arguments.json:
        print(json.dumps({name: {"value": value, "source": source} for name, value, source in rows}, indent=2))
        return 0
    texts = [(name, _value_as_text(value), source) for name, value, source in rows]
    widths = [max(len(row[column]) for row in texts) for column in (0, 1)]
    for name, value, source in texts:
        print(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {source}")
    return 0


def _origin_in_table(name: str, file: Mapping[str, Any], known: Mapping[str, str]) -> str:
    """Return where a value with a dotted name comes from: a variable, or a table in the file, often in part."""
    if (variable := known[name.partition(".")[0]]).startswith(PREFIX):
        return variable
    found: Any = file
    for part in name.split("."):
        if isinstance(found, Mapping) and part not in found:
            return "default"
        found = found[part] if isinstance(found, Mapping) else found
    return str(file_path(os.environ))


def shown(settings: Settings) -> Iterator[tuple[str, Any]]:
    """Yield each setting that may be shown with its value; those of a table have dotted names."""
    for name in Settings.model_fields:
        value = settings.store_without_secrets if name == "store" else getattr(settings, name)
        yield from _shown_values(name, value)


def _shown_values(name: str, value: object) -> Iterator[tuple[str, Any]]:
    match value:
        case McpServer():
            yield from _shown_server(name, value)
        case Retention():
            yield from _shown_values(name, value.resolved().model_dump(mode="json"))
        case BaseModel():
            for field in type(value).model_fields:
                yield from _shown_values(f"{name}.{field}", getattr(value, field))
        case dict() if not value:
            yield name, []
        case dict():
            for key, each in value.items():
                yield from _shown_values(f"{name}.{key}", each)
        case SecretStr():
            yield name, HIDDEN
        case tuple():
            yield name, list(value)
        case _:
            yield name, value


def _shown_server(name: str, server: McpServer) -> Iterator[tuple[str, Any]]:
    """Yield how a server is reached; arguments, variables and headers may hold secrets."""
    if server.command is not None:
        yield f"{name}.command", server.command
    if server.url is not None:
        parts = urlsplit(server.url)
        yield f"{name}.url", parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    if server.args:
        yield f"{name}.args", HIDDEN
    for table, values in (("env", server.env), ("headers", server.headers)):
        for key in values:
            yield f"{name}.{table}.{key}", HIDDEN
    yield f"{name}.approve", server.approve
    yield f"{name}.allow", list(server.allow)
    yield f"{name}.timeout", server.timeout


def _value_as_text(value: object) -> str:
    match value:
        case None | []:
            return "-"
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(str, value))
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return str(value)
