"""The general assistant: it remembers, tells the time, calculates, searches one's earlier conversations, and uses the
tools of all configured MCP servers."""

from threadkeep.context.base import Policy, Window
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.chat.arithmetic import calculate
from threadkeep_assistants.chat.script import SCRIPT
from threadkeep_assistants.chat.tools import current_time, search_conversations

ASSISTANT = Assistant(
    name="chat",
    description="A general assistant: it remembers, calculates, knows the time and finds what was said before.",
    instructions=(
        "You are a helpful assistant. Answer briefly and truthfully. Use the tools for the time, for arithmetic and to "
        "look up what was said in earlier conversations; do not guess what a tool can tell."
    ),
    examples=("My name is Alice.", "What is 17 * 23?", "What time is it in Tokyo?", "What's my name?"),
    tools=Registry([current_time, calculate, search_conversations]),
    policy=Policy(window=Window.FULL),
    script=SCRIPT,
    mcp=True,
)
