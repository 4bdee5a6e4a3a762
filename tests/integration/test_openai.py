"""OpenAI's API as its users have it: the official client of PyPI, sync and async, against a real server."""

import asyncio
import base64
import json
import random
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.clients import NODE, node_tests
from tests.clients import client as npm_client
from tests.documents import ROOT, blocks_of
from tests.integration.breaking import Breaking, Breaks, places
from tests.integration.killable import Killable, killable
from tests.integration.obliging import obliging
from tests.integration.serving import Server, serving

CUTS = places(100)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"
LOCATE: Any = {
    "type": "function",
    "name": "locate",
    "description": "Where a place is.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    "strict": False,
}
Client = Any
"""An `AsyncOpenAI`: what its methods return are unions that each test would have to take apart."""


_open: list[AsyncOpenAI] = []


@pytest.fixture(autouse=True)
async def _closed_clients() -> AsyncIterator[None]:
    yield
    while _open:
        await _open.pop().close()


def client(url: str, breaks: Breaks | None = None, retries: int = 0, key: str = "none") -> Client:
    """Return the official client; it is closed after the test."""
    http = None if breaks is None else httpx2.AsyncClient(transport=Breaking(breaks))
    made = AsyncOpenAI(base_url=f"{url}/openai/v1", api_key=key, max_retries=retries, http_client=http)
    _open.append(made)
    return made


def plain(output: Any) -> list[dict[str, Any]]:
    """Return items as they came over the wire."""
    return [item.to_dict(mode="json") for item in output]


class Told:
    """What a client has of a response, from as many streams as it took."""

    def __init__(self) -> None:
        self.items: dict[int, Any] = {}
        self.texts: dict[int, str] = {}
        self.id, self.number = "", -1
        self.response: Any = None

    def take(self, event: Any) -> None:
        assert event.sequence_number > self.number
        self.number = event.sequence_number
        match event.type:
            case "response.output_item.added":
                assert event.output_index == len(self.items)
                self.items[event.output_index], self.texts[event.output_index] = event.item, ""
            case "response.output_text.delta" | "response.reasoning_summary_text.delta":
                self.texts[event.output_index] += event.delta
            case "response.output_text.done" | "response.reasoning_summary_text.done":
                assert self.texts[event.output_index] == event.text
            case "response.output_item.done":
                self.items[event.output_index] = event.item
            case "response.created" | "response.completed" | "response.failed" | "response.incomplete":
                self.id, self.response = event.response.id, event.response

    @property
    def is_whole(self) -> bool:
        return self.response is not None and self.response.status != "in_progress"

    async def is_log(self, whole: Client) -> None:
        """Check that it is what the server has."""
        assert self.response is not None
        stored = await whole.responses.retrieve(self.id)
        assert plain(self.items[at] for at in sorted(self.items)) == plain(stored.output) == plain(self.response.output)
        assert stored.status == self.response.status
        items = [item async for item in whole.conversations.items.list(stored.conversation.id, order="asc")]
        shown = {item["id"]: item for item in plain(items)}
        assert all(shown[item["id"]] == item for item in plain(stored.output) if item["type"] != "mcp_approval_request")


async def whole_of(told: Told, weak: Client, ask: Callable[[], Awaitable[Any]]) -> None:
    """Take a response to its end, however often the stream breaks off."""
    while not told.is_whole:
        try:
            stream = await (
                weak.responses.retrieve(told.id, stream=True, starting_after=told.number) if told.id else ask()
            )
            async with aclosing(stream) as events:
                async for event in events:
                    told.take(event)
        except openai.APIConnectionError:
            continue


async def test_it_is_a_client_as_any_other(lane: str) -> None:
    async with obliging(lane) as server:
        ask = client(server.url)
        assert [model.id async for model in ask.models.list()] == ["helper", "other"]
        assert (await ask.models.retrieve("other")).owned_by == "threadkeep"
        first = await ask.responses.create(model="helper", input="one", metadata={"page": "3"})
        assert (first.output_text, first.status, first.metadata) == ("one ", "completed", {"page": "3"})
        second = await ask.responses.create(model="helper", input="two", previous_response_id=first.id)
        assert second.previous_response_id == first.id
        third = await ask.responses.create(model="helper", input="zwei", previous_response_id=first.id)
        assert third.conversation == second.conversation == first.conversation
        assert (await said(ask, third)) == ["one", "one ", "zwei", "zwei "], "a branch beside the second"
        fourth = await ask.responses.create(model="other", input="three", conversation=third.conversation.id)
        assert fourth.model == "other"
        assert (await said(ask, fourth)) == ["one", "one ", "zwei", "zwei ", "three", "three "]
        read = await ask.responses.retrieve(second.id)
        assert (read.output_text, read.previous_response_id) == ("two ", first.id)
        asked = await ask.responses.input_items.list(first.id)
        assert [item.content[0].text for item in asked.data] == ["one"]


