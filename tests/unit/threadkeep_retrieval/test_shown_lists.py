"""Lists that answers have shown."""

from typing import Any

from threadkeep.conversation.message import Message, Role
from threadkeep_retrieval.shown_lists import shown_lists


def names(*answers: Message) -> list[list[list[str]]]:
    return [[[item.names[0] for item in shown] for shown in lists] for lists in shown_lists(answers)]


def said(text: str) -> Message:
    return Message(role=Role.ASSISTANT, content=text)


def showed(*blocks: dict[str, Any]) -> Message:
    text = "Here you are:\n1. one\n2. two"
    return Message.model_validate({"role": "assistant", "content": text, "blocks": blocks})


def test_numbered_and_dotted_lines_are_lists_and_a_paragraph_ends_one() -> None:
    text = "Best:\n1. **Samsung Galaxy A54** - $449\n2) Pixel 8a: $499\n\nAlso:\n- Nokia X30, 300 €\n* `Edge` (slim)"
    assert names(said(text)) == [[["Samsung Galaxy A54", "Pixel 8a"], ["Nokia X30", "Edge"]]]


def test_a_one_begins_a_new_list() -> None:
    assert names(said("1. a\n2. b\n1. c\n2. d")) == [[["a", "b"], ["c", "d"]]]


def test_a_single_line_is_no_list() -> None:
    assert names(said("- only this"), said("No list at all - really.")) == []


def test_prices_in_a_text_are_numbers_of_an_item() -> None:
    [[shown]] = shown_lists([said("1. A7, $1,299.50\n2. B, 80 EUR\n3. C")])
    assert [dict(item.numbers) for item in shown] == [{"price": 1299.5}, {"price": 80.0}, {}]


def test_blocks_are_lists_and_the_text_beside_them_is_none() -> None:
    ranked = {"type": "ranked_list", "rows": [{"ticker": "AAPL", "name": "Apple", "score": 0.9}, {"score": 1}]}
    table = {"type": "table", "columns": ["cost centre", "plan"], "rows": [["Sales", 12], ["Research", 24], []]}
    compared = {"type": "split_compare", "leftTitle": "Duke", "rightTitle": "NextEra"}
    own = {"type": "product_list", "products": [{"title": "AeroBook", "price": 999}, "odd"]}
    narrative = {"type": "narrative", "text": "- a\n- b"}
    found = names(showed(ranked, table, compared, own, narrative))
    assert found == [[["Apple"], ["Sales", "Research"], ["Duke", "NextEra"], ["AeroBook"]]]


def test_every_name_and_number_of_a_row_is_kept() -> None:
    row = {"ticker": "AAPL", "name": "Apple", "score": 0.9, "is_new": True, "note": "x"}
    [[[item]]] = shown_lists([showed({"type": "ranked_list", "rows": [row]})])
    assert (item.names, dict(item.numbers)) == (("Apple", "AAPL"), {"score": 0.9})


def test_only_answers_show_lists() -> None:
    assert shown_lists([Message(role=Role.USER, content="1. a\n2. b")]) == []


def test_very_long_lists_are_cut() -> None:
    [[shown]] = shown_lists([said("\n".join(f"- item {number}" for number in range(10_000)))])
    assert len(shown) == 100


def test_what_a_thing_has_is_no_list_of_things() -> None:
    assert shown_lists([said("**Arc 9**:\n\n- screen: 6.1 inch\n- battery: 3900 mAh\n- weight: 169 g")]) == []
    assert names(said("- shoes: $50\n- socks: $5")) == [[["shoes", "socks"]]]
