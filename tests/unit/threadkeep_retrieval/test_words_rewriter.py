"""Rewriting by words of the conversation."""

from collections.abc import Sequence

import pytest

from tests.unit.threadkeep_retrieval.strict_retriever import StrictRetriever
from threadkeep.conversation.message import Message, Role
from threadkeep.turn.lookup import Rewrite
from threadkeep_retrieval.base import Retriever
from threadkeep_retrieval.words_rewriter import WordsRewriter

RARITY = {"samsung": 0.8, "galaxy": 0.7, "pixel": 0.8, "phones": 0.3, "waterproof": 0.6, "500": 0.4}
HISTORY = (
    Message(role=Role.USER, content="Show me phones under $500"),
    Message(role=Role.ASSISTANT, content="1. **Samsung Galaxy A54** - $449\n2. **Google Pixel 8a** - $499"),
)


def no(question: str, history: Sequence[Message]) -> tuple[bool, str]:
    return False, "it stands alone"


async def test_rare_words_are_looked_for_beside_the_question() -> None:
    rewrite = await WordsRewriter(StrictRetriever(RARITY)).rewrite("How do they compare?", HISTORY)
    assert (rewrite.text, rewrite.by) == ("How do they compare?", "words")
    assert rewrite.words == ("500", "phones", "Samsung", "Pixel", "Galaxy")


async def test_a_place_in_a_list_gets_its_name() -> None:
    rewrite = await WordsRewriter(StrictRetriever(RARITY)).rewrite("How heavy is the second one?", HISTORY)
    assert rewrite.text == "How heavy is the second one: Google Pixel 8a"
    assert rewrite.words == ("500", "phones")
    assert rewrite.why.endswith("it means Google Pixel 8a")


async def test_a_first_question_stays_as_it_is() -> None:
    question = "Show me phones"
    rewrite = await WordsRewriter(StrictRetriever(RARITY)).rewrite(question, ())
    assert rewrite == Rewrite(question=question, text=question, why="it is the first question")


async def test_a_change_of_topic_stays_as_it_is() -> None:
    rewrite = await WordsRewriter(StrictRetriever(RARITY), no).rewrite("What is the capital of France?", HISTORY)
    assert (rewrite.words, rewrite.by, rewrite.why) == ((), "nothing", "it stands alone")


async def test_a_question_that_could_stand_alone_stays_with_its_topic_by_a_shared_word() -> None:
    rewrite = await WordsRewriter(StrictRetriever(RARITY), no).rewrite("Is a Samsung waterproof?", HISTORY)
    assert rewrite.by == "words"
    assert rewrite.why.startswith('it stays with "Samsung"')


async def test_a_common_word_is_no_topic() -> None:
    rewriter = WordsRewriter(StrictRetriever({**RARITY, "phones": 0.05}), no)
    assert (await rewriter.rewrite("Do phones cause headache?", HISTORY)).by == "nothing"


async def test_a_question_that_finds_what_the_conversation_finds_stays_with_its_topic() -> None:
    retriever = StrictRetriever(RARITY, {"waterproof": "galaxy-a54", "samsung": "galaxy-a54"})
    rewrite = await WordsRewriter(retriever, no).rewrite("waterproof devices", HISTORY)
    assert (rewrite.by, rewrite.why) == ("words", "it stays with what was found before")


async def test_an_index_that_fails_leaves_the_question_as_it_is() -> None:
    retriever = StrictRetriever(RARITY)
    retriever.fails = True
    rewrite = await WordsRewriter(retriever).rewrite("the second one", HISTORY)
    assert (rewrite.text, rewrite.by) == ("the second one", "nothing")


async def test_a_retriever_that_knows_nothing_about_words_still_gets_some() -> None:
    class Silent(StrictRetriever):
        rarity = Retriever.rarity

    rewrite = await WordsRewriter(Silent({})).rewrite("Why?", HISTORY)
    assert rewrite.words[:2] == ("phones", "500")


@pytest.mark.parametrize("question", ["", "\x00", "🙂", "?" * 100_000, "的", "\u202eאבג"])
async def test_odd_questions_and_histories_are_rewritten_without_a_fault(question: str) -> None:
    odd = (Message(role=Role.USER, content=question), Message(role=Role.ASSISTANT, content="\x00" * 10 + "1. \n2. "))
    assert (await WordsRewriter(StrictRetriever(RARITY)).rewrite(question, odd)).question == question
