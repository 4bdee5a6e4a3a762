"""Rewriting by a model, and what happens when it does not work."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.unit.retrieval.strict_retriever import StrictRetriever
from threadkeep.conversation.message import Message, Role
from threadkeep.errors import ModelUnavailable
from threadkeep.llm.base import Delta, Request, Stopped, Text
from threadkeep.retrieval.model_rewriter import ModelRewriter, can_rewrite
from threadkeep.retrieval.words_rewriter import WordsRewriter
from threadkeep.testing.scripted_model import ScriptedModel, Step, says, wants

HISTORY = (
    Message(role=Role.USER, content="Tell me about the Fairphone 5"),
    Message(role=Role.ASSISTANT, content="A phone that can be repaired."),
)
WORDS = WordsRewriter(StrictRetriever({"fairphone": 0.9, "repaired": 0.5}))


class RealModel(ScriptedModel):
    """Plays answers, as a model that is large enough."""

    name = "openai:big"
    is_scripted = False


async def test_a_good_query_of_the_model_is_taken() -> None:
    model = RealModel(says("What does the ", "Fairphone 5 weigh?"))
    rewrite = await ModelRewriter(model, WORDS).rewrite("What does it weigh?", HISTORY)
    assert (rewrite.text, rewrite.words, rewrite.by) == ("What does the Fairphone 5 weigh?", (), "model")
    asked = model.requests[0].messages[-1].content
    assert asked.endswith("Last question: What does it weigh?")
    assert "User: Tell me about the Fairphone 5\nAssistant: A phone" in asked


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (says("What does the Nokia 3310 weigh?"), "nobody said: 3310, nokia"),
        (says("I'm sorry, I cannot do that."), "it was no query"),
        (says(" "), "it was empty"),
        (says("Fairphone " * 200), "it was too long"),
        (says("What does it weigh?"), "the model left it as it was"),
        ([Text("Fairphone 5 wei")], "it was cut off"),
        ([Text("Fairphone 5 wei"), Stopped("length")], "it was cut off"),
        (wants(("1", "search", {})), "it was empty"),
        ([Text("Fair"), ModelUnavailable("gone")], "the model failed: gone"),
        ([RuntimeError("a fault of somebody's")], "the model failed"),
    ],
)
async def test_whatever_goes_wrong_the_words_do_instead(answer: list[Step], reason: str) -> None:
    rewrite = await ModelRewriter(RealModel(answer), WORDS).rewrite("What does it weigh?", HISTORY)
    assert (rewrite.text, rewrite.by) == ("What does it weigh?", "words")
    assert rewrite.words == ("Fairphone", "repaired")
    assert rewrite.why.endswith(reason)


async def test_a_model_that_says_nothing_is_not_waited_for() -> None:
    model = RealModel([asyncio.Event()])
    rewrite = await ModelRewriter(model, WORDS, patience=0.01).rewrite("What does it weigh?", HISTORY)
    assert rewrite.by == "words"
    assert "it took too long" in rewrite.why
    assert model.closed == [True]


async def test_a_model_is_not_asked_about_a_question_that_stands_alone() -> None:
    rewrite = await ModelRewriter(RealModel(), WORDS).rewrite("What is the capital of France?", ())
    assert rewrite.by == "nothing"


async def test_a_model_that_is_too_small_is_not_asked() -> None:
    local = RealModel()
    local.name = "local"
    assert not can_rewrite(local)
    assert not can_rewrite(ScriptedModel())
    assert can_rewrite(RealModel())
    assert (await ModelRewriter(local, WORDS).rewrite("What does it weigh?", HISTORY)).by == "words"


async def test_being_cancelled_is_not_swallowed() -> None:
    asked, never = asyncio.Event(), asyncio.Event()

    class Waiting(RealModel):
        async def stream(self, request: Request) -> AsyncIterator[Delta]:
            asked.set()
            await never.wait()
            yield Text("never")

    task = asyncio.create_task(ModelRewriter(Waiting(), WORDS).rewrite("What does it weigh?", HISTORY))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
