"""A real MCP server for tests: `python tests/integration/mcp_server.py stdio`, or `… http PORT`.

It imports nothing of ours. `marker` names a file that a call touches, so that a test can wait until a call is running.
"""

import asyncio
import os
import sys
import threading
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

server = MCPServer("double")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=True))
def remember(key: str) -> dict[str, Any]:
    """Return something structured."""
    return {"key": key, "length": len(key)}


@server.tool()
def fail(reason: str) -> str:
    """Fail."""
    raise ToolError(reason)


@server.tool()
def process() -> int:
    """Return the id of this process."""
    return os.getpid()


@server.tool()
def picture() -> Image:
    """Return a picture."""
    return Image(data=b"\x89PNG" + bytes(4096), format="png")


@server.tool()
async def hang(marker: str) -> str:
    """Touch a file and never return."""
    Path(marker).touch()
    await asyncio.Event().wait()
    return "unreachable"


@server.tool()
async def freeze() -> str:
    """Answer nobody any more."""
    threading.Event().wait()
    return "unreachable"


@server.tool()
def die() -> str:
    """End the process without a word to the client."""
    sys.stderr.write("the server was told to die\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool()
async def grow(ctx: Context[Any]) -> str:
    """Offer one more tool, and say so."""
    server.add_tool(process, name="grown", description="A tool that came later.")
    await ctx.notify_tools_changed()
    return "grown"


@server.tool(name="a.tool/with a name that no provider would accept, and far too long for all of them")
def strange() -> str:
    """Have a strange name."""
    return "strange"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[2]))
