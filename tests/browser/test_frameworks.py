"""What the examples of frameworks keep stands on the page as what was said, under a name, and nothing else does."""

import asyncio
import os

import pytest
from playwright.async_api import Page, expect

from tests.anthropic_server import answering
from tests.browser.person import Person
from tests.browser.server import Server
from tests.clients import framework_python
from tests.documents import ROOT

ASKED, COLD = "How is Oslo?", "It is cold in Oslo."
EXAMPLES = {
    "claude-agent-sdk": ("claude_agent_chat.py", ASKED, [ASKED, COLD]),
    "google-adk": ("google_adk_chat.py", ASKED, [ASKED, "Cold. You have shown me 1 messages."]),
    "langchain": ("langchain_chat.py", ASKED, [ASKED, "Cold. Take a coat."]),
    "langgraph": ("langgraph_chat.py", "Tidy up, please", ["Tidy up, please.", "I would delete old.txt."]),
    "openai-agents": ("openai_agents_chat.py", "Weather", [ASKED, "Take a coat: 4 degrees and rain."]),
    "pydantic-ai": ("pydantic_ai_chat.py", "Weather", [ASKED, "Take a coat: 4 degrees and rain."]),
}
"""The example, how its conversation is called, and what is said there."""


async def run(framework: str, example: str, server: Server) -> None:
    """Run an example as its page says, on the store of a server that runs."""
    with answering(COLD) as (address, _):
        alone = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none", "ANTHROPIC_MODEL": "claude-sonnet-5"}
        alone |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CONFIG_DIR": str(server.folder / "claude")}
        program = await asyncio.create_subprocess_exec(
            framework_python(framework),
            *(ROOT / "examples" / example, ASKED),
            cwd=server.folder,
            env={**os.environ, **alone, "THREADKEEP_STORE": server.store, "OPENAI_AGENTS_DISABLE_TRACING": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await program.communicate()
        assert program.returncode == 0, told.decode()


@pytest.mark.parametrize("framework", EXAMPLES)
async def test_what_an_example_keeps_is_on_the_page(framework: str, server: Server, page: Page) -> None:
    example, title, said = EXAMPLES[framework]
    await run(framework, example, server)
    person = Person(page, server.url)
    await person.open()
    await person.row(title).get_by_role("link").click()
    await expect(person.said).to_have_text(said[:1])
    await expect(person.answers).to_have_count(1)
    await expect(person.answers).to_contain_text(said[1])
