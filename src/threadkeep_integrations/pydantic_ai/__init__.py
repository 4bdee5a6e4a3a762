"""Pydantic AI: `load_messages` and `save_messages` keep histories here, `run_turn` makes a run of an agent a turn."""

from typing import Any

__all__ = ["answer", "continue_turn", "load_messages", "run_turn", "save_messages"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # imports the package of Pydantic AI
        from threadkeep_integrations.pydantic_ai import history, running

        return getattr(running, name, None) or getattr(history, name)
    raise AttributeError(name)
