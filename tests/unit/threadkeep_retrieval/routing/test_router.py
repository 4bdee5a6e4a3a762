"""The router."""

import pytest

from bench.keyword_list import mentions_reference
from threadkeep.conversation.blocks import Table
from threadkeep.conversation.message import Message, Role
from threadkeep_retrieval.routing.router import Router

ROUTER = Router(
    tool_words=("order status", "in stock", "where is my order"), product_words=("phone", "laptop", "headphones")
)
HISTORY = (
    Message(role=Role.USER, content="Show me something under $500"),
    Message(role=Role.ASSISTANT, content="These phones fit:\n1. Samsung Galaxy A54\n2. Google Pixel 8a"),
)


def route(question: str, history: tuple[Message, ...] = HISTORY) -> str:
    return ROUTER.route(question, history).route


def test_tool_words_go_before_product_words() -> None:
    assert route("Is that phone in stock?") == "tool"
    assert route("What is the ORDER  STATUS of my laptop?") == "tool"


def test_product_words_are_looked_up_in_any_number() -> None:
    assert route("Which phones do you have?", ()) == "retrieve"
    assert route("a good Laptop", ()) == "retrieve"


def test_a_follow_up_on_an_answer_about_products_is_looked_up() -> None:
    assert route("tell me more about the Samsung one") == "retrieve"
    assert route("the second one") == "retrieve"
    assert ROUTER.route("And the battery?", HISTORY).why == 'it follows an answer about "phone"'


def test_a_question_that_names_something_of_the_answer_is_looked_up() -> None:
    assert route("Is the Pixel waterproof?") == "retrieve"


def test_a_follow_up_on_an_answer_about_something_else_is_not_looked_up() -> None:
    talk = (Message(role=Role.USER, content="Hello"), Message(role=Role.ASSISTANT, content="Hello, how are you?"))
    assert route("Why do you ask that?", talk) == "respond"


def test_products_in_blocks_count_as_well() -> None:
    shown = Message(role=Role.ASSISTANT, blocks=(Table(columns=["laptop"], rows=[["AeroBook"]]),))
    assert route("How heavy is it?", (HISTORY[0], shown)) == "retrieve"


@pytest.mark.parametrize("question", ["Thanks!", "What is the capital of France?", "", "\x00", "🙂" * 1000])
def test_everything_else_is_answered_directly(question: str) -> None:
    assert route(question, ()) == "respond"


def test_a_change_of_topic_is_answered_directly() -> None:
    assert route("What is the capital of France?") == "respond"
    assert route("Thanks!") == "respond"


def test_a_word_is_not_found_inside_another() -> None:
    assert route("What does a megaphone do in Peru?", ()) == "respond"


def test_a_router_without_words_looks_nothing_up() -> None:
    assert Router().route("the second one", HISTORY).route == "respond"


@pytest.mark.parametrize("question", ["What about it?", "Tell me more", "what’s the difference", "any other options"])
def test_the_baseline_finds_the_words_of_its_list(question: str) -> None:
    assert mentions_reference(question)


@pytest.mark.parametrize("question", ["Who is responsible?", "its margins", "an item"])
def test_the_baseline_misses_what_is_not_in_its_list(question: str) -> None:
    assert not mentions_reference(question)
