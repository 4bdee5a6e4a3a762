"""`@threadkeep/client`: the package as npm gets it, in Node and in React, against a real server."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from tests.client_package import NPM, build, size
from tests.contract import NODE
from tests.documents import ROOT, blocks_of
from tests.integration.serving import serving

HERE = Path(__file__).parent / "javascript"
MOST_BYTES = 10_100
"""What `import "@threadkeep/client"` loads, compressed; docs/howto/use-the-javascript-client.md says so."""
PATIENCE = 120


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of somebody's who has installed the package, React, and nothing else."""
    folder = tmp_path_factory.mktemp("app")
    modules = folder / "node_modules"
    (modules / "@threadkeep").mkdir(parents=True)
    build(modules / "@threadkeep" / "client")
    for name in ("react", "react-test-renderer", "scheduler", "react-is"):
        (modules / name).symlink_to(NPM / name)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


@pytest.mark.parametrize("name", sorted(path.name for path in HERE.glob("*.test.js")))
async def test_the_client_does_what_its_own_tests_say(name: str, app: Path) -> None:
    (app / name).write_text((HERE / name).read_text(encoding="utf-8"))
    async with serving(user_requests_per_second=0) as server:
        program = await asyncio.create_subprocess_exec(
            *(NODE, "--test", "--test-reporter=spec", app / name),
            env=os.environ | {"THREADKEEP_URL": server.url},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await asyncio.wait_for(program.communicate(), PATIENCE)
    assert program.returncode == 0, told.decode()


def test_what_a_page_loads_is_small_and_the_documentation_says_how_small() -> None:
    assert size() < MOST_BYTES
    assert f"{MOST_BYTES // 1000} KB" in (ROOT / "docs/howto/use-the-javascript-client.md").read_text(encoding="utf-8")


async def test_the_program_of_the_how_to_runs(app: Path) -> None:
    chat, _ = (block.text for block in blocks_of("docs/howto/use-the-javascript-client.md"))
    async with serving() as server:
        (app / "chat.js").write_text(chat.replace("http://127.0.0.1:8000", server.url).replace("tk_…", "none"))
        program = await asyncio.create_subprocess_exec(NODE, app / "chat.js", stdout=asyncio.subprocess.PIPE)
        told, _ = await asyncio.wait_for(program.communicate(), PATIENCE)
    assert program.returncode == 0
    assert "completed Nice to meet you, Ada!" in told.decode()


USER = """
import { connect, type ConversationEvent } from "@threadkeep/client";
import { useConversation } from "@threadkeep/client/react";

const threadkeep = connect("https://chat.example", { token: async () => "token" });

export async function told(id: string): Promise<string> {
  let text = "";
  for await (const event of threadkeep.conversation(id).send("Hello").events()) {
    if (event.type === "text.delta") text += event.text;
    if (event.type === "turn.failed") text += event.failure?.code;
    FAULT
  }
  return text;
}

export const titles = async (): Promise<(string | null)[]> => (await threadkeep.list()).data.map((each) => each.title);
export const useChat = () => useConversation(threadkeep, "chat").messages.map((message) => message.content.length);
export type Names = ConversationEvent["type"];
"""


@pytest.mark.parametrize(("fault", "said"), [("", ""), ("text += event.words;", "words")])
def test_its_types_are_those_of_the_contract(fault: str, said: str, app: Path) -> None:
    (app / "user.ts").write_text(USER.replace("FAULT", fault))
    options = ["--strict", "--noEmit", "--target", "esnext", "--module", "nodenext", "--lib", "esnext,dom,dom.iterable"]
    compiler = NPM / "typescript-7" / "bin" / "tsc"
    done = subprocess.run([NODE, compiler, *options, "user.ts"], capture_output=True, text=True, check=False, cwd=app)
    assert (done.returncode == 0) == (not fault), done.stdout
    assert said in done.stdout


async def test_the_example_of_a_loop_runs_and_is_typed(app: Path) -> None:
    example = (ROOT / "examples" / "own_loop.ts").read_text(encoding="utf-8")
    assert len(example.splitlines()) < 60
    (app / "own_loop.ts").write_text(example)
    (app / "process.d.ts").write_text("declare const process: { env: Record<string, string>; argv: string[] };")
    options = ["--strict", "--noEmit", "--target", "esnext", "--module", "nodenext", "--lib", "esnext,dom,dom.iterable"]
    compiler = NPM / "typescript-7" / "bin" / "tsc"
    command: list[str | Path] = [NODE, compiler, *options, "own_loop.ts", "process.d.ts"]
    typed = subprocess.run(command, capture_output=True, text=True, check=False, cwd=app)
    assert typed.returncode == 0, typed.stdout
    async with serving() as server:
        program = await asyncio.create_subprocess_exec(
            *(NODE, app / "own_loop.ts"),
            env=os.environ | {"THREADKEEP_URL": server.url},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await asyncio.wait_for(program.communicate(), PATIENCE)
        (listed,) = (await server.conversations.list()).items
        messages = await server.conversations.at(listed.scope, listed.id).messages()
    assert told.decode().splitlines() == ["user: What is 2 + 3?", "assistant: ", "tool: 5", "assistant: That makes 5."]
    assert messages[1].tool_calls[0].args == {"a": 2, "b": 3}
