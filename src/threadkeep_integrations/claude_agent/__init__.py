"""The Claude Agent SDK: `ClaudeSessions` keeps the transcripts of its sessions here."""

from typing import Any

__all__ = ["ClaudeSessions"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # imports the package of the SDK
        from threadkeep_integrations.claude_agent import store

        return getattr(store, name)
    raise AttributeError(name)
