"""What the scripted model plays as Skillian: the worked example, its paraphrases and the follow-ups people try."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.told import data_of, name_of
from tests.unit.threadkeep_assistants.long_inputs import slow_inputs
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.llm.base import Request
from threadkeep.runtime import open_conversations
from threadkeep.turn_handle import TurnHandle
from threadkeep_assistants.demo.script import Scene
from threadkeep_assistants.skillian import ASSISTANT

BUDGET = "What is the budget of cost centre CC-1001?"
COMPARE = "Compare FI and BPC for company 1000"
PLACE = {"left": "FI", "right": "BPC", "company": "1000", "period": "2025-06"}
FIRST, SECOND, THIRD = "120000 Trade receivables", "400000 Product revenue", "121000 Intercompany receivables"


@dataclass(frozen=True)
class Told:
    """An answer and the calls that were made for it."""

    text: str
    calls: list[tuple[str, dict[str, object]]]

    @property
    def tools(self) -> list[str]:
        return [name for name, _ in self.calls]

    @property
    def lines(self) -> list[str]:
        """The lines of the numbered list in the answer, up to the colon."""
        return re.findall(r"^\d+\. (.+?):", self.text, re.MULTILINE)


class Talk:
    """A conversation with Skillian."""

    def __init__(self, chat: ConversationHandle) -> None:
        self._chat = chat

    async def say(self, *questions: str) -> Told:
        """Ask all of it and return what the last question got."""
        told = Told("", [])
        for question in questions:
            turn = await self._chat.send(question)
            said = [Message.model_validate(data) async for data in _messages(turn)]
            told = Told(said[-1].content, [(call.name, call.args) for message in said for call in message.tool_calls])
        return told


async def _messages(turn: TurnHandle) -> AsyncIterator[object]:
    async for event in turn.events():
        if name_of(event) == "message.completed":
            yield data_of(event)["message"]


@pytest_asyncio.fixture
async def talk() -> AsyncIterator[Talk]:
    conversations = await open_conversations("memory:", [ASSISTANT], model="demo", pace=0)
    yield Talk(await conversations.create())
    await conversations.close()


@pytest.mark.parametrize(
    "question",
    [
        BUDGET,
        "what is the budget of cc-1001",
        "WHAT'S THE BUDGET FOR COST CENTER 1001???",
        "budget CC1001",
        "how much has CC-1001 spent?",
        "How much money does cc 1001 have left?",
        "is CC-1001 over budget?",
        "show me CC-1001",
        "remaining budget of cost center: 1001",
        "How much can CC-1001 still spend?",
        "what about the budget of Marketing?",
        "CC-1001",
    ],
)
async def test_a_budget_is_looked_up_and_told(talk: Talk, question: str) -> None:
    told = await talk.say(question)
    assert told.calls == [("get_budget", {"cost_center": "CC-1001"})]
    assert told.text.startswith(
        "CC-1001 (Marketing) has a budget of 50,000 EUR: 35,000 EUR is spent (70 %), 15,000 EUR is left."
    )


@pytest.mark.parametrize(
    "question",
    ["how much is left of it?", "and how much remains?", "is it over budget?", "what percentage is spent?", "left?"],
)
async def test_a_follow_up_on_a_budget_is_answered_from_the_history(talk: Talk, question: str) -> None:
    told = await talk.say(BUDGET, question)
    assert told.calls == []
    assert "15,000 EUR is left" in told.text


@pytest.mark.parametrize("question", ["and CC-1002?", "what about 1002", "and the field sales?", "same for cc 1002"])
async def test_another_cost_centre_takes_few_words(talk: Talk, question: str) -> None:
    told = await talk.say(BUDGET, question)
    assert told.calls == [("get_budget", {"cost_center": "CC-1002"})]
    assert told.text.startswith("CC-1002 (Field sales) has a budget of 82,000 EUR")


@pytest.mark.parametrize(
    "questions",
    [["what is the budget for travel?"], [BUDGET, "budget for human resources"], ["what is the budget?"]],
)
async def test_a_budget_of_nothing_that_is_known_is_asked_back(talk: Talk, questions: list[str]) -> None:
    assert (await talk.say(*questions)).text.startswith("Which cost centre do you mean?")


@pytest.mark.parametrize("question", ["sum up all budgets by owner", "and last year?", "who owns it?", "why?"])
async def test_what_is_beyond_the_script_is_said_to_be_so_and_not_made_up(talk: Talk, question: str) -> None:
    told = await talk.say(BUDGET, question)
    assert told.calls == []
    assert "not in my script" in told.text or "15,000 EUR is left" in told.text or "Which cost centre" in told.text


@pytest.mark.parametrize(
    ("questions", "text"),
    [
        (["compare FI and SAP for company 1000"], "There is no source 'SAP'. There are: FI, BPC."),
        (["compare company 1000 and 2000"], "one company in one month at a time"),
        ([COMPARE, "which company has the most differences?"], "one company in one month at a time"),
        ([COMPARE, "compare april and may"], "one company in one month at a time"),
        ([COMPARE, "and in April?", "and the month before?"], "not in my script"),
        ([COMPARE, "explain fx"], "not in my script"),
        ([COMPARE, "which ones are negative?"], "not in my script"),
        ([COMPARE, "top 3", "the next 3"], "not in my script"),
        ([COMPARE, "why do they differ?"], "differ on 15 of 27 accounts"),
        ([COMPARE, BUDGET, "why is the second one different?"], SECOND),
        ([COMPARE, "top 0"], "The 5 largest of 15 differences"),
        ([COMPARE, "give me 3"], "The 3 largest of 15 differences"),
        ([COMPARE, "top 100"], "The 15 largest of 15 differences"),
        ([COMPARE, "the ones under 3000"], "2 differences of 3,000 or less between FI and BPC, company 1000"),
        ([COMPARE, "between 10000 and 13000"], "3 differences of 10,000 or more and 13,000 or less between"),
        ([COMPARE, "what are the bottom 3?"], "not in my script"),
        (["budgets of CC-1001 and CC-1002", "which differ?"], "Nothing has been compared yet"),
        (["Hi, could you please compare the FI and BPC sources for company 1000? Thanks!"], "differ on 15 of 27"),
        ([COMPARE, "Thanks! Show me the top 3 please."], "The 3 largest of 15 differences"),
        ([COMPARE, "great, thank you - and why does the first differ?"], FIRST),
        (["Hello, my name is Bob. What is the budget of CC-1001?"], "15,000 EUR is left"),
        (["Hello, my name is Bob. What is the budget of CC-1001?", "what's my name?"], "Your name is Bob."),
        (["my name is Bob, what is the budget of CC-1001?", "what's my name?"], "Your name is Bob."),
        ([COMPARE, BUDGET, "the ones under 3000"], "2 differences of 3,000 or less between"),
        ([COMPARE, "thx"], "You are welcome!"),
    ],
)
async def test_what_is_not_asked_for_is_not_answered(talk: Talk, questions: list[str], text: str) -> None:
    assert text in (await talk.say(*questions)).text


async def test_a_budget_that_is_exceeded_is_told_so(talk: Talk) -> None:
    assert "it is 11,800 EUR over budget" in (await talk.say("budget of CC-1004")).text


async def test_one_of_two_cost_centres_may_be_unknown(talk: Talk) -> None:
    told = await talk.say("budget of CC-1001 and CC-1006")
    assert told.tools == ["get_budget", "get_budget"]
    assert "15,000 EUR is left" in told.text
    assert "There is no cost centre 'CC-1006'. Close ones are: CC-1005" in told.text
    assert "CC-1001" in (await talk.say("how much is left of it?")).text


@pytest.mark.parametrize(
    "question",
    [
        COMPARE,
        "compare fi and bpc for company 1000",
        "Compare FI with BPC, company 1000, please",
        "FI vs BPC 1000",
        "reconcile FI and BPC for Alder Works",
        "What are the differences between FI and BPC in company 1000?",
        "where do FI and BPC differ for 1000?",
        "Do FI and BPC agree for company 1000?",
        "compare the sources for company 1000",
        "Please compare FI against BPC in June 2025",
        "compare both sources",
        "is there a discrepancy in company 1000?",
    ],
)
async def test_the_sources_are_compared(talk: Talk, question: str) -> None:
    told = await talk.say(question)
    assert told.calls == [("compare_sources", PLACE)]
    assert told.text.startswith("FI and BPC differ on 15 of 27 accounts of company 1000 (Alder Works) in 2025-06")
    assert told.lines == [FIRST, SECOND, THIRD]


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("show me the top 3", 3),
        ("Show me the top three", 3),
        ("top 3", 3),
        ("can you show me just the top 3?", 3),
        ("give me the 3 biggest", 3),
        ("show me the top differences", 5),
        ("what are the largest differences?", 5),
        ("list the top ten", 10),
        ("the biggest one?", 1),
        ("which account differs most?", 1),
        ("show me all of them", 15),
        ("list the differences", 15),
        ("only the ones above 20000", 8),
    ],
)
async def test_the_largest_are_shown_from_what_was_found(talk: Talk, question: str, count: int) -> None:
    told = await talk.say(COMPARE, question)
    assert told.calls == []
    assert len(told.lines) == count
    assert told.lines[:3] == [FIRST, SECOND, THIRD][:count]
    assert "between FI and BPC, company 1000, 2025-06:" in told.text


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("only receivables", [FIRST, THIRD]),
        ("just the receivables please", [FIRST, THIRD]),
        ("and payables?", ["210000 Accrued liabilities", "200000 Trade payables", "201000 Intercompany payables"]),
        ("what about taxes?", ["220000 VAT payable"]),
        ("only cash", []),
    ],
)
async def test_what_was_found_is_narrowed(talk: Talk, question: str, lines: list[str]) -> None:
    told = await talk.say(COMPARE, question)
    assert (told.calls, told.lines) == ([], lines)


@pytest.mark.parametrize(
    ("questions", "text"),
    [
        (["sum them up"], "15 differences between FI and BPC, company 1000, 2025-06: 180,610 EUR net, 380,210 EUR"),
        (["show me the top 3", "sum them up"], "3 differences between FI and BPC, company 1000, 2025-06: 163,550 EUR"),
        (["only receivables", "what is the total?"], "2 differences of receivables between FI and BPC"),
        (["sum up the payables"], "3 differences of payables between FI and BPC"),
        (["what's the net difference?"], "15 differences between FI and BPC, company 1000, 2025-06: 180,610 EUR net"),
        (["top 3", "and their total?"], "3 differences between FI and BPC, company 1000, 2025-06: 163,550 EUR net"),
        (["how many are there?"], "There are 15 differences between FI and BPC, company 1000, 2025-06."),
        (["how many are over 10k?"], "There are 13 differences of 10,000 or more between FI and BPC"),
        (["which is the biggest?", "how many in all?"], "There are 15 differences between FI and BPC"),
        (["show me the top 3", "what is the sum in all?"], "15 differences between FI and BPC, company 1000, 2025-06"),
        (["only taxes", "how many are there?"], "There is 1 difference of tax between FI and BPC"),
    ],
)
async def test_what_was_found_is_added_up_and_counted(talk: Talk, questions: list[str], text: str) -> None:
    told = await talk.say(COMPARE, *questions)
    assert told.calls == []
    assert told.text.startswith(text)


@pytest.mark.parametrize(
    ("questions", "account"),
    [
        (["why is the first one different?"], "120000"),
        (["explain the second one"], "400000"),
        (["show me the top 3", "why the last one?"], "121000"),
        (["the biggest one?", "why?"], "120000"),
        (["only payables", "what causes the biggest one?"], "210000"),
        (["why is the first one different?", "and the second?"], "400000"),
        (["explain trade payables"], "200000"),
        (["what is account 640000?"], "640000"),
        (["tell me more about number 3"], "121000"),
        (["only receivables", "how come?"], "120000"),
        (["why the first?", "only payables", "why?"], "210000"),
    ],
)
async def test_a_difference_is_explained(talk: Talk, questions: list[str], account: str) -> None:
    told = await talk.say(COMPARE, *questions)
    assert told.calls == [("explain_account", {"account": account, **PLACE})]
    assert told.text.startswith(f"{account} ")
    assert "only in " in told.text


@pytest.mark.parametrize("question", ["show me the summary again", "and for June?", "again for company 1000"])
async def test_what_was_compared_is_told_again_without_a_call(talk: Talk, question: str) -> None:
    told = await talk.say(COMPARE, "only payables", question)
    assert told.calls == []
    assert told.text.startswith("FI and BPC differ on 15 of 27 accounts")
    assert len((await talk.say("list them")).lines) == 15


async def test_an_account_without_a_difference_is_explained(talk: Talk) -> None:
    assert (await talk.say("what is account 300000?")).text.split("\n")[0].endswith("Both sources say the same.")


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("now for company 2000", {"company": "2000"}),
        ("and 2000?", {"company": "2000"}),
        ("same for Birch", {"company": "2000"}),
        ("and in May?", {"period": "2025-05"}),
        ("now compare BPC to FI", {"left": "BPC", "right": "FI"}),
    ],
)
async def test_another_place_takes_few_words(talk: Talk, question: str, place: dict[str, str]) -> None:
    told = await talk.say(COMPARE, "show me the top 3", question)
    assert told.calls == [("compare_sources", PLACE | place)]


async def test_a_whole_walk_through_the_differences(talk: Talk) -> None:
    await talk.say(BUDGET, COMPARE, "show me the top 3", "why is the first one different?")
    assert (await talk.say("now for company 2000")).calls == [("compare_sources", PLACE | {"company": "2000"})]
    only = await talk.say("only receivables")
    assert (only.calls, only.lines) == ([], [THIRD])
    assert (await talk.say("sum them up")).text.startswith("1 difference of receivables")
    assert "15,000 EUR is left" in (await talk.say("how much is left of CC-1001?")).text
    assert len((await talk.say("show me the top differences")).lines) == 5
    assert len((await talk.say("show me all of them")).lines) == 9


async def test_the_top_of_a_company_that_was_not_compared_is_listed(talk: Talk) -> None:
    told = await talk.say("top 3 differences for company 2000")
    assert told.calls == [("compare_sources", PLACE | {"company": "2000"})]
    assert (await talk.say("list all of them")).calls == []


async def test_the_same_account_of_another_company_is_explained(talk: Talk) -> None:
    told = await talk.say(COMPARE, "explain the second one", "why is it different in company 3000?")
    assert told.calls == [("explain_account", {"account": "400000", **PLACE, "company": "3000"})]
    listed = await talk.say("show me the top 3")
    assert listed.calls == [("compare_sources", PLACE | {"company": "3000"})]


@pytest.mark.parametrize("question", ["show me the top 3", "show me the top differences", "which accounts differ?"])
async def test_before_a_comparison_there_is_nothing_to_show(talk: Talk, question: str) -> None:
    told = await talk.say(question)
    assert (told.calls, told.text.split(".")[0]) == ([], "Nothing has been compared yet")


async def test_sources_that_agree_leave_nothing_to_explain(talk: Talk) -> None:
    told = await talk.say("Compare FI and BPC for company 4000 in April 2025")
    assert told.text.startswith("FI and BPC agree on all 27 accounts")
    assert (await talk.say("why?")).text.startswith("There is no difference to speak of.")
    assert (await talk.say("top 3")).text.startswith("There are no differences between FI and BPC")


async def test_a_position_that_is_not_there_is_asked_back(talk: Talk) -> None:
    told = await talk.say(COMPARE, "top 3", "why the fifth one?")
    assert (told.calls, told.text) == ([], "The list has 3 lines. Which of them do you mean?")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Compare FI and BPC for company 5000", "There is no company '5000'. There are: 1000 (Alder Works)"),
        ("compare fi and bpc in 2019-01", "There is no period '2019-01'. There are: 2025-04"),
        ("compare FI with FI", "FI cannot be compared with itself"),
        ("what is account 999999?", "There is no account '999999'. There are: 100000 (Cash at bank)"),
        ("budget of CC-9999", "There is no cost centre 'CC-9999'. There are: CC-1001 (Marketing)"),
    ],
)
async def test_what_is_not_in_the_ledger_is_told_with_what_is(talk: Talk, question: str, text: str) -> None:
    assert (await talk.say(question)).text.startswith(text)


async def test_a_failed_comparison_does_not_lose_the_one_before(talk: Talk) -> None:
    told = await talk.say(COMPARE, "now for company 5000", "show me the top 3")
    assert (told.calls, told.lines) == ([], [FIRST, SECOND, THIRD])


async def test_what_is_not_about_the_ledger_is_left_to_others(talk: Talk) -> None:
    told = await talk.say(COMPARE, "My name is Alice", "thanks, that's all!")
    assert told.text == "You are welcome!"
    assert (await talk.say("What's my name?")).text == "Your name is Alice."
    assert "not in my script" in (await talk.say("what's the weather?")).text


def _history(content: str) -> Request:
    """Return a request in which a comparison gave back this content."""
    call = ToolCall(id="call_1", name="compare_sources", args={"company": "1000"})
    return Request(
        messages=(
            Message(role=Role.USER, content=COMPARE),
            Message(role=Role.ASSISTANT, tool_calls=(call,)),
            Message(role=Role.TOOL, content=content, tool_result=ToolResult(tool_call_id="call_1")),
            Message(role=Role.ASSISTANT, content="They differ."),
            Message(role=Role.USER, content="[Threadkeep: only a note.]"),
            Message(role=Role.USER, content="show me the top 3"),
        ),
        tools=ASSISTANT.tools.specs(),
    )


@pytest.mark.parametrize("content", ['{"differences":[{"account":"1', '{"differences": 3}', "[]", ""])
def test_a_result_that_was_cut_is_looked_up_again(content: str) -> None:
    reply = ASSISTANT.script.reply(Scene(_history(content)))
    assert [(call.name, call.args) for call in reply.calls] == [("compare_sources", PLACE)]


def test_rows_of_another_shape_are_passed_over() -> None:
    odd = '{"differences": [{"account": "1"}, 7, {"account": "2", "name": "Two", "difference": 5}]}'
    assert ASSISTANT.script.reply(Scene(_history(odd))).text.endswith("1. 2 Two: **+5 EUR** (FI 0, BPC 0; None)")


def test_what_was_found_long_ago_is_not_forgotten() -> None:
    row = '{"differences": [{"account": "2", "name": "Two", "difference": 5}], "summary": "They differ."}'
    *old, question = _history(row).messages
    chatter = [Message(role=role, content="Thanks!") for _ in range(200) for role in (Role.USER, Role.ASSISTANT)]
    reply = ASSISTANT.script.reply(Scene(Request(messages=(*old, *chatter, question), tools=ASSISTANT.tools.specs())))
    assert reply.text.startswith("The largest difference between FI and BPC, company 1000, 2025-06:")


def test_long_questions_of_any_kind_are_answered_quickly() -> None:
    def answered(text: str) -> None:
        *old, _ = _history('{"differences": [], "summary": "They agree."}').messages
        said = (*old, Message(role=Role.USER, content=text), Message(role=Role.USER, content=text))
        ASSISTANT.script.reply(Scene(Request(messages=said, tools=ASSISTANT.tools.specs())))

    assert slow_inputs(answered) == []
