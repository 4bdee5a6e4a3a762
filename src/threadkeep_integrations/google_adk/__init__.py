"""Google's Agent Development Kit: `AdkSessions` keeps its sessions here."""

from typing import Any

__all__ = ["AdkSessions"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # imports the package of the kit
        from threadkeep_integrations.google_adk import service

        return getattr(service, name)
    raise AttributeError(name)
