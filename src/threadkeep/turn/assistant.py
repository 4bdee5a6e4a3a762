"""What an assistant is: instructions, tools, a context policy and, where it matters, a model. A value, no program."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from threadkeep.context.base import Policy, Processor
from threadkeep.context.standard import STANDARD
from threadkeep.llm.base import Model
from threadkeep.tools.registry import Registry


@dataclass(frozen=True, kw_only=True)
class Assistant:
    """An assistant. `model` names the one to use unless a conversation chooses another; `script` is what the scripted
    model `demo` plays for this assistant; `examples` are questions that a person could begin with; `mcp` gives it the
    tools of all configured MCP servers as well."""

    name: str
    instructions: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    model: str | None = None
    script: Any = None
    tools: Registry = field(default_factory=Registry)
    policy: Policy = field(default_factory=Policy)
    processors: tuple[Processor, ...] = STANDARD
    iterations: int = 10
    mcp: bool = False


ModelSource = Callable[[str | None, Assistant], Model]
"""Returns the model of that name (none: the default one) as this assistant uses it."""