async def said(ask: Client, response: Any) -> list[str]:
    """Return the texts of a conversation."""
    items = [item async for item in ask.conversations.items.list(response.conversation.id, order="asc", limit=2)]
    return [item.content[0].text for item in items if item.type == "message"]


async def test_the_stream_helpers_have_the_whole_answer_sync_and_async() -> None:
    asked = "think\nuse look stumble\ncount 9"
    async with obliging() as server:

        def blocking() -> Any:
            ask = OpenAI(base_url=f"{server.url}/openai/v1", api_key="none", max_retries=0)
            with ask.responses.stream(model="helper", input=asked) as stream:
                texts = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
                found = stream.get_final_response()
            assert found.output_text == texts
            with ask.responses.stream(response_id=found.id, starting_after=30) as stream:
                assert all(event.sequence_number > 30 for event in stream)
                assert plain(stream.get_final_response().output) == plain(found.output)
            return found

        found = await asyncio.to_thread(blocking)
        assert [item.type for item in found.output] == ["reasoning", "message", "mcp_call", "mcp_call", "message"]
        assert [item.status for item in found.output if item.type == "mcp_call"] == ["completed", "failed"]
        assert found.output[0].summary[0].text == "Let me think."
        async with client(server.url).responses.stream(model="helper", input=asked) as stream:
            async for _ in stream:
                pass
            again = await stream.get_final_response()
        assert again.output_text == found.output_text
        assert again.usage == found.usage


async def test_a_response_cut_at_any_byte_is_whole_in_the_end() -> None:
    chance = random.Random(7)
    async with obliging(pace=0.0005) as server:
        whole, left = client(server.url), CUTS
        while left > 0:
            broken = 0

            def breaks(request: httpx2.Request) -> int | None:
                nonlocal broken
                broken += 1
                return chance.randrange(2500) if broken <= 20 else None

            weak, key = client(server.url, breaks), {"Idempotency-Key": f"ask-{left}"}
            told = Told()
            question = {"model": "helper", "input": "think\nuse look stumble\ncount 20", "extra_headers": key}
            await whole_of(told, weak, partial(weak.responses.create, stream=True, **question))
            await told.is_log(whole)
            assert told.response.output_text.count(" 18 ") == 1
            left -= broken
        listed = (await server.client.get("/v1/conversations?limit=200")).json()["data"]
        assert len(listed) < CUTS / 2, "each was asked once"


async def test_two_readers_and_one_that_left_have_the_same() -> None:
    async with obliging(pace=0.002) as server:
        ask = client(server.url)
        begun = await ask.responses.create(model="helper", input="think\nuse look\ncount 60", background=True)
        assert (begun.status, begun.background) == ("in_progress", True)
        readers = [Told() for _ in range(3)]

        async def read(told: Told) -> None:
            async for event in await ask.responses.retrieve(begun.id, stream=True):
                told.take(event)

        await asyncio.gather(*map(read, readers))
        for told in readers:
            await told.is_log(ask)
            assert told.texts == readers[0].texts


async def test_a_server_killed_in_mid_answer_goes_on_and_its_clients_with_it(tmp_path: Path) -> None:
    async with killable(tmp_path, pace=0.02) as server:
        ask, told = client(server.url), Told()
        waiting = asyncio.create_task(client(server.url, retries=60).responses.create(model="helper", input="count 40"))
        stream = await ask.responses.create(model="helper", input="think\nuse look\ncount 30", stream=True)

        async def read_and_kill() -> None:
            async for event in stream:
                told.take(event)
                if any(" 9 " in text for text in told.texts.values()):
                    await server.kill()

        with pytest.raises(openai.APIConnectionError):
            await read_and_kill()
        await server.start()
        await whole_of(told, ask, lambda: pytest.fail("its id is known"))
        await told.is_log(ask)
        assert re.search(r" 8 9 [\d ]*\[Threadkeep: Your previous answer was cut off", told.response.output_text)
        # Who did not stream, and whose client sent the request again, gets the answer to the first one.
        answered = await waiting
        assert answered.output_text.startswith("0 1 2 ")
        assert [item.content[0].text async for item in ask.responses.input_items.list(answered.id)] == ["count 40"]
        async with httpx.AsyncClient(base_url=server.url) as http:
            assert len((await http.get("/v1/conversations")).json()["data"]) == 2


