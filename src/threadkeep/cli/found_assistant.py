"""The assistant behind a name on the command line: `module:name` of a Python file at hand, or one that is installed."""

import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from threadkeep.errors import InvalidValue
from threadkeep.turn.assistant import Assistant

GROUP = "threadkeep.assistants"
"""The entry points by which packages offer assistants."""


def found_assistant(name: str) -> Assistant:
    """Return the assistant of that name. Raises InvalidValue saying what is wrong with it."""
    found = _from_module(*name.split(":", 1)) if ":" in name else _installed(name)
    if not isinstance(found, Assistant):
        raise InvalidValue(f"{name} is no assistant, but a {type(found).__name__}.")
    return found


def _from_module(module: str, attribute: str) -> Any:
    """Return what a module calls so; modules in the current folder are found as with `python -m`."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidValue(f"The assistant {module}:{attribute} cannot be loaded: {error}") from None
    return found


def _installed(name: str) -> Any:
    offered = {point.name: point for point in entry_points(group=GROUP)}
    if name not in offered:
        known = f"installed are {', '.join(sorted(offered))}" if offered else "none is installed"
        raise InvalidValue(f"There is no assistant named {name}; {known}. Yours is named module:name.")
    return offered[name].load()
