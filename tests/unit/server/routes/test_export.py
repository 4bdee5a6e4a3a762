"""`GET /v1/conversations/{id}/export`: files with harmless names and their own policy, for their owner only."""

import io
import re
from base64 import b64encode
from urllib.parse import unquote

import pytest

from tests.unit.threadkeep_protocols.dialects.serving import Served, assert_problem, serving
from threadkeep.conversation.message import Message
from threadkeep.server.routes.export import POLICY
from threadkeep.testing.scripted_model import says, wants
from threadkeep.transfer.portable import Portable
from threadkeep.transfer.sources import read_items

HOSTILE = '../../\r\nSet-Cookie: x="1"; \x00CON.exe <b>日本 ünd</b>'


async def _conversation(served: Served, title: str = "Ranks") -> str:
    id = str((await served.client.post("/v1/conversations", json={"title": title})).json()["id"])
    answer = await served.client.post(f"/v1/conversations/{id}/messages", json={"content": "Which <b>?"})
    assert answer.status_code == 200, answer.text
    return id


async def test_json_holds_all_branches_and_can_be_read_back() -> None:
    call = ("call-1", "get_budget", {"cost_center": "CC-1001"})
    async with serving(says("First."), wants(call), says("Second.")) as served:
        id = await _conversation(served)
        await served.client.post(f"/v1/conversations/{id}/regenerate")
        answer = await served.client.get(f"/v1/conversations/{id}/export")
        assert answer.headers["content-type"] == "application/json"
        (read,) = read_items(io.BytesIO(answer.content), "file")
        assert isinstance(read, Portable)
        entries = list(read.entries())
        said = [entry.body for entry in entries if isinstance(entry.body, Message)]
        assert [message.content for message in said if not message.tool_calls and not message.tool_result] == [
            "Which <b>?",
            "First.",
            "Second.",
        ]
        continued = {entry.parent for entry in entries if entry.continues_branch}
        assert len([entry for entry in entries if entry.continues_branch and entry.seq not in continued]) == 2
        [result] = [message.tool_result for message in said if message.tool_result]
        assert result.duration_ms is not None


@pytest.mark.parametrize(
    ("format", "type", "ending"),
    [("json", "application/json", "json"), ("markdown", "text/markdown", "md"), ("html", "text/html", "html")],
)
async def test_every_format_is_a_file_with_a_safe_name_and_a_policy_of_its_own(
    format: str,  # noqa: A002
    type: str,  # noqa: A002
    ending: str,
) -> None:
    async with serving(says("That one.")) as served:
        id = await _conversation(served, HOSTILE)
        answer = await served.client.get(f"/v1/conversations/{id}/export", params={"format": format})
        assert answer.headers["content-type"].partition(";")[0] == type
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        match = re.fullmatch(
            r"attachment; filename=\"([\w.-]+)\"; filename\*=UTF-8''([\w.%-]+)", answer.headers["content-disposition"]
        )
        assert match is not None
        assert match[1] == f"conversation-{id}.{ending}"
        assert unquote(match[2]) == f"conversation-Set-Cookie-x-1-CON-exe-b-日本-ünd-b.{ending}"
        assert "That one." in answer.text


async def test_html_and_markdown_show_the_branch_that_is_asked_for() -> None:
    async with serving(says("First."), says("Second.")) as served:
        id = await _conversation(served)
        first = (await served.client.get(f"/v1/conversations/{id}")).json()["head"]
        await served.client.post(f"/v1/conversations/{id}/regenerate")
        for format in ("markdown", "html"):  # noqa: A001
            now = await served.client.get(f"/v1/conversations/{id}/export", params={"format": format})
            then = await served.client.get(
                f"/v1/conversations/{id}/export", params={"format": format, "head": str(first)}
            )
            assert ("First." in now.text, "Second." in now.text) == (False, True)
            assert ("First." in then.text, "Second." in then.text) == (True, False)
        missing = await served.client.get(f"/v1/conversations/{id}/export?format=html&head=999")
        assert_problem(missing, 404, "entry_not_found")


async def test_an_empty_conversation_can_be_exported_in_every_format() -> None:
    async with serving() as served:
        id = (await served.client.post("/v1/conversations")).json()["id"]
        for format in ("json", "markdown", "html"):  # noqa: A001
            answer = await served.client.get(f"/v1/conversations/{id}/export", params={"format": format})
            assert answer.status_code == 200


async def test_what_is_missing_foreign_or_of_another_format_is_refused() -> None:
    async with serving() as served:
        id = (await served.client.post("/v1/conversations", headers={"X-User": "ada"})).json()["id"]
        for headers, name in (({}, id), ({"X-User": "bob"}, id), ({"X-User": "ada"}, "nothing")):
            answer = await served.client.get(f"/v1/conversations/{name}/export", headers=headers)
            assert_problem(answer, 404, "conversation_not_found")
        other = await served.client.get(f"/v1/conversations/{id}/export?format=pdf", headers={"X-User": "ada"})
        assert_problem(other, 422, "invalid_request")


async def test_the_page_of_a_conversation_holds_its_images() -> None:
    async with serving(says("A cat.")) as served:
        png = b"\x89PNG\r\n\x1a\n and so on"
        file = (await served.client.post("/v1/files", params={"name": "cat.png"}, content=png)).json()
        id = str((await served.client.post("/v1/conversations", json={})).json()["id"])
        part = {"type": "image", "file": file["id"], "media_type": "image/png"}
        await served.client.post(f"/v1/conversations/{id}/messages", json={"content": [part]})
        page = (await served.client.get(f"/v1/conversations/{id}/export", params={"format": "html"})).text
        assert f'"src":"data:image/png;base64,{b64encode(png).decode()}"' in page
        text = (await served.client.get(f"/v1/conversations/{id}/export", params={"format": "markdown"})).text
        assert "*Attached image cat.png (image/png, 18 bytes)*" in text
