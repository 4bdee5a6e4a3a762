"""A branch as a Markdown document."""

from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from threadkeep.conversation.blocks import AnyBlock, Block, Chart, Narrative, SplitCompare, Table
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Body, Entry
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Attachment, CitationPart, Part, Raw, Reasoning
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.state import StateChange
from threadkeep_pages.markdown_export import to_markdown

AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def document(*bodies: Body, title: str | None = "Weather", assistant: str | None = None) -> str:
    conversation = Conversation(
        scope=LOCAL, id="c1", title=title, assistant=assistant, created_at=AT, updated_at=AT, head=len(bodies)
    )
    entries = [
        Entry(conversation="c1", seq=seq, parent=seq - 1 or None, created_at=AT, body=body)
        for seq, body in enumerate(bodies, start=1)
    ]
    return to_markdown(conversation, entries)


def test_a_whole_exchange_with_a_tool() -> None:
    called = ToolCall(id="x", name="weather", args={"city": "Åre"})
    assert document(
        Message(role=Role.USER, content="Rain?"),
        Message(role=Role.ASSISTANT, model="demo", tool_calls=(called,)),
        Message(role=Role.TOOL, content="Snow", tool_result=ToolResult(tool_call_id="x")),
        Message(role=Role.ASSISTANT, model="demo", content="No, **snow**."),
        assistant="forecaster",
    ) == (
        "# Weather\n\n"
        "*Conversation `c1` with the assistant forecaster, begun 2026-01-02 03:04 UTC.*\n\n"
        "## User, 2026-01-02 03:04 UTC\n\nRain?\n\n"
        "## Assistant (demo), 2026-01-02 03:04 UTC\n\n"
        'Calls `weather`:\n\n```json\n{\n  "city": "Åre"\n}\n```\n\n'
        "## Tool weather, 2026-01-02 03:04 UTC\n\n```\nSnow\n```\n\n"
        "## Assistant (demo), 2026-01-02 03:04 UTC\n\nNo, **snow**.\n"
    )


def test_parts_are_told_and_what_was_thought_is_quoted_before_what_was_said() -> None:
    parts = (
        Reasoning(text="Hm.\n\nSo.", duration=2.0, payload={"signature": "secret"}),
        Reasoning(payload={"data": "secret"}),
        Attachment(type="image", file="f", name="cat.png", media_type="image/png", size=3),
        CitationPart(source="https://example.org", title="A page"),
        Part.model_validate({"type": "hologram"}),
        Raw(of="a framework", items=["secret"]),
    )
    told = document(Message(role=Role.ASSISTANT, content="Blue.", parts=parts))
    assert "> *Thought for 2 s*\n>\n> Hm.\n>\n> So.\n\nBlue.\n\n*Attached image cat.png (image/png, 3 bytes)*" in told
    assert "*Source: A page*" in told
    assert "hologram" in told
    assert told.count("Thought") == 1
    assert "secret" not in told


def test_an_empty_branch_has_a_title_all_the_same() -> None:
    assert document(title=None) == "# Conversation\n\n*Conversation `c1`, begun 2026-01-02 03:04 UTC.*\n"


def test_a_title_of_several_lines_stays_one_heading() -> None:
    assert document(title="a\n# b").startswith("# a # b\n\n")


def test_what_was_cut_off_or_failed_says_so() -> None:
    text = document(
        Message(role=Role.ASSISTANT, content="Once upon", status=MessageStatus.INTERRUPTED),
        Message(role=Role.TOOL, content="late", tool_result=ToolResult(tool_call_id="x", error="timed\nout")),
    )
    assert "Once upon\n\n*(cut off here)*" in text
    assert "## Tool, 2026-01-02 03:04 UTC\n\n*Failed: timed out*\n\n```\nlate\n```" in text


def test_a_result_cannot_end_the_block_that_it_is_in() -> None:
    text = document(Message(role=Role.TOOL, content="a\n````\nb", tool_result=ToolResult(tool_call_id="x")))
    assert "`````\na\n````\nb\n`````\n" in text


def made(kind: str, **fields: Any) -> Block:
    """Return a block with fields beyond those that its type names."""
    block: Block = TypeAdapter(AnyBlock).validate_python({"type": kind, **fields})
    return block