async def test_a_request_that_the_client_sends_again_is_not_asked_twice(lane: str) -> None:
    async with obliging(lane, pace=0.002) as server:
        whole = client(server.url)
        for streams in (False, True):
            first = await whole.responses.create(model="helper", input=f"begin {streams}")
            conversation = first.conversation.id
            for where in ({}, {"conversation": conversation}, {"previous_response_id": first.id}):
                weak = client(server.url, partial(_next, iter((0, 0, None))), retries=2)
                told = await weak.responses.create(model="helper", input="count 30", stream=streams, **where)
                last = [event async for event in told][-1].response if streams else told
                assert last.output_text.endswith(" 29 ")
                texts = await said(whole, last)
                assert texts.count("count 30") == 1, where or "a new conversation"
            again = [await whole.responses.create(model="helper", input="yes", conversation=conversation) for _ in "12"]
            assert again[0].id != again[1].id, "the same once more is another question"
            keyed = [
                await whole.responses.create(
                    model="helper", input="yes", extra_headers={"Idempotency-Key": f"k{streams}"}
                )
                for _ in "12"
            ]
            assert keyed[0].id == keyed[1].id


def _next(breaks: Iterator[int | None], request: httpx2.Request) -> int | None:
    return next(breaks)


async def test_function_tools_are_run_by_the_client() -> None:
    async with obliging() as server:
        ask = client(server.url)
        for named in ("previous_response_id", "conversation"):
            asked = await ask.responses.create(model="helper", input="use locate locate\ndone", tools=[LOCATE])
            calls = [item for item in asked.output if item.type == "function_call"]
            assert [call.arguments for call in calls] == ['{"place":"hall 0"}', '{"place":"hall 1"}']
            where: dict[str, Any] = {named: asked.id if named != "conversation" else asked.conversation.id}
            outputs: list[Any] = [
                {"type": "function_call_output", "call_id": call.call_id, "output": f"Oslo {at}"}
                for at, call in enumerate(calls)
            ]
            for wrong in (outputs[:1], "something else", [{**outputs[0], "call_id": "nobody's"}]):
                with pytest.raises(openai.BadRequestError, match=r"tool|call"):
                    await ask.responses.create(model="helper", input=wrong, tools=[LOCATE], **where)
            answers = [
                await ask.responses.create(model="helper", input=outputs, tools=[LOCATE], **where) for _ in range(2)
            ]
            assert answers[0].output_text == "done [Oslo 0][Oslo 1]"
            assert answers[0] == answers[1]
            assert answers[0].previous_response_id == asked.id
            given = [item async for item in ask.responses.input_items.list(answers[0].id, order="asc")]
            assert [item.output for item in given] == ["Oslo 0", "Oslo 1"]
            assert plain((await ask.responses.retrieve(asked.id)).output) == plain(asked.output)


async def test_a_transcript_that_is_sent_again_is_stored_once() -> None:
    async with obliging() as server:
        ask = client(server.url)
        told: list[Any] = [{"role": "user", "content": "think\nuse look locate\ndone"}]
        for _ in range(2):
            last = await ask.responses.create(model="helper", input=told, tools=[LOCATE], instructions="Be kind.")
            told += plain(last.output)
            outputs = [
                {"type": "function_call_output", "call_id": item.call_id, "output": "Oslo"}
                for item in last.output
                if item.type == "function_call"
            ]
            told += outputs or [{"role": "user", "content": "more"}]
        last = await ask.responses.create(model="helper", input=told, instructions="Be kind.")
        items = [item async for item in ask.conversations.items.list(last.conversation.id, order="asc")]
        assert [getattr(item, "role", item.type) for item in items] == [
            *("user", "reasoning", "assistant", "function_call", "mcp_call", "function_call_output"),
            *("assistant", "user", "assistant"),
        ]
        assert len((await server.client.get("/v1/conversations")).json()["data"]) == 1
        changed = [{"role": "user", "content": "Something else."}, *told[1:]]
        for other in (changed, told[1:], [*told[:-2], {**told[-2], "content": []}, told[-1]]):
            begun = await ask.responses.create(model="helper", input=other, tools=[LOCATE])
            assert begun.conversation != last.conversation, "another history is another conversation"
            assert begun.output_text == "more "


