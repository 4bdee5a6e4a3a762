"""Rewriting by a model, and what happens when it does not work."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest

from bench.followup_cases import OWN
from tests.unit.threadkeep_retrieval.strict_retriever import StrictRetriever
from threadkeep.conversation.message import Message, Role
from threadkeep.errors import ModelUnavailable
from threadkeep.llm.base import Delta, Request, Stopped, Text
from threadkeep.testing.scripted_model import ScriptedModel, Step, says, wants
from threadkeep_retrieval.model_rewriter import ModelRewriter, can_rewrite, cleaned, flaw, unknown
from threadkeep_retrieval.words_rewriter import WordsRewriter

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


@pytest.mark.server_may_fail
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (says("What does the Nokia 3310 weigh?"), "nobody said: Nokia, 3310"),
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


async def test_a_model_is_not_asked_about_the_first_question() -> None:
    rewrite = await ModelRewriter(RealModel(), WORDS).rewrite("What is the capital of France?", ())
    assert rewrite.by == "nothing"


@pytest.mark.parametrize("answer", ["ALONE", "alone.", '"Alone"'])
async def test_a_model_says_that_a_question_stands_alone_whatever_the_rules_say(answer: str) -> None:
    model = RealModel(says(answer))
    rewrite = await ModelRewriter(model, WORDS).rewrite("Does it snow in Paris?", HISTORY)
    assert (rewrite.text, rewrite.words, rewrite.by) == ("Does it snow in Paris?", (), "nothing")
    assert rewrite.why == "the model says that it stands alone"
    assert len(model.requests) == 1


async def test_a_model_says_that_a_question_goes_on_where_the_rules_say_that_it_stands_alone() -> None:
    words = WordsRewriter(StrictRetriever({}), lambda *_: (False, "it stands alone"))
    model = RealModel(says("battery life of the Fairphone 5"))
    rewrite = await ModelRewriter(model, words).rewrite("battery life", HISTORY)
    assert (rewrite.text, rewrite.by) == ("battery life of the Fairphone 5", "model")
    assert rewrite.why == "the model says that it goes on with what was said"


async def test_most_requests_begin_as_the_last_one_did() -> None:
    said = [Message(role=role, content=f"{role} {turn}") for turn in range(20) for role in (Role.USER, Role.ASSISTANT)]
    asked = list[str]()
    for turn in range(1, 21):
        model = RealModel(says("ALONE"))
        await ModelRewriter(model, WORDS).rewrite("and?", said[: 2 * turn])
        asked.append(model.requests[0].messages[-1].content.partition("\n\nLast question")[0])
    assert sum(now.startswith(before) for before, now in pairwise(asked)) == 15
    assert all(f"Assistant: assistant {turn}" in asked[turn] for turn in range(20))


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


SAID = ["Show me phones", "The Samsung Galaxy A54 costs $449 and is waterproof."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"Samsung Galaxy A54 price"', "Samsung Galaxy A54 price"),
        ("Query: Samsung price\nThat is the query.", "Samsung price"),
        ("**Standalone question:** Samsung  price", "Samsung price"),
        ("\n\n  \n", ""),
        ("a\x00b", "a b"),
    ],
)
def test_the_query_is_taken_out_of_the_answer(text: str, expected: str) -> None:
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    "query", ["How much does the Samsung Galaxy A54 cost?", "Compare phones", "Is the Galaxy waterproofed?"]
)
def test_a_query_of_known_words_is_taken(query: str) -> None:
    assert flaw(query, "How much is it?", SAID) is None


@pytest.mark.parametrize(
    "query",
    [
        "Which phones are waterproof besides the Samsung Galaxy A54?",
        "What is the price of the Samsung Galaxy A54?",
        "Is the Samsung Galaxy A54 good for swimming?",
    ],
)
def test_a_synonym_is_not_nonsense(query: str) -> None:
    assert flaw(query, "How much is it?", SAID) is None


LAPTOPS = ["Show me laptops under nine hundred dollars", "The Acer Aspire 5 costs $599, with 15.6 inches."]


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("what about gaming?", "Which laptops are good for playing games?"),
        ("something bigger?", "Laptops below 900 dollars with a larger screen"),
        ("anything similar for kids?", "Notebooks like the Acer Aspire for children"),
        ("one for my grandmother", "Easy laptops for an elderly person"),
        ("what about gaming?", "What Are The Best Laptops For Playing Games"),
        ("¿y para mi madre?", "¿Qué laptops Acer hay para personas mayores?"),
        ("und zum Spielen?", "Welche Laptops sind gut für Computerspiele und die Schule?"),
    ],
)
def test_a_model_says_it_in_words_of_its_own(question: str, query: str) -> None:
    assert flaw(query, question, LAPTOPS) is None


@pytest.mark.parametrize(
    ("query", "made_up"),
    [
        ("Which laptops are good for games in Zanzibar?", "Zanzibar"),
        ("Which Lenovo laptops are good for games?", "Lenovo"),
        ("ThinkPad laptops for games", "ThinkPad"),
        ("Laptops like the iPad for games", "iPad"),
        ("Is the Acer Aspire 7 good for games?", "7"),
        ("laptops for games with 32 GB", "GB, 32"),
    ],
)
def test_a_name_or_a_number_that_nobody_said_is_made_up(query: str, made_up: str) -> None:
    said = ["Show me laptops", LAPTOPS[1]]
    assert flaw(query, "what about gaming?", said) == f"it named what nobody said: {made_up}"


def test_a_word_counts_as_said_however_long_ago_it_was() -> None:
    said = ["Does Zanzibar export vanilla?", *["Anything else?", "Yes."] * 50]
    assert flaw("Vanilla of Zanzibar", "And there?", said) is None
    assert flaw("Vanilla of Madagascar", "And there?", said[1:]) is not None


def test_a_person_who_does_not_know_is_no_model_that_refuses() -> None:
    asked = "I don't know, but which camera is cheaper?"
    assert flaw("I don't know, but which camera is cheaper, Sony or Canon?", asked, ["Sony and Canon cameras"]) is None
    assert flaw("I don't know which camera", "Which one is cheaper?", ["Sony and Canon cameras"]) == "it was no query"


def test_what_belongs_to_another_conversation_is_refused_nearly_always() -> None:
    cases = [json.loads(line) for line in (OWN / "conversations.jsonl").read_text(encoding="utf-8").splitlines()]
    foreign = [
        flaw(other["history"][0]["content"], case["question"], [message["content"] for message in case["history"]])
        for case in cases
        for other in cases
        if case["domain"] != other["domain"] and case["history"] and other["history"]
    ]
    assert len(foreign) > 1000
    assert sum(wrong is not None for wrong in foreign) / len(foreign) >= 0.95


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "it was empty"),
        ("phones " * 200, "it was too long"),
        ("I'm sorry, I cannot help with that.", "it was no query"),
        ("how is it?", "it named nothing"),
        ("Nokia 3310 price", "it named what nobody said: 3310"),
        ("Fishing rods", "it had nothing to do with what was said"),
        ("Phones <b>like</b> the A54", "it was no plain text"),
        ("Yes, the Samsung Galaxy A54.", "it was no query"),
    ],
)
def test_anything_else_is_not_taken(query: str, expected: str) -> None:
    assert flaw(query, "How much is it?", SAID) == expected


async def test_a_word_that_nobody_said_and_no_document_has_is_made_up_and_a_synonym_is_not() -> None:
    retriever = StrictRetriever({"mobile": 0.4, "phone": 0.3})
    assert await unknown("mobile phones of zanzibar", "Show me phones", retriever) == ["zanzibar"]
    assert await unknown("mobile phones", "Show me phones", retriever) == []
    retriever.fails = True
    assert await unknown("phones of zanzibar", "Show me phones", retriever) == []


async def test_documents_that_do_not_have_what_people_say_tell_nothing_about_a_word() -> None:
    retriever = StrictRetriever({"phones": 0.3})
    assert await unknown("phones with a larger display", "Show me phones", retriever) == []