def blocks(*shown: Block) -> str:
    """Return what a document says of an answer that consists of blocks."""
    text = document(Message(role=Role.ASSISTANT, blocks=shown))
    return text.split("## Assistant, 2026-01-02 03:04 UTC\n\n")[1].removesuffix("\n")


def test_a_narrative_is_its_text_and_a_table_is_a_table() -> None:
    table = Table(columns=["a", "b|c"], rows=[[1, "x\ny"], [None, 2.5, ["p", "q"]]])
    assert blocks(Narrative(text="So."), table) == (
        "So.\n\n| a | b\\|c |  |\n| --- | --- | --- |\n| 1 | x y |  |\n|  | 2.5 | p, q |"
    )


def test_a_ranked_list_is_a_numbered_table_with_what_names_a_row_first() -> None:
    rows = [{"score": 0.9, "why": "rates", "ticker": "DHI", "rank": 1}, {"ticker": "NEE", "score": 0.8}]
    assert blocks(made("ranked_list", rows=rows, title="Best")) == (
        "**Best**\n\n| # | ticker | score | why |\n| --- | --- | --- | --- |\n"
        "| 1 | DHI | 0.9 | rates |\n| 2 | NEE | 0.8 |  |"
    )


def test_a_comparison_has_a_row_for_each_name_that_a_side_has() -> None:
    compared = SplitCompare(leftTitle="A", rightTitle="B", left={"size": 1, "x": True}, right={"size": 2})
    assert blocks(compared) == "|  | A | B |\n| --- | --- | --- |\n| size | 1 | 2 |\n| x | true |  |"


def test_a_comparison_of_anything_else_puts_items_side_by_side() -> None:
    compared = SplitCompare(leftTitle="A", rightTitle="B", left="one\nline", right=["p", {"q": 1}])
    assert blocks(compared) == '| A | B |\n| --- | --- |\n| one line | p |\n|  | {"q": 1} |'


def test_a_chart_is_a_table_of_its_series() -> None:
    series = [{"name": "x", "points": [["Jan", 1], {"x": "Feb", "y": "2.5"}]}, {"values": [3, None, 5]}]
    assert blocks(made("chart", chart="line", series=series, labels=["Jan", "Feb", "Mar"], title="T", unit="%")) == (
        "**T** (line chart)\n\n| % | x | Series 2 |\n| --- | --- | --- |\n"
        "| Jan | 1 | 3 |\n| Feb | 2.5 |  |\n| Mar |  | 5 |"
    )


def test_a_chart_without_numbers_is_its_json() -> None:
    assert blocks(Chart(chart="pie", series=[{"name": "x", "points": "?"}])).startswith("```json\n{")


def test_a_citation_is_a_line_like_a_footnote() -> None:
    whole = made("citation", source="10-K", title="Report", url="https://example.org/k", text="It\ngrew.")
    assert blocks(whole) == "Source: Report, 10-K, <https://example.org/k>\n\n> It grew."
    assert blocks(made("citation", source="report.pdf", url="javascript:alert(1)")) == "Source: report.pdf"


def test_a_block_of_another_type_is_its_json() -> None:
    assert blocks(Block.model_validate({"type": "map", "at": [1, 2]})).startswith('```json\n{\n  "type": "map"')


def test_a_change_of_state_is_not_for_readers() -> None:
    assert document(StateChange(set={"secret": 1}, depth=1)).count("\n") == 3


def test_what_a_tool_showed_stands_there_and_not_in_the_answer_too() -> None:
    shown, own = Narrative(text="Sunny."), Narrative(text="Cloudy.")
    result = Message(role=Role.TOOL, content="x", blocks=(shown,), tool_result=ToolResult(tool_call_id="x"))
    asked = Message(role=Role.USER, content="Weather?")
    answer = Message(role=Role.ASSISTANT, content="Well:", blocks=(shown, own))
    text = document(asked, result, answer, asked, result, answer)
    assert [text.count(word) for word in ("Sunny.", "Cloudy.")] == [2, 2]
    assert text.index("Sunny.") < text.index("Well:") < text.index("Cloudy.")
