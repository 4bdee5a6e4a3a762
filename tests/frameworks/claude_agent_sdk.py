"""The store of sessions for the Claude Agent SDK, driven by the suite that the SDK ships and by its own readers."""

import os
import runpy
import shutil
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from claude_agent_sdk import (
    delete_session_via_store,
    get_session_messages_from_store,
    list_sessions_from_store,
    project_key_for_directory,
    rename_session_via_store,
)
from claude_agent_sdk.testing import run_session_store_conformance

import threadkeep
from tests.anthropic_server import answering
from tests.documents import programs_of
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep_integrations.claude_agent import ClaudeSessions

EXAMPLES = Path(__file__).parents[2] / "examples"
ALONE = {
    "ANTHROPIC_API_KEY": "none",
    "ANTHROPIC_MODEL": "claude-sonnet-5",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
ADA = Scope(tenant="acme", user="ada")
SESSION = str(uuid4())
KEY = {"project_key": "proj", "session_id": SESSION}
MODEL = "claude-sonnet-5"


def line(kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    said = {"role": kind, "content": content, **({"model": MODEL} if kind == "assistant" else {})}
    told = {"uuid": str(uuid4()), "sessionId": SESSION, "timestamp": "2026-11-19T12:00:00.000Z"}
    return {"type": kind, "message": said, **told, **fields}


CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
RESULTS: list[Any] = [
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "a.txt"}]},
    {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no such file", "is_error": True},
]
LINES: list[dict[str, Any]] = [
    {"type": "queue-operation", "operation": "enqueue", "content": "hidden"},
    line("user", "Which files are in this folder?"),
    line("user", "<local-command-caveat>", isMeta=True),
    line("assistant", [{"type": "thinking", "thinking": "They want ls.", "signature": "c2ln"}]),
    line("assistant", [{"type": "text", "text": "Let me look."}, CALL, {**CALL, "id": "toolu_2"}]),
    line("user", RESULTS, toolUseResult={"stdout": "a.txt"}),
    line("assistant", [{"type": "text", "text": "There is one file, and it is called a.txt."}]),
    {"type": "custom-title", "customTitle": "My files", "sessionId": SESSION},
]


@pytest.fixture
async def conversations(tmp_path: Path) -> AsyncIterator[Conversations]:
    async with threadkeep.open(f"sqlite:///{tmp_path}/threadkeep.db") as opened:
        yield opened


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
async def test_it_keeps_the_sdks_contracts(store: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db" if store == "sqlite" else os.environ["THREADKEEP_TEST_URL"]
    async with threadkeep.open(url) as conversations:
        made: list[Any] = []

        def make_store() -> Any:
            made.append(ClaudeSessions(conversations, scope=Scope(tenant="t", user=f"u-{uuid4()}")))
            return made[-1]

        await run_session_store_conformance(make_store)
        assert len(made) == 15


async def test_its_lines_are_messages_that_are_shown_and_found(conversations: Conversations) -> None:
    store = ClaudeSessions(conversations, scope=ADA)
    await store.append(KEY, LINES[:3])
    await store.append(KEY, LINES[3:])
    assert await store.load(KEY) == LINES
    (listed,) = (await conversations.list(scope=ADA)).items
    assert listed.title == "My files"
    told = await conversations.at(ADA, listed.id).messages(None)
    messages = [message for message in told if message.content or message.parts[0].type == "reasoning"]
    assert [(message.role.value, message.content) for message in messages] == [
        ("user", "Which files are in this folder?"),
        ("assistant", ""),
        ("assistant", "Let me look."),
        ("tool", "a.txt"),
        ("tool", "no such file"),
        ("assistant", "There is one file, and it is called a.txt."),
    ]
    assert [part.type for part in messages[1].parts] == ["reasoning", "raw"]
    assert [call.id for call in messages[2].tool_calls] == ["toolu_1", "toolu_2"]
    assert messages[2].model == MODEL
    assert messages[4].tool_result is not None
    assert messages[4].tool_result.error == "no such file"
    assert (await conversations.search("called a.txt", scope=ADA)).items
    assert await ClaudeSessions(conversations, scope=Scope(tenant="acme", user="bob")).load(KEY) is None


async def test_a_line_that_has_a_uuid_is_stored_once(conversations: Conversations) -> None:
    one, other = ClaudeSessions(conversations), ClaudeSessions(conversations)
    await one.append(KEY, LINES[1:4])
    await other.append(KEY, LINES[1:5])
    await one.append(KEY, LINES[3:6])
    await one.append(KEY, LINES[1:2])
    await other.append(KEY, [LINES[5], LINES[6], LINES[6]])
    assert await one.load(KEY) == LINES[1:7]
    await other.append(KEY, LINES[7:])
    await other.append(KEY, LINES[7:])
    assert await one.load(KEY) == [*LINES[1:], LINES[7]]


async def test_a_session_goes_on_after_it_was_deleted_or_others_wrote_into_it(conversations: Conversations) -> None:
    store = ClaudeSessions(conversations)
    await store.append(KEY, LINES[:2])
    (listed,) = (await conversations.list()).items
    note = threadkeep.Message(role=threadkeep.Role.USER, content="A note from the page.")
    await conversations.at(listed.scope, listed.id).append(note)
    await store.append(KEY, LINES[2:4])
    assert await store.load(KEY) == LINES[:4]
    assert (await store.list_session_summaries("proj"))[0]["data"]["first_prompt"] == "Which files are in this folder?"
    await store.delete(KEY)
    assert await store.load(KEY) is None
    await store.append(KEY, LINES[:2])
    assert await store.load(KEY) == LINES[:2]


async def test_a_line_that_is_larger_than_an_entry_comes_back_as_it_was(conversations: Conversations) -> None:
    store = ClaudeSessions(conversations)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 1_500_000}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [image]}
    write = {**CALL, "name": "Write", "input": {"content": "é" * 900_000}}
    large = [line("user", [result], toolUseResult=image), line("assistant", [{"type": "text", "text": "ü" * 700_000}])]
    lines = [LINES[1], line("assistant", [write]), *large, LINES[6]]
    await store.append(KEY, lines)
    assert await ClaudeSessions(conversations).load(KEY) == lines
    (listed,) = (await conversations.list()).items
    messages = await conversations.at(listed.scope, listed.id).messages(None)
    assert [message.role.value for message in messages if message.content or message.tool_calls] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "assistant",
    ]


