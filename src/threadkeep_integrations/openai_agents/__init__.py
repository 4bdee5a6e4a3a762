"""The OpenAI Agents SDK: `AgentsSession` keeps the history of its runs here, `run_turn` makes a run a turn."""

from typing import Any

from threadkeep_integrations.openai_agents.session import AgentsSession

__all__ = ["AgentsSession", "answer", "continue_turn", "run_turn"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # imports the package of the SDK
        from threadkeep_integrations.openai_agents import running

        return getattr(running, name)
    raise AttributeError(name)