async def test_another_agent_may_go_on_with_the_results() -> None:
    async with obliging() as server:
        ask = client(server.url)
        asked = await ask.responses.create(
            model="helper", instructions="Be first.", input="use locate\ndone", tools=[LOCATE]
        )
        output: Any = {"type": "function_call_output", "call_id": "locate-0-0", "output": "Oslo"}
        answered = await ask.responses.create(
            model="other",
            instructions="Be second.",
            previous_response_id=asked.id,
            input=[output, {"role": "user", "content": "and now?"}],
            tools=[{**LOCATE, "name": "find"}],
        )
        assert (answered.model, answered.output_text) == (
            "other",
            "[Threadkeep: instructions given at this point: Be second.] and now? ",
        )
        items = [item async for item in ask.conversations.items.list(asked.conversation.id, order="asc")]
        assert [getattr(item, "role", item.type) for item in items] == [
            *("user", "assistant", "function_call", "function_call_output", "system", "user", "assistant")
        ]


async def test_approvals_are_asked_for_and_given() -> None:
    async with obliging() as server:
        ask = client(server.url)
        for approve, state in ((True, "completed"), (False, "failed")):
            asked = await ask.responses.create(model="helper", input="use look remove\ndone")
            (request,) = [item for item in asked.output if item.type == "mcp_approval_request"]
            assert (request.name, request.server_label) == ("remove", "threadkeep")
            decision: Any = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": approve}
            answers = [
                await ask.responses.create(model="helper", previous_response_id=asked.id, input=[decision])
                for _ in range(2)
            ]
            assert answers[0] == answers[1]
            states = {item.name: item.status for item in answers[0].output if item.type == "mcp_call"}
            assert states == {"look": "completed", "remove": state}
            assert answers[0].output_text.startswith("done ")


