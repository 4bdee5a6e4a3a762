"""Which words of a conversation are looked for."""

from threadkeep.conversation.blocks import RankedList
from threadkeep.conversation.message import Message, Role, ToolResult
from threadkeep_retrieval.expansion import ONE_TOPIC, candidates, choose, shared_words


def user(text: str) -> Message:
    return Message(role=Role.USER, content=text)


def answer(text: str) -> Message:
    return Message(role=Role.ASSISTANT, content=text)


def test_newer_words_count_more_and_those_of_a_person_before_those_of_answers() -> None:
    said = [user("Hello"), user("tulips"), answer("bulbs"), user("roses"), answer("thorns, thorns in Holland")]
    found = list(candidates("Why?", said))
    assert found.index("roses") < found.index("tulips") < found.index("thorns") < found.index("bulbs")
    assert "roses" in list(candidates("Why?", [*said, answer("roses")]))[:2]


def test_the_question_that_opens_a_conversation_or_a_topic_counts_more() -> None:
    said = [user("whales"), user("oceans"), user("tulips"), user("bulbs"), user("roses")]
    assert next(iter(candidates("Why?", said))) == "whales"
    assert list(candidates("Why?", said)).index("whales") < list(candidates("Why?", said)).index("oceans")
    assert list(candidates("Why?", said, opening=2)).index("tulips") < list(candidates("Why?", said)).index("tulips")


def test_the_first_question_of_a_long_conversation_names_no_topic_any_more() -> None:
    said = [user("whales"), *[user("tulips")] * ONE_TOPIC]
    assert "whales" not in candidates("Why?", said)
    assert "whales" in candidates("Why?", said[:-1])


def test_words_of_the_question_and_stop_words_are_left_out() -> None:
    found = candidates("Which phone?", [user("Are the phones of Nokia good for a Samsung fan?")])
    assert list(found) == ["Nokia", "Samsung", "fan"]


def test_words_come_as_they_were_written_from_blocks_too() -> None:
    shown = Message(role=Role.ASSISTANT, blocks=(RankedList(rows=[{"ticker": "AAPL"}]),))
    assert list(candidates("Why?", [shown, user("Zürich")])) == ["Zürich", "AAPL"]


def test_tools_and_instructions_say_nothing() -> None:
    result = Message(role=Role.TOOL, content="secret", tool_result=ToolResult(tool_call_id="1"))
    assert candidates("Why?", [Message(role=Role.SYSTEM, content="kind"), result]) == {}


def test_scripts_without_spaces_give_pairs() -> None:
    assert "东京" in candidates("为什么?", [user("东京塔")])


def test_the_rarest_are_chosen_and_those_that_no_document_has_are_not() -> None:
    words = {"common": 1.0, "rare": 1.0, "missing": 1.0, "old": 0.05}
    assert choose(words, {"common": 0.1, "rare": 0.8, "missing": 1.0, "old": 0.9}, 2) == ("rare", "common")
    assert choose(words, {}, 2) == ("common", "rare")
    assert choose({}, {}, 5) == ()


def test_a_shared_word_is_the_persons_if_both_said_it() -> None:
    said = [user("phones"), answer("A phone with a camera")]
    assert shared_words("Which phone camera?", said) == {"phone": Role.USER, "camera": Role.ASSISTANT}


def test_only_a_bounded_part_of_a_long_history_is_looked_at() -> None:
    history = [user("first"), user("early"), *(user(f"word{number} " * 50_000) for number in range(8))]
    assert "early" not in candidates("Why?", history)
