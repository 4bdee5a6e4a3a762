"""What a message wants: the ways in which people say it."""

import pytest

from threadkeep_assistants.skill_creator.intents import (
    Asks,
    Change,
    Clear,
    Intent,
    No,
    Nothing,
    Said,
    Skip,
    Wish,
    Yes,
    YouDecide,
)
from threadkeep_assistants.skill_creator.wording import read


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "Yes!",
        "y",
        "yep",
        "Yeah.",
        "ok",
        "OK, sounds good",
        "sure",
        "that's right",
        "Correct",
        "looks good to me",
        "👍",
        "yes please",
        "ok thanks",
        "yes, that’s right",
        "perfect",
        "of course",
        "It is.",
    ],
)
def test_agreement_in_many_words(text: str) -> None:
    assert read(text) == Yes()


@pytest.mark.parametrize("text", ["no", "Nope.", "nah", "not really", "that's wrong", "not quite", "👎", "n"])
def test_disagreement_in_many_words(text: str) -> None:
    assert read(text) == No()


@pytest.mark.parametrize("text", ["skip", "Skip this one", "pass", "next"])
def test_skipping(text: str) -> None:
    assert read(text) == Skip()


@pytest.mark.parametrize("text", ["none", "no thanks", "I don't need any", "not needed", "nothing special", "N/A"])
def test_wanting_nothing(text: str) -> None:
    assert read(text) == Skip(none=True)


@pytest.mark.parametrize("text", ["you decide", "I don't know", "whatever you think", "up to you", "not sure", "idk"])
def test_leaving_it_to_us(text: str) -> None:
    assert read(text) == YouDecide()


@pytest.mark.parametrize("text", ["you decide everything", "You decide on the rest", "you choose all of it"])
def test_leaving_everything_to_us(text: str) -> None:
    assert read(text) == YouDecide(everything=True)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("change the description", Change("description")),
        ("Can you change the triggers?", Change("triggers")),
        ("go back to the name", Change("skill_name")),
        ("make the description shorter", Change("description")),
        ("Change the name to Meeting Notes", Change("skill_name", "Meeting Notes")),
        ("the description should be: It sorts mail", Change("description", "It sorts mail")),
        ("name: mail-sorter", Change("skill_name", "mail-sorter")),
        ("call it minutes-maker", Change("skill_name", "minutes-maker")),
        ("I'd like to change the steps to read, then write", Change("workflow_steps", "read, then write")),
        ("add an example: Sort this", Change("examples", "Sort this", adds=True)),
        ("add another trigger", Change("triggers", adds=True)),
        ("no scripts", Clear("scripts_needed")),
        ("No scripts needed.", Clear("scripts_needed")),
        ("remove the examples", Clear("examples")),
        ("the triggers are: a link is pasted", Change("triggers", "a link is pasted")),
        ("the name is mail-sorter", Change("skill_name", "mail-sorter")),
        ("rename it to", Change("skill_name")),
        ("no wait, add a capability: find dates", Change("capabilities", "find dates", adds=True)),
        ("change the description to be more friendly", Change("description")),
        (
            "change the name to a-b and the description to Does it.",
            Change("skill_name", "a-b", more=(Change("description", "Does it"),)),
        ),
        (
            'find tasks; sort them, and the examples are "sort this"',
            Said("find tasks; sort them", more=(Change("examples", '"sort this"'),)),
        ),
    ],
)
def test_changes(text: str, wanted: Intent) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/status", "status"),
        ("what's missing?", "status"),
        ("where are we?", "status"),
        ("go back", "back"),
        ("undo", "back"),
        ("cancel", "cancel"),
        ("never mind", "cancel"),
        ("start over", "restart"),
        ("help", "help"),
        ("???", "help"),
        ("write it", "write"),
        ("That's all", "write"),
        ("just do it", "write"),
        ("try again", "again"),
        ("use the template", "template"),
        ("show me the skill", "show"),
        ("continue", "continue"),
        ("thanks!", "continue"),
        ("hello there", "continue"),
        ("status please", "status"),
        ("forget everything", "restart"),
        ("hmm let me think", "wait"),
        ("no, shorter", "shorter"),
        ("that's too long", "shorter"),
    ],
)
def test_commands(text: str, name: str) -> None:
    assert read(text) == Wish(name)


@pytest.mark.parametrize(
    "text",
    [
        "what is a skill?",
        "is my data safe?",
        "wait, how long will this take?",
        "what do you mean",
        "I don't understand",
        "Can you give me an example?",
        "steps?",
        "why?",
    ],
)
def test_questions_to_us_are_no_answers(text: str) -> None:
    assert isinstance(read(text), Asks)


@pytest.mark.parametrize("text", ["when somebody asks", "how to sort mail", "understand contracts", "is it a bug"])
def test_what_only_begins_like_a_question_is_an_answer(text: str) -> None:
    assert read(text) == Said(text)


@pytest.mark.parametrize("text", ["", "   ", "...", "!!!", "\n\n", "---", "aaaaaaa", "🙂🙂"])
def test_what_is_no_answer(text: str) -> None:
    assert read(text) == Nothing()


def test_agreement_and_disagreement_may_go_on() -> None:
    assert read("yes, but change the name to foo") == Yes("change the name to foo")
    assert read("No, it should sort mail") == No("it should sort mail")


@pytest.mark.parametrize(
    "text",
    [
        "change the name of files in a folder to lowercase",
        "It writes the description of a product",
        "status reports",
        "no-code apps are explained",
        "yesterday's mail is sorted",
        "notes",
        "skip the header lines of a file",
    ],
)
def test_words_that_only_look_like_a_command_are_an_answer(text: str) -> None:
    assert read(text) == Said(text)


@pytest.mark.parametrize("piece", ["i want to ", "also ", "yes ", "no, ", "change the ", "skip ", "a: ", "you decide "])
def test_reading_comes_to_an_end_whatever_is_said(piece: str) -> None:
    assert isinstance(read(piece * 5_000), Said | No)
    assert read(piece * 180) is not None