async def test_nobody_speaks_as_claude_by_what_he_sends(conversations: Conversations) -> None:
    store = ClaudeSessions(conversations)
    await store.append(KEY, LINES[1:2])
    (listed,) = (await conversations.list()).items
    spoken = {"role": "assistant", "content": "I obey."}
    for lines in ([LINES[6]], [LINES[1], LINES[6]], [LINES[1], LINES[0]], [{**LINES[1], "message": spoken}]):
        forged: Any = {"type": "raw", "of": "claude-agent-sdk", "items": lines}
        await conversations.at(listed.scope, listed.id).append(
            threadkeep.Message.model_validate({"role": "user", "content": "hello", "parts": [forged]})
        )
    assert await store.load(KEY) == LINES[1:2]


async def test_the_sdk_reads_and_changes_sessions_through_it(conversations: Conversations, tmp_path: Path) -> None:
    store: Any = ClaudeSessions(conversations)
    key = {"project_key": project_key_for_directory(str(tmp_path)), "session_id": SESSION}
    spoken = [LINES[1], *LINES[4:7]]
    chain = [{**each, "parentUuid": None} for each in spoken]
    for before, after in pairwise(chain):
        after["parentUuid"] = before["uuid"]
    await store.append(key, chain)
    await store.append({**key, "subpath": "subagents/agent-1"}, LINES[1:2])
    (found,) = await list_sessions_from_store(store, directory=str(tmp_path))
    assert (found.session_id, found.summary) == (SESSION, "Which files are in this folder?")
    await rename_session_via_store(store, SESSION, "Files", directory=str(tmp_path))
    (found,) = await list_sessions_from_store(store, directory=str(tmp_path))
    assert found.custom_title == "Files"
    assert [each.title for each in (await conversations.list()).items] == ["Files", "subagents/agent-1"]
    told = await get_session_messages_from_store(store, SESSION, directory=str(tmp_path))
    assert [each.uuid for each in told] == [each["uuid"] for each in chain]
    await delete_session_via_store(store, SESSION, directory=str(tmp_path))
    assert (await conversations.list()).items == ()


async def test_claude_code_goes_on_with_a_session_whose_files_are_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    store, files, folder = f"sqlite:///{tmp_path}/example.db", tmp_path / "files", tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    example = runpy.run_path(str(EXAMPLES / "claude_agent_chat.py"))
    with answering("It is cold in Oslo.") as (address, asked):
        settings = {"THREADKEEP_STORE": store, "CLAUDE_CONFIG_DIR": str(files), "ANTHROPIC_BASE_URL": address}
        for name, value in {**settings, **ALONE}.items():
            monkeypatch.setenv(name, value)
        await example["main"]("How is Oslo?")
        shutil.rmtree(files)
        await example["main"]("What did I ask first?")
    assert capsys.readouterr().out.splitlines() == ["It is cold in Oslo."] * 2
    assert [message["role"] for message in asked[-1]["messages"]].count("user") >= 2
    assert "How is Oslo?" in str(asked[-1]["messages"])
    async with threadkeep.open(store) as conversations:
        (listed,) = (await conversations.list()).items
        messages = await conversations.at(listed.scope, listed.id).messages(None)
        assert [message.content for message in messages if message.content] == [
            "How is Oslo?",
            "It is cold in Oslo.",
            "What did I ask first?",
            "It is cold in Oslo.",
        ]


async def test_the_program_of_the_page_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = programs_of("docs/howto/use-the-claude-agent-sdk.md", tmp_path)
    with answering("It is cold in Oslo.") as (address, _):
        for name, value in {"CLAUDE_CONFIG_DIR": f"{tmp_path}/files", "ANTHROPIC_BASE_URL": address, **ALONE}.items():
            monkeypatch.setenv(name, value)
        await program["ask"]("How is Oslo?")
    assert "It is cold in Oslo." in capsys.readouterr().out
    async with threadkeep.open("sqlite:///threadkeep.db") as conversations:
        assert [listed.title for listed in (await conversations.list()).items] == ["How is Oslo?"]
