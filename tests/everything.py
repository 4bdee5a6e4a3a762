"""Every option of a server, off and on, and the short dialogue that must work whatever is switched on.

Most defects that users met were two features that never met: so each pair of options meets here, and one lane of the
HTTP and browser suites runs with all of them on.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
Chosen = Mapping[str, Any]
Option = Callable[[Path], Chosen]

MCP_SERVER = {
    "command": sys.executable,
    "args": [str(ROOT / "tests" / "integration" / "mcp_server.py"), "stdio"],
    "approve": "destructive",
}
NOWHERE = {"url": "https://127.0.0.1:9/hook", "secret": "whsec_" + "c2VjcmV0" * 6}
"""An address that nothing may be sent to, and nothing is."""
OPTIONS: dict[str, Option] = {
    "prices": lambda _: {"prices": {"*": {"input": "1.25", "cached": "0.1", "output": "10"}}},
    "budgets": lambda _: {
        "user_turns": 100,
        "user_conversations": 10_000,
        "user_storage_bytes": 10**9,
        "user_file_bytes": 10**9,
        "tenant_turns": 1000,
        "tenant_conversations": 100_000,
        "tenant_storage_bytes": 10**10,
        "tenant_file_bytes": 10**10,
    },
    "spending": lambda _: {"budgets": {"user": {"month": 10**9}, "tenant": {"day": 10**9, "day_tokens": 10**12}}},
    "webhooks": lambda _: {"webhooks": {"targets": {"nowhere": NOWHERE}, "attempts": 1, "seconds": 1}},
    "spool": lambda folder: {"spool_dir": str(folder / "spool")},
    "files": lambda folder: {"files": f"file://{folder / 'attached'}"},
    "recall": lambda _: {"max_history_length": 4},
    "retention": lambda _: {"retention": {"abandoned_after": "30d", "time_to_live": "60d"}},
    "audit_key": lambda _: {"audit_key": "a key of sixteen bytes or more", "audit_days": 30},
    "mcp": lambda _: {"mcp": {"servers": {"double": MCP_SERVER}}},
    "rates": lambda _: {"user_requests_per_second": 10_000, "tenant_requests_per_second": 100_000},
    "share": lambda _: {"share": True},
    "protocols": lambda _: {"protocols": "all"},
    "log_content": lambda _: {"log_content": True},
}
"""By name, the settings that switch an option on. Telemetry is switched on by the environment, a login by `auth`."""


def everything(folder: Path, store: str, *, workers: int = 1) -> dict[str, Any]:
    """Return the settings with all options on; a spool is for PostgreSQL alone, and for one process alone."""
    has_spool = store.startswith("postgres") and workers == 1
    return chosen(folder, [name for name in OPTIONS if name != "spool" or has_spool]) | {"workers": workers}


def chosen(folder: Path, names: list[str]) -> dict[str, Any]:
    """Return the settings with these options on."""
    return {key: value for name in names for key, value in OPTIONS[name](folder).items()}


def _as_toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_as_toml, value))}]"
    if not isinstance(value, Mapping):
        return json.dumps(value)
    return "{" + ", ".join(f"{json.dumps(key)} = {_as_toml(inner)}" for key, inner in value.items()) + "}"


def settings_file(settings: Chosen) -> str:
    """Return the text of `threadkeep.toml` with these settings, to which tables may be added."""
    return "".join(f"{key} = {_as_toml(value)}\n" for key, value in settings.items())
