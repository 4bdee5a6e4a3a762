"""`@tool`: makes a tool of a typed function.

    @tool(repeatable=True)
    async def weather(city: str, days: int = 1) -> str:
        "The weather of a city."

The name comes from the function, the description from its docstring and the schema from its types. A parameter of type
`ToolContext` is passed by the engine and not shown to the model. A synchronous function runs in a thread.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, overload

from threadkeep.background import in_thread
from threadkeep.errors import InvalidValue
from threadkeep.llm.base import ToolSpec
from threadkeep.tools.base import Tool, ToolContext, ToolOutcome
from threadkeep.tools.outcome import attempt, failure, outcome_of
from threadkeep.tools.signature import Docstring, Signature

LEGAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What every provider accepts as the name of a tool."""


class FunctionTool(Tool):
    """A tool that calls a function. `function` is the original function, for tests and other code."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        repeatable: bool = False,
        needs_approval: bool = False,
        timeout: float | None = None,
    ) -> None:
        name = function.__name__ if name is None else name
        _check_callable(function, name)
        self.function = function
        self.repeatable = repeatable
        self.needs_approval = needs_approval
        self._timeout = timeout
        self._is_async = inspect.iscoroutinefunction(function)
        self._signature = Signature(function, name)
        self.spec = ToolSpec(name=name, description=Docstring.of(function).summary, parameters=self._signature.schema)

    async def run(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        timeout = context.timeout if self._timeout is None else self._timeout
        return await attempt(lambda: self._call_function(args, context), timeout)

    async def _call_function(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        try:
            bound = self._signature.check(args, context)
        except InvalidValue as error:
            return failure(str(error))
        if self._is_async:
            return outcome_of(await self.function(*bound.args, **bound.kwargs))
        return await in_thread(lambda: outcome_of(self.function(*bound.args, **bound.kwargs)))


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...


@overload
def tool(
    *, name: str | None = None, repeatable: bool = False, needs_approval: bool = False, timeout: float | None = None
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    repeatable: bool = False,
    needs_approval: bool = False,
    timeout: float | None = None,
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a tool of a typed function. Raises InvalidValue if a model could not call it.

    `repeatable` says that a call may run again after a crash, `needs_approval` that a person must agree before each
    call; `timeout` is in seconds: None is what the settings say, `math.inf` waits for ever.
    """

    def make(function: Callable[..., Any]) -> FunctionTool:
        return FunctionTool(function, name=name, repeatable=repeatable, needs_approval=needs_approval, timeout=timeout)

    return make if function is None else make(function)


def _check_callable(function: Callable[..., Any], name: str) -> None:
    if not LEGAL_NAME.fullmatch(name):
        raise InvalidValue(
            f"{name!r} cannot be the name of a tool: 1 to 64 letters, digits, '_' or '-', no digit first."
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidValue(f"The tool {name} must return its result; a generator cannot be a tool.")