async def test_files_and_images_go_in_and_instructions_hold() -> None:
    async with obliging() as server:
        ask = client(server.url)
        data = base64.b64encode(b"Some words.").decode()
        content: Any = [
            {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
            {"type": "input_file", "filename": "a.txt", "file_data": f"data:text/plain;base64,{data}"},
            {"type": "input_text", "text": "look"},
        ]
        asked = await ask.responses.create(
            model="helper", input=[{"role": "user", "content": content}], instructions="Be kind.", temperature=0.5
        )
        assert (asked.instructions, asked.temperature) == ("Be kind.", 0.5)
        (item,) = (await ask.responses.input_items.list(asked.id)).data
        image, file, _ = item.content
        kept = await server.client.get(image.image_url)
        assert base64.b64encode(kept.content).decode() == PIXEL
        again: Any = [{"type": "input_file", "file_id": file.file_id}, {"type": "input_text", "text": "again"}]
        more = await ask.responses.create(
            model="helper",
            input=[{"role": "user", "content": again}],
            instructions="Be kind.",
            previous_response_id=asked.id,
        )
        items = await ask.conversations.items.list(more.conversation.id)
        assert len(items.data) == 4, "the same instructions are not said again"


async def test_conversations_have_items() -> None:
    async with obliging() as server:
        ask = client(server.url)
        made = await ask.conversations.create(
            metadata={"topic": "halls"},
            items=[{"role": "user", "content": "before"}, {"role": "assistant", "content": "indeed"}],
        )
        added = await ask.conversations.items.create(
            made.id,
            items=[
                {"type": "function_call", "call_id": "c", "name": "locate", "arguments": '{"place":"hall"}'},
                {"type": "function_call_output", "call_id": "c", "output": "Oslo"},
            ],
        )
        assert [item.type for item in added.data] == ["function_call", "function_call_output"]
        await ask.responses.create(model="helper", conversation=made.id, input="after")
        items = [item async for item in ask.conversations.items.list(made.id, order="asc", limit=1)]
        assert [item.type for item in items] == ["message"] * 2 + ["function_call", "function_call_output"] + [
            "message"
        ] * 2
        backwards = [item async for item in ask.conversations.items.list(made.id, limit=4)]
        assert backwards[::-1] == items
        assert await ask.conversations.items.retrieve(items[1].id, conversation_id=made.id) == items[1]
        with pytest.raises(openai.BadRequestError):
            await ask.conversations.items.delete(items[1].id, conversation_id=made.id)
        await ask.conversations.items.delete(items[-1].id, conversation_id=made.id)
        assert len((await ask.conversations.items.list(made.id)).data) == 5
        changed = await ask.conversations.update(made.id, metadata={"topic": "doors"})
        assert (await ask.conversations.retrieve(made.id)).metadata == changed.metadata == {"topic": "doors"}
        assert (await ask.conversations.delete(made.id)).deleted
        with pytest.raises(openai.NotFoundError) as refused:
            await ask.conversations.retrieve(made.id)
        assert refused.value.code == "conversation_not_found"


async def test_a_response_is_cancelled_deleted_or_not_stored() -> None:
    async with obliging(pace=0.002) as server:
        ask = client(server.url)
        begun = await ask.responses.create(model="helper", input="count 5000", background=True)
        stopped = await ask.responses.cancel(begun.id)
        assert stopped.status == "cancelled"
        assert await ask.responses.cancel(begun.id) == stopped
        following = await ask.responses.create(model="helper", input="next", previous_response_id=begun.id)
        with pytest.raises(openai.BadRequestError, match="conversation"):
            await ask.responses.delete(following.id)
        single = await ask.responses.create(model="helper", input="gone")
        await ask.responses.delete(single.id)
        with pytest.raises(openai.NotFoundError):
            await ask.responses.retrieve(single.id)
        aside = await ask.responses.create(model="helper", input="secret", store=False)
        assert aside.output_text == "secret "
        with pytest.raises(openai.NotFoundError):
            await ask.responses.retrieve(aside.id)
        failed = await ask.responses.create(model="helper", input="fail")
        assert (failed.status, failed.error and failed.error.code) == ("failed", "model_refused")
        assert len((await server.client.get("/v1/conversations")).json()["data"]) == 2


async def test_the_client_of_npm_does_what_its_own_tests_say(tmp_path: Path) -> None:
    async with obliging(pace=0.001) as server:
        tests = Path(__file__).parent / "openai" / "client.test.mjs"
        await node_tests("openai", tests, tmp_path, THREADKEEP_URL=server.url)


async def test_the_programs_of_the_how_to_run(tmp_path: Path) -> None:
    blocks = blocks_of("docs/howto/use-openai-clients.md")
    python = [block.text for block in blocks if block.kind == "python" and not block.text.startswith("# agents.py")]
    (javascript,) = (block.text for block in blocks if block.kind == "js")
    (tmp_path / "program.mjs").write_text(javascript)
    (tmp_path / "program.py").write_text("\n".join(python))
    (tmp_path / "node_modules").symlink_to(npm_client("openai") / "node_modules")
    async with serving(protocols="openai") as server:
        for program in ((sys.executable, "program.py"), (NODE, "program.mjs")):
            text = (tmp_path / program[1]).read_text().replace("http://127.0.0.1:8000", server.url)
            (tmp_path / program[1]).write_text(text)
            process = await asyncio.create_subprocess_exec(*program, cwd=tmp_path, stdout=asyncio.subprocess.PIPE)
            told, _ = await process.communicate()
            assert process.returncode == 0
            assert told.strip()


async def test_the_example_goes_on_where_it_was_when_it_or_the_server_was_killed(tmp_path: Path) -> None:
    place = tmp_path / "chat.json"

    async def chat(server: Killable, question: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, ROOT / "examples" / "openai_chat.py", server.url, place, question),
            stdout=asyncio.subprocess.PIPE,
        )

    async with killable(tmp_path, pace=0.02) as server:
        first = await chat(server, "use weather\ncount 30")
        assert first.stdout is not None
        seen = (await first.stdout.readuntil(b" 5 ")).decode()
        first.kill()
        seen += (await first.communicate())[0].decode()
        last = int(seen.split()[-1])
        second = await chat(server, "use weather\nagain")
        assert second.stdout is not None
        seen += (await second.stdout.readuntil(b" 12 ")).decode()
        await server.kill()
        await server.start()
        told, _ = await second.communicate()
        seen += told.decode()
    assert second.returncode == 0
    assert "again [4 degrees in hall 0]" in seen
    # What the program had printed when it was killed may not have been noted as read.
    assert [number for number in range(1, 13) if number != last and seen.count(f" {number} ") != 1] == [], seen


