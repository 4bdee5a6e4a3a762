"""LangGraph's checkpoints in the log of a conversation: a thread is a conversation."""

from threadkeep.errors import PackageMissing

try:
    from threadkeep_integrations.langgraph.checkpointer import LogCheckpointer
except ImportError:
    raise PackageMissing("LangGraph's checkpoints need a package: pip install 'langgraph>=1.2'") from None

__all__ = ["LogCheckpointer"]
