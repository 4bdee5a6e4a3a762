"""What an assistant is: instructions, tools, a context policy and, where it matters, a model. A value, no program."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from threadkeep.context.base import Policy
from threadkeep.context.build import Builder, build
from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidValue
from threadkeep.llm.base import DEFAULTS, Model, ModelOptions
from threadkeep.machine import Machine
from threadkeep.tools.registry import Registry
from threadkeep.turn.agent import Agent
from threadkeep.turn.lookup import Lookup


@dataclass(frozen=True, kw_only=True)
class Assistant:
    """An assistant.

    - `examples`: questions that a person could begin with
    - `model`: the one to use unless a conversation chooses another; `options`: temperature and the like
    - `script`: what the scripted model `demo` plays for this assistant
    - `mcp`: whether it has the tools of all configured MCP servers as well
    - `builder`: makes the context of a call from its plan; another one may change the plan, or what `build` gives
    - `lookup`: where questions are looked up
    - `machine`: the states that a guided conversation goes through
    - `erase`: removes what it keeps of a user elsewhere than in the store, and returns how many things
    - `agent`: what answers in place of the bare model, or its name (`module:name`), loaded when it is needed
    """

    name: str
    instructions: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    model: str | None = None
    options: ModelOptions = DEFAULTS
    script: Any = None
    tools: Registry = field(default_factory=Registry)
    policy: Policy = field(default_factory=Policy)
    builder: Builder = build
    iterations: int = 10
    mcp: bool = False
    lookup: Lookup | None = None
    machine: Machine | None = None
    agent: Agent | str | None = None
    erase: Callable[[Scope], int] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.agent, Agent):
            object.__setattr__(self, "tools", self.tools.plus(self.agent.tools))


ModelSource = Callable[[str | None, Assistant], Model]
"""Returns the model of that name (none: the default one) as this assistant uses it."""

AgentSource = Callable[[Assistant], Awaitable[Agent | None]]
"""Returns the agent of an assistant, none where the model alone answers."""


async def agent_of(assistant: Assistant) -> Agent | None:
    """Return the agent of an assistant, which must not be a mere name: `runtime` passes a source that loads those."""
    if isinstance(assistant.agent, str):
        raise InvalidValue(f"The agent {assistant.agent} of {assistant.name} was not loaded.")
    return assistant.agent
