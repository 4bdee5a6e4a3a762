"""The Claude Agent SDK: `ClaudeSessions` keeps the transcripts of its sessions here."""

from threadkeep_integrations.claude_agent.store import ClaudeSessions

__all__ = ["ClaudeSessions"]
