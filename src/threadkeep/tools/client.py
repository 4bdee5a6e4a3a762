"""Tools that a client runs: the model sees them like any other, and a turn waits for the result of a call."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from threadkeep.conversation.turn import ClientTool
from threadkeep.errors import InvalidValue
from threadkeep.llm.base import ToolSpec
from threadkeep.tools.base import Tool, ToolContext, ToolOutcome
from threadkeep.tools.outcome import failure
from threadkeep.tools.registry import Registry

MOST_CLIENT_TOOLS = 128
LARGEST_DEFINITIONS = 128 * 1024
"""Characters of the definitions of all tools of a client together, as JSON."""


class AwaitedTool(Tool):
    """A tool whose calls wait for the client that runs it."""

    needs_approval = True

    def __init__(self, tool: ClientTool) -> None:
        self.spec = ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)

    async def run(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Tell the model that nobody ran the call."""
        return failure("The client gave no result.")


def client_tools(given: Iterable[ClientTool | Mapping[str, Any]], known: Registry) -> tuple[ClientTool, ...]:
    """Return the definitions of tools that a client sent, which must have names of their own."""
    try:
        tools = tuple(ClientTool.model_validate(tool) for tool in given)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InvalidValue(f"A tool has no valid {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}.") from None
    if len(tools) > MOST_CLIENT_TOOLS:
        raise InvalidValue(f"A message brings at most {MOST_CLIENT_TOOLS} tools.")
    if sum(len(json.dumps(tool.model_dump())) for tool in tools) > LARGEST_DEFINITIONS:
        raise InvalidValue(f"The definitions of tools have at most {LARGEST_DEFINITIONS} characters together.")
    names = [tool.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue(f"Two tools are named {name}; give one of them another name.")
        if known.get(name) is not None:
            raise InvalidValue(f"The server has a tool named {name} already; give yours another name.")
    return tools
