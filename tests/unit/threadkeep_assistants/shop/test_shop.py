"""The shop, asked as people ask: R-E5 to R-E8 and R-E11 with the scripted model, the real graph and a real index."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.threadkeep_assistants.long_texts import LONG, check_growth
from tests.unit.threadkeep_assistants.shop.conversations import ask, ask_all, shopping
from threadkeep.conversation.blocks import Citation
from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Request
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep.text.notes import note
from threadkeep_assistants.demo.script import Scene
from threadkeep_assistants.shop import ASSISTANT
from threadkeep_assistants.shop.catalogue import Product, named_in, products
from threadkeep_assistants.shop.question import Question, meaning
from threadkeep_assistants.shop.script import SCRIPT


async def test_phones_under_500_are_phones_under_500_and_cited() -> None:
    told = await ask_all("Which phones are under $500?")
    found = [products()[id] for id in told.cited]
    assert len(found) == 5
    assert all(product.kind == "phone" and product.price < 500 for product in found)
    assert any(product.brand == "Samsung" for product in found)
    assert told.nodes == ("router", "reformulator", "retriever", "generator")


async def test_the_samsung_one_is_the_one_of_the_list_also_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    async with shopping(store) as chat:
        listed = await ask(chat, "Which phones are under $500?")
    samsung = next(products()[id] for id in listed.cited if products()[id].brand == "Samsung")
    async with shopping(store, id=chat.id) as again:
        told = await ask(again, "tell me more about the Samsung one")
    assert told.cited == [samsung.id]
    assert samsung.name in told.text
    assert told.query["by"] == "words"
    assert samsung.name in told.query["words"]


@pytest.mark.parametrize(
    "question",
    [
        "phones under $500",
        "I need a phone for less than 500 dollars",
        "show me smartphones below 500",
        "any mobile up to $499?",
        "what phones do you have under 500",
        "cheap phones, max 500",
        "Can you recommend a phone? At most $500.",
        "I want to buy a new handset for under 500 bucks",
        "phone under $500 please",
        "PHONES UNDER $500!!",
    ],
)
async def test_ways_to_ask_for_phones(question: str) -> None:
    told = await ask_all(question)
    found = [products()[id] for id in told.cited]
    assert found
    assert all(product.kind == "phone" and product.price <= 500 for product in found)


@pytest.mark.parametrize(
    "question",
    [
        "tell me more about the Samsung one",
        "the samsung one?",
        "What about the Samsung?",
        "more details on the Samsung, please",
        "and the Samsung one, is it any good?",
        "how is the samsung?",
        "I like the Samsung one. What do people say about it?",
        "Samsung one: specs?",
        "Can you describe the Samsung phone",
        "what's the battery of the samsung one",
    ],
)
async def test_ways_to_ask_about_one_of_the_list(question: str) -> None:
    async with shopping() as chat:
        listed = await ask(chat, "phones under $500")
        samsung = next(products()[id] for id in listed.cited if products()[id].brand == "Samsung")
        told = await ask(chat, question)
        assert samsung.name in told.text
        assert told.cited == [samsung.id]


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("tell me more about the first one", 0),
        ("the second one", 1),
        ("what about number 3?", 2),
        ("more about the last one", -1),
        ("the top one please", 0),
    ],
)
async def test_a_place_in_the_list_is_understood(question: str, place: int) -> None:
    async with shopping() as chat:
        listed = await ask(chat, "phones under $500")
        lines = [line for line in listed.text.splitlines() if line[:1].isdigit()]
        assert (await ask(chat, question)).cited == [lines[place].rpartition("[")[2].rstrip("]")]


async def test_the_cheapest_of_the_list_is_told_by_its_price() -> None:
    async with shopping() as chat:
        listed = [products()[id] for id in (await ask(chat, "phones under $500")).cited]
        cheapest = min(listed, key=lambda product: product.price)
        assert (await ask(chat, "which is the cheapest one?")).cited == [cheapest.id]


async def test_two_of_the_list_are_compared_even_after_looking_at_one() -> None:
    async with shopping() as chat:
        listed = await ask(chat, "phones under $500")
        await ask(chat, "tell me more about the second one")
        told = await ask(chat, "compare the first two")
        lines = [line for line in listed.text.splitlines() if line[:1].isdigit()]
        assert sorted(told.cited) == sorted(line.rpartition("[")[2].rstrip("]") for line in lines[:2])
        assert told.text.startswith("| |")


async def test_prices_and_stock_come_from_tools_and_it_is_what_was_talked_about() -> None:
    async with shopping() as chat:
        await ask(chat, "phones under $500")
        one = (await ask(chat, "tell me more about the first one")).cited[0]
        stock = await ask(chat, "is it in stock?")
        assert stock.tools == ("check_stock",)
        assert products()[one].name in stock.text
        price = await ask(chat, "and how much is it?")
        assert price.tools == ("get_price",)
        assert f"${products()[one].price}" in price.text


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Where is my order A1002?", "delivered"),
        ("track a1000", "shipped"),
        ("what is the status of order #A1001", "being packed"),
        ("where is my order A9999?", "There is no order A9999"),
        ("where is my order?", "numbers look like A1002"),
    ],
)
async def test_orders_are_told_by_a_tool(question: str, told: str) -> None:
    answer = await ask_all(question)
    assert answer.tools == ("order_status",)
    assert told in answer.text


async def test_another_kind_of_product_is_a_change_of_topic() -> None:
    told = await ask_all("phones under $500", "tell me more about the first one", "what about headphones for running?")
    assert {products()[id].kind for id in told.cited} == {"headphones"}
    assert told.query["by"] == "nothing"


async def test_the_camera_of_a_phone_is_no_other_kind_of_product() -> None:
    told = await ask_all("phones under $500", "which have a good camera?")
    assert {products()[id].kind for id in told.cited} == {"phone"}
    told = await ask_all("phones under $500", "show me cameras")
    assert {products()[id].kind for id in told.cited} == {"camera"}


async def test_a_brand_alone_stays_with_what_was_asked_for() -> None:
    told = await ask_all("coffee machines under $800", "any from Philips?")
    found = [products()[id] for id in told.cited]
    assert found
    assert {(product.kind, product.brand) for product in found} == {("coffee machine", "Philips")}


PHONES = "phones under $500"
FIRST = ["P024", "P027", "P028", "P025", "P021"]
"""What is found for it, in order."""


@pytest.mark.parametrize(
    ("before", "question", "cited"),
    [
        # Those of the list, in its order, and the ones of them that fit.
        ([], "how heavy are they?", None),
        ([], "who supplies them?", FIRST),
        ([], "what do the reviews say?", FIRST),
        ([], "cheapest of those", ["P021"]),
        ([], "the lightest one", FIRST),
        ([], "alternatives?", []),
        ([], "which have 128 GB?", []),
        ([], "the second cheapest", ["P024"]),
        ([], "which of them cost less than 430?", ["P024", "P021"]),
        ([], "which of them have 1024 GB?", []),
        ([], "first one, what do people say?", ["P024"]),
        (["what about tablets?"], "no, the first list", FIRST),
        # One of them, and what is said about it.
        (["the third one"], "does it come in another size?", ["P028"]),
        (["the third one"], "and in white?", ["P028"]),
        (["the third one"], "and the price?", ["P028"]),
        (["the third one"], "how long does the battery last?", ["P028"]),
        (["the third one"], "is it waterproof?", ["P028"]),
        (["the third one"], "the next one", ["P025"]),
        (["the third one"], "compare it to the first one", ["P028", "P024"]),
        (["the third one", "the last one"], "compare both", ["P028", "P021"]),
        (["compare the first two"], "which is cheaper?", ["P024"]),
        (["compare the first two"], "which one has the better camera?", ["P024", "P027"]),
        (["My name is Alice", "what is my name?"], "the second one", ["P027"]),
        (["what's the weather?"], "the second one", ["P027"]),
        (["tell me more about the samsung one"], "any reviews?", ["P028"]),
    ],
)
async def test_what_a_follow_up_means(before: list[str], question: str, cited: list[str] | None) -> None:
    told = await ask_all(PHONES, *before, question)
    assert sorted(told.cited) == sorted(FIRST) if cited is None else told.cited == cited


@pytest.mark.parametrize(
    ("questions", "found", "fits"),
    [
        ([PHONES, "which have a good camera?"], 5, lambda each: each.kind == "phone" and each.price < 500),
        ([PHONES, "the third one", "what about under 300?"], 5, lambda each: each.kind == "phone" and each.price < 300),
        ([PHONES, "the third one", "something cheaper"], 5, lambda each: each.kind == "phone" and each.price < 499),
        (["phones under $50", "ok, under 200 then"], 5, lambda each: each.kind == "phone" and each.price < 200),
        (["laptops", "with 32 GB of memory"], 5, lambda each: each.specs["memory"] == "32 GB"),
        ([PHONES, "cheaper than 400"], 5, lambda each: each.kind == "phone" and each.price < 400),
        (["cheapest laptop"], 5, lambda each: each.price <= 409),
        (["best rated phone"], 5, lambda each: each.rating >= 4.8),
        (["phones with rating above 4.5"], 5, lambda each: each.rating > 4.5),
        (["Nokia or Samsung phones under 400"], 5, lambda each: each.brand in ("Nokia", "Samsung")),
        (["Welche Handys kosten unter 500 Euro?"], 5, lambda each: each.kind == "phone" and each.price < 500),
    ],
)
async def test_what_a_search_finds(questions: list[str], found: int, fits: Callable[[Product], bool]) -> None:
    told = await ask_all(*questions)
    assert len(told.cited) == found
    assert all(fits(products()[id]) for id in told.cited), told.text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("how heavy is it?", "weight: 169 g"),
        ("what about the battery?", "battery: 3900 mAh"),
    ],
)
async def test_only_what_the_catalogue_says_is_told(question: str, said: str) -> None:
    assert said in (await ask_all(PHONES, "the third one", question)).text


async def test_the_query_of_a_tool_is_on_the_trace_too() -> None:
    async with shopping() as chat:
        await ask(chat, PHONES)
        told = await ask(chat, "which of them are in stock?")
        assert told.tools == ("check_stock",) * 5
        trace = [item for message in await chat.messages() for item in message.tool_trace if item["kind"] == "query"]
    assert trace[-1]["why"].startswith("it means Motorola Vela X 9 and OnePlus Vela Plus 9")


async def test_an_order_is_asked_about_by_its_number_alone() -> None:
    async with shopping() as chat:
        assert "delivered" in (await ask(chat, "Where is my order A1002?")).text
        assert "waiting for payment" in (await ask(chat, "and A1003?")).text
        assert "A1003" in (await ask(chat, "when will it arrive?")).text


@pytest.mark.parametrize(
    "question", ["do you have bicycles?", "asdf", "tell me a joke", "do you deliver to Norway?", "phnes?"]
)
async def test_what_the_shop_does_not_know_is_said(question: str) -> None:
    told = await ask_all(question)
    assert told.text.startswith("I am scripted and did not understand that. The catalogue has camera, coffee machine")
    assert told.cited == []


@pytest.mark.parametrize(
    "question",
    [
        "phones, budget 500 max",
        "phones <= $500",
        "a phone for five hundred dollars",
        "phones for 500 bucks or less",
        "I can spend 500 on a phone",
        "phones between $300 and $500",
        "a phone, my budget is $500",
        "phones under 0.5k",
        "a phone, I can't go over $500",
    ],
)
async def test_a_limit_is_kept_as_people_write_it(question: str) -> None:
    found = [products()[id] for id in (await ask_all(question)).cited]
    assert len(found) == 5
    assert all(product.kind == "phone" and product.price <= 500 for product in found)


async def test_what_fits_is_counted_after_a_filter() -> None:
    def fitting(*brands: str) -> int:
        phones = [each for each in products().values() if each.kind == "phone" and each.price < 500]
        return sum(not brands or each.brand in brands for each in phones)

    async with shopping() as chat:
        await ask(chat, PHONES)
        assert (await ask(chat, "how many are there?")).text.startswith(f"{fitting()} in the catalogue fit")
        await ask(chat, "only Samsung")
        assert (await ask(chat, "how many are there?")).text.startswith(f"{fitting('Samsung')} in the catalogue fit")


async def test_those_that_were_shown_are_counted() -> None:
    async with shopping() as chat:
        shown = (await ask(chat, PHONES)).cited
        samsung = sum(products()[id].brand == "Samsung" for id in shown)
        assert (await ask(chat, "how many did you show?")).text == f"{len(shown)} of those that were shown."
        assert (await ask(chat, "how many of them are from Samsung?")).text == f"{samsung} of those that were shown."


async def test_the_runner_up_is_the_second_and_the_better_rating_one_of_the_two() -> None:
    async with shopping() as chat:
        shown = (await ask(chat, PHONES)).cited
        assert (await ask(chat, "tell me about the runner-up")).cited == [shown[1]]
        await ask(chat, "compare the first two")
        better = max(shown[:2], key=lambda id: products()[id].rating)
        assert (await ask(chat, "which one has the better rating?")).cited == [better]


async def test_which_of_the_two_means_those_that_were_looked_at_last() -> None:
    told = await ask_all(PHONES, "the third one", "the fourth one", "which of the two is cheaper?")
    assert told.cited == [min("P028", "P025", key=lambda id: products()[id].price)]
    told = await ask_all(PHONES, "which of the two is cheaper?")
    assert told.text.startswith("I am scripted and did not understand which products you mean")
    assert told.cited == []


async def test_it_after_a_list_is_the_first_and_the_others_are_the_rest() -> None:
    assert (await ask_all(PHONES, "is it in stock?")).tools == ("check_stock",)
    assert (await ask_all(PHONES, "the second one", "what about the others?")).cited == [FIRST[0], *FIRST[2:]]


async def test_an_order_that_does_not_exist_is_named_in_plain_words() -> None:
    told = await ask_all("Where is my order 1234?")
    assert "There is no order 1234; numbers look like A1002." in told.text
    assert "InvalidValue" not in told.text


async def test_a_brand_that_was_not_shown_is_looked_for_and_nothing_else_is_shown() -> None:
    shown = {products()[id].brand for id in FIRST}
    brand = next(name for name in ("Nokia", "Fairphone", "Xiaomi") if name not in shown)
    told = await ask_all(PHONES, f"Tell me more about the {brand} one")
    assert told.cited
    assert {products()[id].brand for id in told.cited} == {brand}
    assert f"none of those shown is from {brand}" in told.text


class _Rewriting(ScriptedModel):
    """A model that is asked to rewrite, as real ones are."""

    is_scripted = False


async def test_an_accepted_rewrite_decides_what_is_found() -> None:
    listed = says("Take the Samsung Pixelia Plus 6 [P028], the Sony Onyx S 9 [P025] or a phone by Nokia under 300.")
    model = _Rewriting(listed, says("Nokia phones under 300"), says("Here."))
    async with shopping(model=model) as chat:
        await ask(chat, PHONES)
        told = await ask(chat, "what about those you named last?")
    passages = [line[1:5] for line in model.requests[-1].messages[-1].content.splitlines() if line.startswith("[P")]
    assert told.query["by"] == "model"
    assert {products()[id].brand for id in passages} == {"Nokia"}
    assert all(products()[id].price < 300 for id in passages)


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("what about gaming?", "Which laptops are good for playing games?"),
        ("something bigger?", "Laptops with a larger screen"),
        ("anything similar for kids?", "Laptops that are suitable for children"),
        ("something for my grandmother?", "A simple laptop for an elderly person"),
    ],
)
async def test_a_rewrite_in_words_of_its_own_is_asked_for_and_decides(question: str, query: str) -> None:
    laptop = next(product for product in products().values() if product.kind == "laptop")
    model = _Rewriting(says(f"Take the {laptop.name} [{laptop.id}]."), says(query), says("Here."))
    async with shopping(model=model) as chat:
        await ask(chat, "Show me laptops")
        told = await ask(chat, question)
    passages = [line[1:5] for line in model.requests[-1].messages[-1].content.splitlines() if line.startswith("[P")]
    assert (told.query["by"], told.query["rewritten"]) == ("model", query)
    assert {products()[id].kind for id in passages} == {"laptop"}


@pytest.mark.parametrize("question", ["order a laptop under 900", "I want to order a phone below 500 dollars"])
async def test_a_price_is_no_number_of_an_order(question: str) -> None:
    told = await ask_all(question)
    assert told.tools == ()
    assert told.cited


@pytest.mark.parametrize("kind", LONG)
def test_the_time_for_a_long_question_grows_no_faster_than_its_length(kind: str) -> None:
    answer = Message(role=Role.ASSISTANT, content="", blocks=(Citation(source="P024"),))

    def read(text: str) -> None:
        asked = Question.of([Message(role=Role.USER, content=text), answer, Message(role=Role.USER, content=text)])
        _ = meaning(asked), asked.order, asked.is_about_stock, named_in(text)
        SCRIPT.reply(Scene(Request(messages=(Message(role=Role.USER, content=f"{_NOTE}\n\n{text}"),))))

    check_growth(read, LONG[kind])


_NOTE = note("products found for the question below\nlooked for: phone\n[P024] Motorola Vela X 9.")


async def test_what_there_is_can_be_asked_for() -> None:
    assert "camera, coffee machine, headphones" in (await ask_all("what do you sell?")).text


async def test_what_no_word_can_be_read_of_is_not_answered_with_a_list() -> None:
    told = await ask_all("phones under $500", "how about wibble wobble?")
    assert told.cited == []
    assert "did not understand" in told.text


@pytest.mark.parametrize("question", ["the runner-up, is it in stock?", "which is the priciest?"])
async def test_one_that_is_pointed_at_is_one(question: str) -> None:
    assert len(set((await ask_all("phones under $500", question)).cited)) == 1


async def test_small_talk_is_answered_directly() -> None:
    told = await ask_all("phones under $500", "thank you!")
    assert told.nodes == ("router", "generator")
    assert told.cited == []


async def test_what_nothing_fits_is_said() -> None:
    assert "nothing in the catalogue" in (await ask_all("phones under $5")).text


async def test_a_model_gets_history_passages_and_question() -> None:
    model = ScriptedModel(says("Take the first."))
    async with shopping(model=model) as chat:
        await ask(chat, "phones under $500")
    request: Request = model.requests[0]
    assert request.messages[0].content == ASSISTANT.instructions
    assert "[P0" in request.messages[-1].content
    assert request.messages[-1].content.endswith("phones under $500")


async def test_the_model_sees_the_newest_ten_messages_and_the_question() -> None:
    model = ScriptedModel(*(says(f"Answer {place}.") for place in range(8)))
    async with shopping(model=model) as chat:
        for place in range(8):
            await ask(chat, f"Hello number {place}, how do you do?")
    said = [message for message in model.requests[-1].messages if message.role != "system"]
    assert len(said) <= 11
    # What fell out of the window and fits the question is recalled beside it, as with every assistant.
    assert not any("Hello number 0" in message.content for message in said[:-1])
