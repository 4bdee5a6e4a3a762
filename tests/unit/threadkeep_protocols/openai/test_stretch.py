"""A response is the same for whoever reads it, live, later or at once, and from every place on."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tests.unit.threadkeep_protocols.telling import HELPER, asks_and_answers, thinks_and_calls
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ModelRefused, NotFound
from threadkeep.llm.base import CallPart, Stopped, Text
from threadkeep.runtime import open_conversations
from threadkeep.testing.scripted_model import ScriptedModel, Step, says
from threadkeep.turn_handle import TurnHandle
from threadkeep_protocols.openai.events import behind
from threadkeep_protocols.openai.items import Json
from threadkeep_protocols.openai.stretch import Stretch

LOCATE = {"name": "locate"}


@asynccontextmanager
async def _opened(model: ScriptedModel) -> AsyncIterator[tuple[Conversations, ConversationHandle]]:
    async with await open_conversations("memory:", [HELPER], model=model) as conversations:
        yield conversations, await conversations.create(assistant="helper")
    model.assert_finished()


class Client:
    """Puts a response together from its events, as clients do, and refuses what does not fit."""

    def __init__(self) -> None:
        self.output: list[Json] = []
        self.last: Json = {}
        self.number = -1

    def take(self, events: Sequence[Json]) -> "Client":
        for event in events:
            assert event["sequence_number"] > self.number
            self.number = event["sequence_number"]
            self._take(event)
        return self

    def _take(self, event: Json) -> None:
        match event["type"]:
            case "response.output_item.added":
                assert event["output_index"] == len(self.output)
                self.output.append(event["item"] | {"text": ""})
            case "response.output_text.delta" | "response.reasoning_summary_text.delta":
                self.output[event["output_index"]]["text"] += event["delta"]
            case "response.output_text.done" | "response.reasoning_summary_text.done":
                assert self.output[event["output_index"]]["text"] == event["text"]
            case "response.output_item.done":
                assert self.output[event["output_index"]]["id"] == event["item"]["id"]
                self.output[event["output_index"]] = event["item"]
            case _:
                self.last = event.get("response", self.last)


async def _events(
    opened: tuple[Conversations, ConversationHandle], turn: TurnHandle, begin: int | None = None
) -> list[Json]:
    conversations, chat = opened
    stretch = await Stretch(chat, chat.turn(turn.number), begin).open(conversations)
    return [event async for event in stretch.events()]


async def _whole(opened: tuple[Conversations, ConversationHandle], turn: TurnHandle, begin: int | None = None) -> Json:
    conversations, chat = opened
    return await (await Stretch(chat, chat.turn(turn.number), begin).open(conversations)).whole()


async def test_a_turn_is_a_response_up_to_each_wait_and_another_behind_it() -> None:
    async with _opened(asks_and_answers()) as opened:
        _, chat = opened
        turn = await chat.send("Tidy up")
        first = Client().take(await _events(opened, turn))
        assert [item["type"] for item in first.output] == ["reasoning", "message", "mcp_approval_request"]
        assert first.output == first.last["output"] == (await _whole(opened, turn))["output"]
        assert first.last["status"] == "completed"
        await chat.approve("remove-1")
        assert Client().take(await _events(opened, turn)).last == first.last
        wait = await _wait(chat, turn)
        second = Client().take(await _events(opened, turn, wait))
        assert [item["type"] for item in second.output] == ["mcp_call", "mcp_call", "message"]
        assert second.output == second.last["output"] == (await _whole(opened, turn, wait))["output"]
        assert second.last["previous_response_id"] == first.last["id"]


async def _wait(chat: ConversationHandle, turn: TurnHandle) -> int:
    async for entry in chat.reading.entries():
        if getattr(entry.body, "state", None) == "waiting" and entry.turn == turn.number:
            return entry.seq
    raise AssertionError


async def test_from_every_place_on_the_rest_is_exact() -> None:
    gate = asyncio.Event()
    held: list[Step] = [Text("It is "), gate, *says("gone 🙂.", " Really.")]
    async with _opened(ScriptedModel(thinks_and_calls("look"), held)) as opened:
        conversations, chat = opened
        turn = await chat.send("Tidy up")
        live: list[Json] = []
        async for event in (await Stretch(chat, turn).open(conversations)).events():
            live.append(event)
            if event.get("delta") == "It is ":
                await chat.update(title="Tidy")
                gate.set()
        later, whole = await _events(opened, turn), Client().take(live)
        assert Client().take(later).output == whole.output == whole.last["output"]
        assert later[-1] == live[-1]
        for told in (live, later):
            for place in range(len(told)):
                begun = told[: place + 1]
                rest = [behind(event, begun[-1]["sequence_number"]) for event in later]
                assert Client().take([*begun, *filter(None, rest)]).output == whole.output
        for place in range(live[-1]["sequence_number"] + 1):
            rest = [event for event in (behind(each, place) for each in later) if event is not None]
            texts = "".join(event.get("delta", "") for event in rest if event)
            assert "".join(event.get("delta", "") for event in live).endswith(texts)


async def test_calls_of_tools_that_the_client_runs_are_function_calls() -> None:
    calls: list[Step] = [CallPart(index=0, id="c", name="locate", args='{"exact":true}'), Stopped("tool_calls")]
    async with _opened(ScriptedModel(calls, says("In Oslo."))) as opened:
        _, chat = opened
        turn = await chat.send("Where am I?", tools=[LOCATE])
        first = Client().take(await _events(opened, turn))
        (item,) = first.output
        assert (item["type"], item["call_id"], item["arguments"]) == ("function_call", "c", '{"exact":true}')
        assert [tool["name"] for tool in first.last["tools"]] == ["locate"]
        await chat.give_result("c", "Oslo")
        second = Client().take(await _events(opened, turn, await _wait(chat, turn)))
        assert [item["type"] for item in second.output] == ["message"]


async def test_a_response_says_how_its_turn_stands() -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Text("Well"), gate, *says("")], [ModelRefused("no")], [Text("cut"), Stopped("length")])
    async with _opened(model) as opened:
        _, chat = opened
        first, second = await chat.send("one"), await chat.send("two")
        async for event in first.events():
            if getattr(event.what, "text", "") == "Well":
                break
        running, queued = await _whole(opened, first), await _whole(opened, second)
        assert (running["status"], running["output"][0]["status"]) == ("in_progress", "in_progress")
        assert running["output"][0]["content"][0]["text"] == "Well"
        assert (queued["status"], queued["output"]) == ("queued", [])
        gate.set()
        failed = (await _events(opened, second))[-1]
        assert failed["type"] == "response.failed"
        assert failed["response"]["error"] == {"code": "model_refused", "message": "no"}
        types = [event["type"] for event in await _events(opened, second)]
        assert types[:3] == ["response.created", "response.queued", "response.in_progress"]
        cut = (await _events(opened, await chat.send("three")))[-1]
        assert cut["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


async def test_there_is_no_response_where_no_turn_begins_or_waits() -> None:
    async with _opened(ScriptedModel(says("one"))) as opened:
        _, chat = opened
        turn = await chat.send("one")
        await turn.outcome()
        for number, begin in ((2, None), (3, None), (99, None), (1, 2), (1, 99)):
            with pytest.raises(NotFound):
                await _whole(opened, chat.turn(number), begin)