@pytest.mark.server_may_fail
async def test_chat_completions_bring_their_history_along() -> None:
    tool: Any = {"type": "function", "function": {"name": "locate"}}
    async with obliging() as server:
        ask = client(server.url)
        messages: list[Any] = [
            {"role": "developer", "content": "Help."},
            {"role": "user", "content": "think\nuse locate\ndone"},
        ]
        asked = await ask.chat.completions.create(model="helper", messages=messages, tools=[tool])
        (choice,) = asked.choices
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", "One moment. ")
        assert choice.message.tool_calls is not None
        messages += [
            choice.message,
            {"role": "tool", "tool_call_id": choice.message.tool_calls[0].id, "content": "Oslo"},
        ]
        answered = await ask.chat.completions.create(model="helper", messages=messages, tools=[tool])
        assert answered.choices[0].message.content == "done [Oslo]"
        assert answered.usage is not None
        stream = await ask.chat.completions.create(
            model="helper", messages=messages, tools=[tool], stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "done [Oslo]"
        assert chunks[-1].usage == answered.usage
        with pytest.raises(openai.APIStatusError) as refused:
            await ask.chat.completions.create(model="helper", messages=[{"role": "user", "content": "fail"}])
        assert refused.value.code == "model_refused"
        with pytest.raises(openai.APIError, match="mood"):
            async for _ in await ask.chat.completions.create(
                model="helper", messages=[{"role": "user", "content": "fail"}], stream=True
            ):
                pass
        assert (await server.client.get("/v1/conversations")).json()["data"] == []


async def _keyed(server: Server, tenant: str, user: str) -> Client:
    _, headers = await server.key(tenant, user)
    return client(server.url, key=headers["Authorization"].split()[1])


async def test_nobody_reaches_what_is_anothers() -> None:
    async with obliging(auth="keys") as server:
        ada = await _keyed(server, "acme", "ada")
        mine = await ada.responses.create(model="helper", input="use locate\nsecret", tools=[LOCATE])
        conversation = mine.conversation.id
        item = mine.output[0].id or ""
        output: Any = [{"type": "function_call_output", "call_id": "locate-0-0", "output": "stolen"}]
        for other in (await _keyed(server, "acme", "bob"), await _keyed(server, "other", "ada")):
            reaches: list[Callable[[Client], Awaitable[Any]]] = [
                lambda to: to.responses.retrieve(mine.id),
                lambda to: to.responses.retrieve(mine.id, stream=True),
                lambda to: to.responses.cancel(mine.id),
                lambda to: to.responses.delete(mine.id),
                lambda to: to.responses.input_items.list(mine.id),
                lambda to: to.responses.create(input="hi", previous_response_id=mine.id),
                lambda to: to.responses.create(input="hi", conversation=conversation),
                lambda to: to.responses.create(input=output, previous_response_id=mine.id),
                lambda to: to.conversations.retrieve(conversation),
                lambda to: to.conversations.update(conversation, metadata={}),
                lambda to: to.conversations.delete(conversation),
                lambda to: to.conversations.items.list(conversation),
                lambda to: to.conversations.items.create(conversation, items=[{"role": "user", "content": "hi"}]),
                lambda to: to.conversations.items.retrieve(item, conversation_id=conversation),
                lambda to: to.conversations.items.delete(item, conversation_id=conversation),
            ]
            for reach in reaches:
                with pytest.raises(openai.NotFoundError):
                    await reach(other)
            repeated = await other.responses.create(
                model="helper",
                input="use locate\nsecret",
                tools=[LOCATE],
                extra_headers={"x-stainless-retry-count": "1"},
            )
            along: list[Any] = [{"role": "user", "content": "use locate\nsecret"}, *plain(mine.output), *output]
            brought = await other.responses.create(model="helper", input=along, tools=[LOCATE])
            assert mine.conversation not in (repeated.conversation, brought.conversation)
            with pytest.raises(openai.NotFoundError) as refused:
                await other.vector_stores.list()
            assert (refused.value.code, refused.value.type) == ("not_found", "invalid_request_error")
        with pytest.raises(openai.AuthenticationError):
            await client(server.url, key="tk_nobody").models.list()
        await ada.responses.create(input=output, previous_response_id=mine.id)


DEEP: Any = "x"
for _ in range(200):
    DEEP = [DEEP]
ASKED: dict[str, Any] = {"model": "helper", "input": "hi"}
STRANGE: list[Any] = [
    *(7, {}, [7], [[]], [{"type": "message"}], [{"role": "tool", "content": "x"}], DEEP, "", "\ud800")
]
HOSTILE: list[Any] = [
    *(
        None,
        [],
        "text",
        7,
        {},
        {"input": None},
        {**ASKED, "model": 7},
        {**ASKED, "model": "nobody"},
        {**ASKED, "model": "x" * 9999},
    ),
    *({**ASKED, "input": given} for given in STRANGE),
    *(
        {**ASKED, "input": [{"role": "user", "content": given}]}
        for given in (7, [7], [{"type": "x"}], [{"type": "input_text"}], None)
    ),
    *(
        {**ASKED, "input": [{"type": "input_image", "image_url": given}]}
        for given in ("http://127.0.0.1:1/x", "data:,", 7)
    ),
    {**ASKED, "input": [{"role": "user", "content": [{"type": "input_image", "image_url": "http://127.0.0.1:1/x"}]}]},
    {**ASKED, "input": [{"role": "user", "content": [{"type": "input_file", "file_data": "!"}]}]},
    {**ASKED, "input": [{"role": "user", "content": [{"type": "input_file", "file_id": "../x"}]}]},
    {**ASKED, "input": [{"type": "function_call", "call_id": "c", "name": "x", "arguments": "{"}]},
    {**ASKED, "input": [{"type": "function_call", "call_id": "c" * 999, "name": "x", "arguments": "{}"}]},
    {**ASKED, "input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
    {**ASKED, "input": [{"type": "mcp_approval_response", "approval_request_id": "x", "approve": "yes"}]},
    {**ASKED, "input": [{"role": "user", "content": "x"}] * 5001},
    {**ASKED, "tools": [{"type": "web_search"}]},
    {**ASKED, "tools": [{"type": "function", "name": "no name!"}]},
    {**ASKED, "tools": [{"type": "function", "name": "look"}]},
    {**ASKED, "tools": [LOCATE, LOCATE]},
    {**ASKED, "tools": [{**LOCATE, "parameters": DEEP}]},
    {**ASKED, "tool_choice": "required"},
    {**ASKED, "text": {"format": {"type": "json_schema"}}},
    {**ASKED, "temperature": 99},
    {**ASKED, "metadata": {"a": {"b": 1}}},
    {**ASKED, "metadata": {str(at): "x" for at in range(17)}},
    {**ASKED, "previous_response_id": "resp_1-nobody"},
    {**ASKED, "previous_response_id": "resp_" + "9" * 300},
    {**ASKED, "previous_response_id": "\0"},
    {**ASKED, "conversation": "conv_../../x"},
    {**ASKED, "conversation": {"id": 7}},
    {**ASKED, "conversation": "c", "previous_response_id": "resp_1-x"},
    {**ASKED, "store": False, "background": True},
    {**ASKED, "instructions": "x" * 300_000},
]


@pytest.mark.parametrize("path", ["/responses", "/chat/completions", "/conversations", "/conversations/conv_x/items"])
async def test_hostile_input_is_refused_in_openais_words(path: str) -> None:
    async with obliging(auth="keys", max_body_bytes=4_000_000) as server:
        _, headers = await server.key("acme", "ada")
        typed = {**headers, "content-type": "application/json"}
        for body in HOSTILE:
            if path == "/chat/completions" and isinstance(body, dict) and isinstance(body.get("input"), list):
                body = {**body, "messages": body["input"], "input": None}
            answer = await server.client.post(f"/openai/v1{path}", content=json.dumps(body), headers=typed)
            assert 200 <= answer.status_code < 500, (body, answer.text)
            if answer.status_code >= 400:
                assert answer.json().get("error", {}).keys() == {"message", "type", "param", "code"}, (
                    body,
                    answer.text,
                )
            assert path == "/conversations" or answer.status_code >= 400, (str(body)[:300], answer.text)
        for raw in (
            b"",
            b"{",
            b"\xff\xfe",
            b"[" * 50_000,
            b'{"input": NaN}',
            b'{"model":"helper","input":"a","input":7}',
        ):
            answer = await server.client.post(f"/openai/v1{path}", content=raw, headers=typed)
            assert answer.status_code < 500, (raw[:20], answer.text)
