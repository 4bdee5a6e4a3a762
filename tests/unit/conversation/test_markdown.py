"""A branch as a Markdown document."""

from datetime import UTC, datetime

from threadkeep.conversation.blocks import Citation, Narrative, Table
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Body, Entry
from threadkeep.conversation.markdown import to_markdown
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.state import StateChange

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


def test_blocks_are_text_a_table_or_their_json() -> None:
    blocks = (
        Narrative(text="So."),
        Table(columns=["a", "b|c"], rows=[[1, "x\ny"], [None, 2.5]]),
        Citation(source="report.pdf"),
    )
    text = document(Message(role=Role.ASSISTANT, blocks=blocks))
    assert "\n\nSo.\n\n| a | b\\|c |\n| --- | --- |\n| 1 | x y |\n| None | 2.5 |\n\n```json\n" in text
    assert '"source": "report.pdf"' in text


def test_a_change_of_state_is_not_for_readers() -> None:
    assert document(StateChange(set={"secret": 1}, depth=1)).count("\n") == 3
