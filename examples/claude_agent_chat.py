"""An agent of the Claude Agent SDK whose sessions outlive the machine: another one goes on where this one stopped.

    pip install 'threadkeep[claude-agent-sdk]'
    export ANTHROPIC_API_KEY=...
    python examples/claude_agent_chat.py "How is Oslo in November?"
    python examples/claude_agent_chat.py "And what did I ask first?"
    threadkeep serve

The SDK itself keeps sessions in files on this machine; delete them in between, and the second question is answered all
the same.
"""

import asyncio
import os
import sys

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, list_sessions_from_store, query

import threadkeep
from threadkeep_integrations.claude_agent import ClaudeSessions


async def main(question: str) -> None:
    """Ask the agent in the newest session of this folder, and print what it says."""
    async with threadkeep.open(os.environ.get("THREADKEEP_STORE", "sqlite:///threadkeep.db")) as conversations:
        store = ClaudeSessions(conversations)
        known = await list_sessions_from_store(store, directory=os.getcwd())
        options = ClaudeAgentOptions(
            session_store=store,
            resume=known[0].session_id if known else None,
            cwd=os.getcwd(),
            model=os.environ.get("ANTHROPIC_MODEL"),
            setting_sources=[],
        )
        async for message in query(prompt=question, options=options):
            if isinstance(message, ResultMessage):
                print(message.result)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2] or ["How is Oslo in November?"]))
