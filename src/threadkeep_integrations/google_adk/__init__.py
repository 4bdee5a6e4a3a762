"""Google's Agent Development Kit: `AdkSessions` keeps its sessions here."""

from threadkeep_integrations.google_adk.service import AdkSessions

__all__ = ["AdkSessions"]
