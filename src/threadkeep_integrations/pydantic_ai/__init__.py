"""Pydantic AI: `load_messages` and `save_messages` keep histories here, `run_turn` makes a run of an agent a turn."""

from threadkeep_integrations.pydantic_ai.history import load_messages, save_messages
from threadkeep_integrations.pydantic_ai.running import answer, continue_turn, run_turn

__all__ = ["answer", "continue_turn", "load_messages", "run_turn", "save_messages"]
