"""Past conversations as a memory, over MCP: what Claude, ChatGPT or Cursor do with `/mcp`, as a program.

    pip install mcp
    python examples/mcp_memory.py http://127.0.0.1:8000/mcp [KEY]

It asks an assistant, keeps a note beside the answer, and finds the note again.
"""

import asyncio
import sys
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; what it refuses is an error that says why."""
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        raise RuntimeError(getattr(result.content[0], "text", "no answer"))
    answered: dict[str, Any] = result.structured_content
    return answered


async def main(url: str, key: str | None = None) -> None:
    """Ask, note, find and read."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        answer = await call(client, "send_message", text="My name is Alice.", key="introduction")
        print("answer:", answer["answer"].splitlines()[0])
        note = "Decided: the library closes at eight."
        await call(client, "append_note", text=note, conversation=answer["conversation"], key="decision")
        found = await call(client, "search_conversations", query="library closes")
        print("found:", found["hits"][0]["snippet"])
        page = await client.read_resource(f"threadkeep://conversation/{answer['conversation']}")
        print("read:", getattr(page.contents[0], "text", "").splitlines()[0])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
