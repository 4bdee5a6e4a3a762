"""Meaning for the recall of conversations, with and without vectors."""

from threadkeep.conversation.message import Message, Role
from threadkeep_retrieval.meaning import WordMeaning, load_meaning

HISTORY = [
    Message(role=Role.USER, content="Which phone has the best camera?"),
    Message(role=Role.ASSISTANT, content="The Fairphone has a fine camera."),
]


async def test_words_are_near_to_others_where_vectors_are_installed() -> None:
    assert "photograph" in await load_meaning().near(["camera"])
    near, far = await load_meaning().closeness("a phone", ["a telephone", "the taxes of Norway"])
    assert near > far


async def test_without_vectors_nothing_is_near_and_the_words_of_the_conversation_are_known() -> None:
    meaning = WordMeaning(None)
    assert await meaning.near(["camera"]) == ()
    assert await meaning.closeness("a phone", ["a telephone"]) == ()
    assert "Fairphone" in meaning.topic_words("How much?", HISTORY, 4)
