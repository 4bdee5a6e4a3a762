"""The general assistant: remembers what was said, and uses the tools of all configured MCP servers."""

from threadkeep.turn.assistant import Assistant

ASSISTANT = Assistant(
    name="chat",
    description="A general assistant with the tools of all configured MCP servers.",
    instructions="You are a helpful assistant. Answer briefly and truthfully.",
    examples=("My name is Alice.", "What's my name?", "What can you do?"),
    mcp=True,
)
