"""An MCP server of the years before 2026-07-28, written by hand: a handshake, and notices that nobody asked for.

`python tests/integration/old_mcp_server.py`, over stdio. It knows one tool, `grow`, and after a call of it another one.
"""

import json
import sys
from typing import Any

tools = ["grow"]


def send(**message: Any) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(method: str) -> dict[str, Any] | None:
    """Return the result of a request, or nothing if the method is unknown."""
    match method:
        case "initialize":
            capabilities = {"tools": {"listChanged": True}}
            info = {"name": "old", "version": "1"}
            return {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
        case "tools/call":
            tools.append("grown")
            send(method="notifications/tools/list_changed")
            return {"content": [{"type": "text", "text": "grown"}]}
        case _:
            return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"])
    if result is None:
        send(id=request["id"], error={"code": -32601, "message": "Method not found"})
    else:
        send(id=request["id"], result=result)
