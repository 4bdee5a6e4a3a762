"""Looking something up for a question."""

import json
from collections.abc import Sequence

import pytest

from bench.followup_cases import own_cases, own_documents
from tests.unit.threadkeep_retrieval.strict_retriever import StrictRetriever
from threadkeep.conversation.message import Message, Role
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep_retrieval.base import Filter
from threadkeep_retrieval.hybrid import HybridIndex
from threadkeep_retrieval.lookup import RetrieverLookup
from threadkeep_retrieval.routing.router import Router

HISTORY = (
    Message(role=Role.USER, content="Show me phones under $500"),
    Message(role=Role.ASSISTANT, content="These phones fit:\n1. **Samsung Galaxy A54** - $449\n2. **Pixel 8a** - $499"),
)
RARITY = {"samsung": 0.8, "galaxy": 0.8, "pixel": 0.8, "phones": 0.3}


def retriever() -> StrictRetriever:
    return StrictRetriever(RARITY, {"pixel": "pixel-8a", "samsung": "galaxy-a54"})


async def test_a_follow_up_is_made_to_stand_alone_and_looked_up_and_the_trace_tells_how() -> None:
    found = await RetrieverLookup(retriever=retriever()).find("the second one", HISTORY, ScriptedModel())
    assert [passage.id for passage in found.passages] == ["pixel-8a"]
    assert found.item == {
        "kind": "query",
        "route": "retrieve",
        "route_why": "everything is looked up",
        "question": "the second one",
        "rewritten": "the second one: Pixel 8a",
        "words": ["phones"],
        "by": "words",
        "why": "it points back with a pronoun; it means Pixel 8a",
        "passages": ["pixel-8a"],
    }
    assert json.loads(json.dumps(found.item)) == found.item


async def test_nothing_is_looked_up_on_another_route() -> None:
    lookup = RetrieverLookup(retriever=retriever(), router=Router(tool_words=("in stock",), product_words=("phone",)))
    found = await lookup.find("Is the second one in stock?", HISTORY, ScriptedModel())
    assert (found.route, found.passages) == ("tool", ())
    assert found.item == {
        "kind": "query",
        "route": "tool",
        "route_why": 'it says "in stock"',
        "question": "Is the second one in stock?",
    }
    assert (await lookup.find("Thanks!", HISTORY, ScriptedModel())).route == "respond"


async def test_a_change_of_topic_is_looked_up_as_it_is() -> None:
    used = retriever()
    await RetrieverLookup(retriever=used).find("What is the capital of France?", HISTORY, ScriptedModel())
    assert (used.queries[-1].text, used.queries[-1].words) == ("What is the capital of France?", ())


async def test_conditions_are_read_from_the_question_where_an_assistant_knows_how() -> None:
    def below(question: str, history: Sequence[Message]) -> tuple[Filter, ...]:
        assert list(history) == list(HISTORY)
        return (Filter("price", "<", int(question.rpartition("$")[2])),)

    used = retriever()
    await RetrieverLookup(retriever=used, filters=below).find("and under $300", HISTORY, ScriptedModel())
    assert used.queries[-1].where == (Filter("price", "<", 300),)


async def test_a_model_that_can_rewrites() -> None:
    model = ScriptedModel(says("Is the Pixel 8a a good phone?"))
    model.is_scripted = False
    found = await RetrieverLookup(retriever=retriever()).find("Is it good?", HISTORY, model)
    assert (found.rewrite.by, found.rewrite.text) == ("model", "Is the Pixel 8a a good phone?")


async def test_an_assistant_may_choose_words_or_no_rewriting() -> None:
    model = ScriptedModel()
    model.is_scripted = False
    assert (
        await RetrieverLookup(retriever=retriever(), rewriting="words").find("Is it?", HISTORY, model)
    ).rewrite.by == "words"
    assert (
        await RetrieverLookup(retriever=retriever(), rewriting="never").find("Is it?", HISTORY, model)
    ).rewrite.by == "nothing"


async def test_an_index_that_fails_does_not_fail_the_turn() -> None:
    broken = retriever()
    broken.fails = True
    found = await RetrieverLookup(retriever=broken).find("the second one", HISTORY, ScriptedModel())
    assert found.passages == ()
    assert found.item["error"] == "retrieval_failed: The documents cannot be searched."


@pytest.mark.parametrize("kind", ["position", "pronoun", "ellipsis", "switch", "alone"])
async def test_the_shipped_conversations_find_what_answers_them(kind: str) -> None:
    cases = [case for case in own_cases() if case.kind == kind]
    async with HybridIndex.open() as index:
        await index.add(own_documents())
        lookup = RetrieverLookup(retriever=index)
        found = [await lookup.find(case.question, case.history, ScriptedModel()) for case in cases]
    hits = [case.gold & {passage.id for passage in each.passages} for case, each in zip(cases, found, strict=True)]
    assert sum(map(bool, hits)) >= 0.9 * len(cases)


def test_at_least_forty_conversations_are_shipped() -> None:
    assert len(own_cases()) >= 40


async def test_a_passage_that_the_model_reads_in_the_history_anyway_goes_last() -> None:
    used = StrictRetriever(RARITY, {"pixel": "pixel-8a", "samsung": "galaxy-a54"})
    plain = await RetrieverLookup(retriever=used).find("Samsung or Pixel ?", HISTORY, ScriptedModel())
    first, second = plain.passages
    told = (*HISTORY, Message(role=Role.USER, content="Say it."), Message(role=Role.ASSISTANT, content=first.text))
    again = await RetrieverLookup(retriever=used).find("Samsung or Pixel ?", told, ScriptedModel())
    assert [passage.id for passage in again.passages] == [second.id, first.id]
