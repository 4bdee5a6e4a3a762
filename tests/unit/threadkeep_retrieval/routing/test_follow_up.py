"""Follow-up detection."""

import pytest

from threadkeep.conversation.blocks import RankedList
from threadkeep.conversation.message import Message, Role
from threadkeep_retrieval.routing.follow_up import follow_up

PHONES = (
    Message(role=Role.USER, content="Show me phones under $500"),
    Message(role=Role.ASSISTANT, content="1. **Samsung Galaxy A54** - $449\n2. **Google Pixel 8a** - $499"),
)


@pytest.mark.parametrize(
    "question",
    [
        "How much does it weigh?",
        "tell me more about the Samsung one",
        "the second one",
        "What does number 2 cost?",
        "no, the first list",
        "What about the battery?",
        "and its margins?",
        "same for banks",
        "I meant the older model",
        "Which hotel?",
        "Who is responsible?",
        "What are the main advantages?",
        "Are there any others?",
        "How does the former compare?",
        "Why?",
        "compare them",
        "e-mail? Why is that?",
        "which have a good camera?",
        "and which have 128 GB?",
        "Which has the longest battery life?",
        "which are waterproof?",
        "which of them support 5G?",
        "Can I get a refund for it?",
        "I don't know, but which one is better?",
        "anything similar for kids?",
        "something for my grandmother?",
        "any with a keyboard?",
    ],
)
def test_a_question_that_leans_on_the_conversation_needs_it(question: str) -> None:
    assert follow_up(question, PHONES).needs_context, question


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "Why is the sky blue?",
        "How do I reset my password?",
        "What is taurine and is it dangerous for children?",
        "Tell me about the history of the Boise Greenbelt.",
        "What does it mean to be a vegan?",
        "When did Netflix shift from DVDs to a streaming service?",
        "Show me laptops with 32 GB of memory",
        "Which is the biggest commercial plane?",
        "Which countries have nuclear weapons?",
        "I'd like to learn more about frogs. What's the biggest one?",
        "Hi, my bike chain keeps going out, what is the issue?",
        "My laptop is slow. How can I fix it?",
        "There are many kinds of penguins. Which one is the tallest?",
        "We adopted two kittens and they keep scratching the sofa, how do we stop them?",
        "I bought a sofa online but it arrived damaged. Can I return it?",
        "My neighbour's dog barks all night and I can't stand it, what can I do about him?",
        "There are so many yoga styles. Which one is best for back pain?",
        "I'm planning a trip to Peru, what's the best time to go there?",
        "Let's talk about the Roman Empire. Why did it fall?",
        "Is it true that bats are blind?",
    ],
)
def test_a_question_that_names_what_it_is_about_stands_alone(question: str) -> None:
    assert not follow_up(question, PHONES).needs_context, question


@pytest.mark.parametrize("question", ["I have small hands. Is it comfortable?", "Is it easier to learn than Spanish?"])
def test_a_word_for_one_thing_does_not_stand_for_several_that_the_question_names(question: str) -> None:
    assert follow_up(question, PHONES).needs_context, question


@pytest.mark.parametrize(
    "question",
    ["Und was kostet das?", "Wie schwer ist er?", "Et celui-ci ?", "¿Y eso?", "它多少钱?", "והשני?", "それは?"],
)
def test_other_languages_and_scripts_are_understood_as_far_as_they_go(question: str) -> None:
    assert follow_up(question, PHONES).needs_context, question


def test_a_long_question_in_another_script_with_nothing_known_stands_alone() -> None:
    assert not follow_up("今" * 80, PHONES).needs_context


def test_a_first_question_never_needs_context() -> None:
    judged = follow_up("How does it work?", ())
    assert (judged.needs_context, judged.why) == (False, "it is the first question")
    assert not follow_up("And it?", (Message(role=Role.SYSTEM, content="Be kind."),)).needs_context


def test_a_courtesy_asks_nothing() -> None:
    assert not follow_up("Thanks, great!", PHONES).needs_context
    assert follow_up("Yes", PHONES).needs_context


def test_the_reason_is_the_strongest_sign() -> None:
    assert follow_up("Does it float?", PHONES).why == "it points back with a pronoun"
    assert follow_up("What are the advantages?", PHONES).why == "it names nothing by itself"


def test_words_that_were_said_before_are_told_also_where_they_stand_in_blocks() -> None:
    shown = Message(role=Role.ASSISTANT, blocks=(RankedList(rows=[{"ticker": "AAPL"}]),))
    judged = follow_up("How large is AAPL in Vietnam nowadays?", (PHONES[0], shown))
    assert judged.shared == ("AAPL",)
    assert follow_up("Is the Pixel waterproof?", PHONES).shared == ("Pixel",)


@pytest.mark.parametrize(
    "question", ["", "  \n", "\x00", "🙂", "?!", "word " * 100_000, "\u202eabc\u202c", "a\x00it b"]
)
def test_odd_questions_are_judged_all_the_same(question: str) -> None:
    assert isinstance(follow_up(question, PHONES).needs_context, bool)


def test_the_same_question_is_always_judged_the_same() -> None:
    assert follow_up("Is it good?", PHONES) == follow_up("Is it good?", PHONES)


@pytest.mark.parametrize(
    "question",
    [
        "Thanks, that helped!",
        "Vielen Dank, das hat geholfen!",
        "Merci beaucoup, c'est parfait !",
        "Muchas gracias, eso me ayuda.",
        "Grazie mille, perfetto.",
        "Muito obrigado, era isso.",
        "Bedankt, dat helpt.",
        "Большое спасибо, это помогло!",
        "谢谢，这很有帮助！",
        "ありがとう、助かりました。",
        "감사합니다, 도움이 됐어요.",
        "شكرا، هذا مفيد.",
        "धन्यवाद, इससे मदद मिली।",
        "Dziękuję, to pomogło!",
    ],
)
def test_thanks_with_a_clause_ask_for_nothing(question: str) -> None:
    assert follow_up(question, PHONES).why == "it is a courtesy"


@pytest.mark.parametrize("question", ["Thanks, and the second one?", "Danke, und der zweite?", "Merci, et le prix ?"])
def test_thanks_before_a_question_are_none(question: str) -> None:
    assert follow_up(question, PHONES).needs_context


POLISH = (
    Message(role=Role.USER, content="Jaki rower elektryczny polecasz do codziennej jazdy?"),
    Message(role=Role.ASSISTANT, content="Dobry będzie Kross Trans Hybrid, ponieważ ma lekką ramę i dużą baterię."),
)


@pytest.mark.parametrize(
    ("question", "needs_context"),
    [
        ("Ile to kosztuje?", True),
        ("Jak długo się ładuje?", True),
        ("A jaki ma zasięg?", True),
        ("Dlaczego?", True),
        ("Czy bateria jest wyjmowana?", True),
        ("Jaka jest stolica Francji?", False),
        ("Kto napisał powieść Pan Tadeusz?", False),
        ("Jak ugotować zupę pomidorową bez użycia śmietany?", False),
    ],
)
def test_a_language_without_lists_is_judged_without_them(question: str, needs_context: bool) -> None:
    assert follow_up(question, POLISH).needs_context is needs_context
