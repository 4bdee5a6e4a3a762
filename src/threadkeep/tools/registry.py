"""The tools that a turn may use, by name. A registry does not change; `plus` makes another one."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from threadkeep.errors import InvalidValue
from threadkeep.llm.base import ToolSpec
from threadkeep.tools.base import Tool, ToolOutcome
from threadkeep.tools.outcome import failure

_SHOWN_NAMES = 20


class Registry:
    """A set of tools with different names, in the order in which they were given."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.spec.name in self._tools:
                raise InvalidValue(f"Two tools are named {tool.spec.name}; give one of them another name.")
            self._tools[tool.spec.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return all tools as a model sees them."""
        return tuple(tool.spec for tool in self)

    def plus(self, found: Iterable[Tool]) -> "Registry":
        """Return a registry with further tools found while running; a name that is taken keeps its tool."""
        every = {tool.spec.name: tool for tool in found} | self._tools
        return Registry([*self, *(tool for name, tool in every.items() if name not in self._tools)])

    def unknown(self, name: str) -> ToolOutcome:
        """Return the outcome of a call of a tool that is not here: the closest names, or all there are."""
        if not self._tools:
            return failure(f"There is no tool {name!r}; no tools can be called here.")
        close = get_close_matches(name, self._tools, n=3)
        meant = f" Did you mean {' or '.join(close)}?" if close else ""
        shown = ", ".join(list(self._tools)[:_SHOWN_NAMES])
        more = f" and {len(self) - _SHOWN_NAMES} more" if len(self) > _SHOWN_NAMES else ""
        return failure(f"There is no tool {name!r}.{meant} The tools are: {shown}{more}.")
