"""Providers that misbehave: no crash, no endless loop, a history that every provider accepts, and the next question is
answered. Played by a model of our own, and by a server that speaks OpenAI's protocol over a real socket."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.told import data_of, failure_of, name_of
from tests.unit.turn.processes import Processes, contents, ended, names, new_conversation, said_in, seen, told
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ModelError, ModelRateLimited, ModelRefused, ModelUnavailable
from threadkeep.llm.base import CallPart, Stopped, Text
from threadkeep.testing import openai_answers as played
from threadkeep.testing.openai_server import Played, openai_server
from threadkeep.testing.providers import check_everywhere, openai
from threadkeep.testing.scripted_model import ScriptedModel, Step, says, wants
from threadkeep.tools.base import ToolContext
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_providers.provider_model import ProviderModel

QUESTION = "What is the budget of CC-1001?"


@tool(repeatable=True)
async def get_budget(cost_center: str, context: ToolContext) -> str:
    """The budget of a cost center."""
    return f"{cost_center}: 50000 ({context.call_id})"


async def _asked(
    processes: Processes, *answers: Sequence[Step], **parts: Any
) -> tuple[Conversations, ConversationHandle, ScriptedModel]:
    """Ask one question, wait for its end, and return what is there then."""
    model = ScriptedModel(*answers, says("Still here."))
    conversations = await processes.open(model, get_budget, **parts)
    chat = await new_conversation(conversations)
    await ended(await chat.send(QUESTION))
    return conversations, chat, model


async def _still_works(chat: ConversationHandle, model: ScriptedModel) -> None:
    """The next question is answered, and everything that the model was ever asked was valid."""
    answer = await (await chat.send("And now?")).answer()
    assert answer is not None
    assert answer.content == "Still here."
    for request in model.requests:
        check_everywhere(request)


async def test_a_provider_that_asks_to_slow_down_is_asked_again_after_the_time_that_it_names(
    processes: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "threadkeep.turn.steps.generate")
    busy: list[Step] = [ModelRateLimited("slow down", retry_after=0.3)]
    loop = asyncio.get_running_loop()
    started = loop.time()
    _, chat, model = await _asked(processes, busy, says("50,000."))
    assert loop.time() - started >= 0.3
    assert "asking again in 0.3 s" in caplog.text
    assert data_of(await seen(chat, "turn.completed"))["turn"]
    await _still_works(chat, model)


async def test_a_provider_that_fails_for_a_while_is_asked_again_without_a_trace(processes: Processes) -> None:
    down: list[Step] = [ModelUnavailable("500")]
    _, chat, model = await _asked(processes, down, down, says("50,000."))
    assert contents(await chat.messages()) == [("user", QUESTION), ("assistant", "50,000.")]
    await _still_works(chat, model)


async def test_a_provider_that_keeps_failing_ends_the_turn_as_failed_with_its_error(processes: Processes) -> None:
    down: list[Step] = [ModelUnavailable("the provider answered 500")]
    _, chat, model = await _asked(processes, down, down, down)
    failed = await seen(chat, "turn.failed")
    assert failure_of(failed) == "model_unavailable: the provider answered 500"
    await _still_works(chat, model)


async def test_a_provider_that_refuses_is_not_asked_again(processes: Processes) -> None:
    _, chat, model = await _asked(processes, [ModelRefused("check the key")])
    assert failure_of(await seen(chat, "turn.failed")) == "model_refused: check the key"
    await _still_works(chat, model)


async def test_a_provider_that_refuses_in_mid_text_leaves_the_text_marked(processes: Processes) -> None:
    _, chat, model = await _asked(processes, [Text("The bud"), ModelError("filtered")])
    assert failure_of(await seen(chat, "turn.failed")) == "model_error: filtered"
    assert (await chat.messages())[-1].status is MessageStatus.INTERRUPTED
    await _still_works(chat, model)


async def test_a_provider_that_says_nothing_is_given_up_and_asked_again(processes: Processes) -> None:
    silent: list[Step] = [asyncio.Event()]
    _, chat, model = await _asked(processes, silent, says("50,000."), silence=0.05)
    assert model.closed == [True, False]
    await _still_works(chat, model)


async def test_a_provider_that_falls_silent_in_mid_text_is_cut_off_and_told_so(processes: Processes) -> None:
    _, chat, model = await _asked(processes, [Text("The budget is "), asyncio.Event()], says("50,000."), silence=0.05)
    assert [(message.content, str(message.status)) for message in await chat.messages()][1:] == [
        ("The budget is ", "interrupted"),
        ("50,000.", "complete"),
    ]
    assert "cut off" in model.requests[1].messages[-1].content
    await _still_works(chat, model)


async def test_text_that_keeps_coming_is_never_taken_for_silence(processes: Processes) -> None:
    class Slow(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            async for delta in super().stream(request):
                await asyncio.sleep(0.15)
                yield delta

    model = Slow(says(*"slowly"))
    chat = await processes.begin(model, silence=1.0)
    assert name_of(await ended(await chat.send(QUESTION))) == "turn.completed"


async def test_an_answer_cut_in_mid_token_three_times_ends_as_interrupted(processes: Processes) -> None:
    cut: list[Step] = [Text("The bud")]
    _, chat, model = await _asked(processes, cut, cut, cut)
    await seen(chat, "turn.interrupted")
    assert [message.content for message in await chat.messages()] == [QUESTION, *["The bud"] * 3]
    await _still_works(chat, model)


async def test_a_call_cut_in_its_arguments_does_not_run_and_is_asked_for_again(processes: Processes) -> None:
    half = CallPart(index=0, id="call_1", name="get_budget", args='{"cost_cen')
    _, chat, model = await _asked(
        processes, [half], wants(("call_2", "get_budget", {"cost_center": "CC-1001"})), says("50,000.")
    )
    results = [message.content for message in await chat.messages() if message.role is Role.TOOL]
    assert results == ["CC-1001: 50000 (call_2)"]
    await _still_works(chat, model)


async def test_two_calls_with_one_id_both_run_under_ids_of_their_own(processes: Processes) -> None:
    calls = wants(("call_1", "get_budget", {"cost_center": "A"}), ("call_1", "get_budget", {"cost_center": "B"}))
    _, chat, model = await _asked(processes, calls, says("Both."))
    messages = await chat.messages()
    ids = [call.id for call in messages[1].tool_calls]
    assert len(set(ids)) == 2
    results = {m.tool_result.tool_call_id: m.content[:2] for m in messages if m.tool_result is not None}
    assert results == {ids[0]: "A:", ids[1]: "B:"}
    await _still_works(chat, model)


async def test_an_unknown_tool_is_told_to_the_model(processes: Processes) -> None:
    _, chat, model = await _asked(processes, wants(("call_1", "get_budgets", {})), says("Sorry."))
    assert "Did you mean get_budget?" in data_of(await seen(chat, "tool.result"))["error"]
    await _still_works(chat, model)


@pytest.mark.parametrize("args", ['{"cost_center": CC-1001', "[]", "", '"x"', "nul", '{"a":' * 100])
async def test_arguments_that_are_no_object_are_told_to_the_model_and_nothing_runs(
    processes: Processes, args: str
) -> None:
    call = CallPart(index=0, id="call_1", name="get_budget", args=args)
    _, chat, model = await _asked(processes, [call, Stopped("tool_calls")], says("Sorry."))
    assert data_of(await seen(chat, "tool.result"))["error"]
    assert "50000" not in str(await chat.messages())
    await _still_works(chat, model)


async def test_a_call_without_a_name_is_told_to_the_model(processes: Processes) -> None:
    _, chat, model = await _asked(processes, [CallPart(index=0), Stopped("tool_calls")], says("Sorry."))
    assert "There is no tool" in data_of(await seen(chat, "tool.result"))["error"]
    await _still_works(chat, model)


async def test_an_empty_answer_ends_the_turn_as_completed_with_a_note_of_ours(processes: Processes) -> None:
    _, chat, model = await _asked(processes, [Stopped("stop")])
    assert data_of(await seen(chat, "turn.completed"))["detail"] == "The model gave an empty answer."
    assert contents(await chat.messages()) == [("user", QUESTION)]
    await _still_works(chat, model)


async def test_pieces_of_nothing_are_nothing(processes: Processes) -> None:
    _, chat, model = await _asked(processes, [Text(""), Text("a"), Text(""), Text("b"), Stopped("stop")])
    assert (await chat.messages())[-1].content == "ab"
    await _still_works(chat, model)


@pytest.mark.parametrize("size", [1000, 64 * 1024, 3 * 1024 * 1024])
async def test_ten_megabytes_of_text_are_kept_as_far_as_an_entry_goes_and_marked(
    processes: Processes, size: int
) -> None:
    piece = "x" * size
    _, chat, model = await _asked(processes, says(*[piece] * (10 * 1024 * 1024 // size)))
    failed = await seen(chat, "turn.failed")
    assert failure_of(failed).startswith("content_too_large: ")
    _, kept = await chat.messages()
    assert kept.status is MessageStatus.INTERRUPTED
    assert set(kept.content) == {"x"}
    assert 0.9 * 1024 * 1024 < len(kept.content) <= 1024 * 1024
    await _still_works(chat, model)


async def test_an_answer_that_fills_an_entry_to_the_brim_is_kept(processes: Processes) -> None:
    brim = 1024 * 1024
    _, chat, model = await _asked(processes, says("y" * (brim - 10), "z" * 10))
    assert failure_of(await seen(chat, "turn.failed")).startswith("content_too_large: ")
    assert len((await chat.messages())[-1].content) == brim
    await _still_works(chat, model)


async def test_an_answer_whose_last_words_do_not_fit_is_marked(processes: Processes) -> None:
    gate, most = asyncio.Event(), "y" * (1024 * 1024 - 1001) + "!"
    model = ScriptedModel([Text(most), gate, Text("z" * 2000), Stopped("stop")], says("Still here."))
    chat = await processes.begin(model)
    turn = await chat.send(QUESTION)
    await said_in(chat, "!")
    gate.set()
    assert failure_of(await ended(turn)).startswith("content_too_large: ")
    last = (await chat.messages())[-1]
    assert (last.content, last.status) == (most, MessageStatus.INTERRUPTED)
    await _still_works(chat, model)


async def test_arguments_of_ten_megabytes_end_the_turn_as_failed(processes: Processes) -> None:
    calls = wants(("call_1", "get_budget", {"cost_center": "x" * 10 * 1024 * 1024}))
    _, chat, model = await _asked(processes, [Text("Let me see. "), *calls])
    assert failure_of(await seen(chat, "turn.failed")).startswith("content_too_large: ")
    assert (await chat.messages())[-1].content == "Let me see. "
    await _still_works(chat, model)


async def test_a_result_of_ten_megabytes_is_shortened_and_the_turn_goes_on(processes: Processes) -> None:
    @tool(name="get_budget")
    async def huge() -> str:
        """Return too much."""
        return "x" * 10 * 1024 * 1024

    model = ScriptedModel(wants(("call_1", "get_budget", {})), says("Long."), says("Still here."))
    chat = await processes.begin(model, huge)
    assert name_of(await ended(await chat.send(QUESTION))) == "turn.completed"
    result = data_of(await seen(chat, "tool.result"))
    assert "too large" in result["error"]
    assert len(result["content"]) <= 10_000
    await _still_works(chat, model)


def _round(number: int) -> list[Step]:
    return wants((f"call_{number}", "get_budget", {"cost_center": str(number)}))


@pytest.mark.parametrize("last", [says("I have seen enough."), [Stopped("stop")], _round(99)])
async def test_endless_tool_calls_end_at_the_limit_and_the_answer_says_so(
    processes: Processes, last: list[Step]
) -> None:
    model = ScriptedModel(*map(_round, range(3)), last, says("Still here."))
    assistant = Assistant(name="limited", tools=Registry([get_budget]), iterations=3)
    chat = await processes.begin(model, assistant=assistant)
    events = await told(await chat.send(QUESTION))
    assert names(events).count("tool.result") == 3
    assert [bool(request.tools) for request in model.requests] == [True, True, True, False]
    assert "limit" in model.requests[3].messages[-1].content
    assert name_of(events[-1]) == "turn.completed"
    answer = (await chat.messages())[-1]
    assert answer.content.endswith("(The limit of 3 rounds of tool calls was reached.)")
    assert not answer.tool_calls
    await _still_works(chat, model)


async def test_the_limit_is_ten_rounds_by_default(processes: Processes) -> None:
    _, chat, model = await _asked(processes, *map(_round, range(10)), says("Enough."))
    assert len(model.requests) == 11
    await _still_works(chat, model)


# Over a real socket

BAD: dict[str, list[Played]] = {
    "429": [played.fails(429, Retry_After="0"), played.says("Fine.")],
    "500": [played.fails(500), played.says("Fine.")],
    "an error in the stream": [played.fails_in_stream(), played.says("Fine.")],
    "silence": [played.hangs("Hel"), played.says("Fine.")],
    "a cut in a token": [played.cut_in_text(), played.says("Fine.")],
    "a cut in arguments": [played.cut_in_arguments(), played.says("Fine.")],
    "an end in arguments": [played.ends_in_arguments(), played.says("Fine.")],
    "one id for two calls": [played.two_calls_one_id(), played.says("Fine.")],
    "an unknown tool": [played.wants(("call_1", "get_wealth", "{}")), played.says("Fine.")],
    "invalid arguments": [played.invalid_arguments(), played.says("Fine.")],
    "no event": [played.nothing(), played.says("Fine.")],
    "garbage": [played.garbage(), played.says("Fine.")],
    "no answer": [played.empty()],
    "too much": [played.huge()],
    "a refusal": [played.fails(401, "Incorrect API key provided: sk-secret-1234567890")],
}


@pytest.mark.parametrize("stores_of_turns", ["sqlite"], indirect=True)
@pytest.mark.parametrize("bad", BAD)
async def test_a_bad_answer_over_a_real_socket_does_no_lasting_harm(processes: Processes, bad: str) -> None:
    async with openai_server(*BAD[bad], played.says("Still here.")) as server:
        model = ProviderModel.named("openai:played", base_url=server.url, api_key="sk-test")
        conversations = await processes.open(model, get_budget, silence=2.0)
        chat = await new_conversation(conversations)
        end = await ended(await chat.send(QUESTION))
        assert name_of(end) in ("turn.completed", "turn.failed")
        assert (name_of(end) == "turn.failed") == (bad in ("too much", "a refusal")), data_of(end)
        assert "sk-secret" not in str(data_of(end))
        answer = await (await chat.send("And now?")).answer()
        assert answer is not None
        assert answer.content == "Still here."
        assert server.unexpected == 0
        assert server.answers == []
        for body in server.requests:
            openai.check_body(body)


@pytest.mark.parametrize("stores_of_turns", ["sqlite"], indirect=True)
async def test_cancelling_hangs_up_on_a_real_provider(processes: Processes) -> None:
    async with openai_server(played.hangs("Hel")) as server:
        model = ProviderModel.named("openai:played", base_url=server.url, api_key="sk-test")
        conversations = await processes.open(model)
        chat = await new_conversation(conversations)
        turn = await chat.send(QUESTION)
        await seen(chat, "text.delta")
        async with asyncio.timeout(1):
            await chat.cancel()
            await server.hung_up.wait()
        assert name_of(await ended(turn)) == "turn.cancelled"
        last: Message = (await chat.messages())[-1]
        assert (last.content, last.status) == ("Hel", MessageStatus.INTERRUPTED)
