"""The log: appends in one step, the places of entries, what comes back, reading on from a cursor."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from threadkeep.conversation.blocks import Block, Narrative, Table
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Summary, Update
from threadkeep.conversation.message import Cost, Message, MessageStatus, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Attachment, Part, Reasoning
from threadkeep.conversation.state import StateChange
from threadkeep.errors import ContentTooLarge, EntryNotFound, InvalidCursor, InvalidParent, StaleHead, StaleVersion
from threadkeep.store.base import MAX_BYTES, ROOT, Store
from threadkeep.store.values import Append, Appendable
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, answered, asked, new, returned, say, texts_of
from threadkeep.testing.stores import OpenAnother, whole_log

TEXTS = (
    "plain",
    " leading and trailing \r\n\t ",
    "NUL \x00 in the middle, \u2028 and \u2029 and \ufeff and \x7f and \\u0000 as text",
    "日本語のテキスト и кириллица עברית",
    "🙂👩\u200d👩\u200d👧 e\u0301 \U0010ffff",
    "quotes \" ' ` and % _ \\ $1 ? :name {x}",
    "a" * 100_000,
)

RICH = Message(
    id="caller.made-id_1",
    role=Role.ASSISTANT,
    content="See the table.",
    parts=(
        Reasoning(text="hm \x00", model="demo:one", payload={"signature": "x\x00", "z": 1, "a": [None]}, duration=1.5),
        Attachment(type="image", file="f-1", name="日本語.png", media_type="image/png", size=3, at=4),
        Part.model_validate({"type": "from_the_future", "z": 1, "a": {"deep": [True, "\x00", 1e300, -0.5]}}),
    ),
    blocks=(
        Narrative(text="prose \x00"),
        Table(columns=["a", "b"], rows=[[1, "x"], [None, 2.5]]),
        Block.model_validate({"type": "from_the_future", "z": 1, "a": {"deep": [True, "\x00", 1e300, -0.5, 2**53]}}),
    ),
    tool_calls=(ToolCall(id="call-1", name="search__web", args={"query": "x", "n": 3}),),
    tool_trace=({"tool": "search", "duration_ms": 12},),
    usage=Usage(
        input_tokens=10, output_tokens=20, cached_tokens=5, cost=Cost(amount=Decimal("0.0000125"), currency="EUR")
    ),
    tokens=42,
    status=MessageStatus.INTERRUPTED,
    model="demo:one",
    started_at=datetime(2026, 1, 1, 12, 30, 15, 123456, tzinfo=UTC),
)


@pytest.mark.asyncio
class TestLog:
    async def test_entries_get_rising_numbers_and_continue_each_other(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        first = await say(store, name, "one", "two")
        clock.advance(1)
        second = await say(store, name, "three")
        assert [(entry.seq, entry.parent, entry.turn) for entry in first + second] == [
            (1, None, None),
            (2, 1, None),
            (3, 2, None),
        ]
        assert {entry.conversation for entry in first + second} == {name}
        assert [entry.created_at == clock.now for entry in first + second] == [False, False, True]
        assert (await store.get(ADA, name)).head == 3
        assert await whole_log(store, ADA, name) == (first + second, None)

    async def test_text_comes_back_character_for_character(self, store: Store) -> None:
        for text in TEXTS:
            name = await new(store)
            stored = await say(store, name, text)
            assert texts_of(stored) == [text]
            assert await store.newest(ADA, name) == stored

    async def test_every_kind_of_body_comes_back_as_it_was(self, store: Store) -> None:
        bodies: tuple[Appendable, ...] = (
            RICH,
            returned("result", call="call-1"),
            Message(role=Role.TOOL, tool_result=ToolResult(tool_call_id="c", duration_ms=3, error="boom\x00")),
            Message(role=Role.SYSTEM, content="Be brief."),
            StateChange(
                set={"city": "Zürich", "nested": {"b": [1, None], "a": "\x00"}}, unset=("old", "\x00"), depth=1
            ),
            Summary(content="They met.", tokens=3),
            Approval(tool_call_id="call-1", approved=False, reason="too dear"),
        )
        for body in bodies:
            name = await new(store, ADA, "before")
            stored = (await store.append(ADA, name, Append(bodies=(body,)))).entries
            assert [entry.body for entry in stored] == [body]
            assert await store.entry(ADA, name, 2) == stored[0]
            assert (await whole_log(store, ADA, name))[0][1:] == stored

    async def test_the_fields_of_an_object_keep_their_order(self, store: Store) -> None:
        name = await new(store)
        block = Block.model_validate({"type": "other", "z": 1, "a": {"y": 2, "b": 3}})
        await store.append(ADA, name, Append(bodies=(Message(role=Role.ASSISTANT, blocks=(block,)),)))
        body = (await store.entry(ADA, name, 1)).body
        assert isinstance(body, Message)
        assert body.blocks[0].model_dump_json() == block.model_dump_json()

    async def test_a_remark_concerns_the_entry_before_it_and_moves_nothing(self, store: Store) -> None:
        name = await new(store, ADA, "one", "two")
        bodies = (asked("three"), Summary(content="all"), answered("four"), Approval(tool_call_id="c", approved=True))
        stored = (await store.append(ADA, name, Append(bodies=bodies))).entries
        assert [(entry.seq, entry.parent) for entry in stored] == [(3, 2), (4, 3), (5, 3), (6, 5)]
        alone = (await store.append(ADA, name, Append(bodies=(Summary(content="again"),)))).entries
        assert [(entry.seq, entry.parent) for entry in alone] == [(7, 5)]
        chosen = (await store.append(ADA, name, Append(bodies=(Summary(content="early"),), parent=1))).entries
        assert [(entry.seq, entry.parent) for entry in chosen] == [(8, 1)]
        conversation = await store.get(ADA, name)
        assert (conversation.head, conversation.entries) == (5, 8)
        assert texts_of(await store.newest(ADA, name)) == ["one", "two", "three", "four"]

    async def test_an_append_that_expects_another_head_is_refused(self, store: Store) -> None:
        name = await new(store, ADA, "one", "two")
        async with refused(store, StaleHead) as caught:
            await store.append(ADA, name, Append(bodies=(asked("late"),), expected_head=1))
        assert caught.value.head == 2
        await store.append(ADA, name, Append(bodies=(asked("in time"),), expected_head=2))

    async def test_the_head_of_an_empty_conversation_is_the_root(self, store: Store) -> None:
        name = await new(store)
        async with refused(store, StaleHead) as caught:
            await store.append(ADA, name, Append(bodies=(asked("late"),), expected_head=1))
        assert caught.value.head is None
        await store.append(ADA, name, Append(bodies=(asked("first"),), expected_head=ROOT))
        async with refused(store, StaleHead):
            await store.append(ADA, name, Append(bodies=(asked("first again"),), expected_head=ROOT))

    async def test_an_append_that_expects_another_version_is_refused(self, store: Store) -> None:
        name = await new(store)
        await store.update(ADA, name, Update(title="new"))
        async with refused(store, StaleVersion) as caught:
            await store.append(ADA, name, Append(bodies=(asked("late"),), expected_version=1))
        assert caught.value.version == 2
        await store.append(ADA, name, Append(bodies=(asked("in time"),), expected_version=2))

    async def test_a_parent_that_is_no_entry_of_a_branch_is_refused(self, store: Store) -> None:
        name = await new(store, ADA, "one", "two")
        await store.append(ADA, name, Append(bodies=(Summary(content="entry three is a remark"),)))
        await new(store, ADA, *"abcdefg")
        for parent in (4, 99, -1, 3, 2**31, 2**53, 2**63, 2**70):
            async with refused(store, InvalidParent):
                await store.append(ADA, name, Append(bodies=(asked("lost"),), parent=parent))

    async def test_an_append_is_all_or_nothing(self, store: Store) -> None:
        name = await new(store, ADA, "one")
        too_large = "é" * (MAX_BYTES // 2 + 1)
        async with refused(store, ContentTooLarge):
            await store.append(ADA, name, Append(bodies=(asked("small"), answered(too_large))))
        assert (await store.search(ADA, "small")).items == ()

    async def test_content_up_to_the_limit_is_kept(self, store: Store) -> None:
        name = await new(store)
        largest = "word " * (MAX_BYTES // 5) + "x" * (MAX_BYTES % 5)
        stored = await say(store, name, largest)
        assert texts_of(await store.newest(ADA, name)) == [largest]
        assert texts_of(stored) == [largest]
        async with refused(store, ContentTooLarge):
            await say(store, name, largest + "x")

    async def test_content_that_does_not_repeat_is_kept_up_to_the_limit(self, store: Store) -> None:
        name = await new(store)
        numbers = " ".join(f"w{number:07}" for number in range(MAX_BYTES // 9))
        await say(store, name, numbers)
        assert texts_of(await store.newest(ADA, name)) == [numbers]
        assert len((await store.search(ADA, "w0000042")).items) == 1

    async def test_a_single_entry_is_read_by_its_number(self, store: Store) -> None:
        name = await new(store, ADA, "one", "two")
        assert texts_of((await store.entry(ADA, name, 2),)) == ["two"]
        for missing in (ROOT, 3, -1, 2**31, 2**63, 2**70):
            async with refused(store, EntryNotFound):
                await store.entry(ADA, name, missing)

    async def test_the_log_is_read_on_from_a_cursor_page_by_page(self, store: Store) -> None:
        name = await new(store, ADA, *"abc")
        await store.update(ADA, name, Update(title="remark"))
        await say(store, name, "d", parent=1)
        everything = (await store.log(ADA, name, Cursor())).entries
        assert [entry.seq for entry in everything] == [1, 2, 3, 4, 5]
        for seq in range(6):
            assert (await store.log(ADA, name, Cursor(seq=seq))).entries == everything[seq:]
            assert (await store.log(ADA, name, Cursor(seq=seq), limit=2)).entries == everything[seq : seq + 2]

    async def test_the_log_of_a_new_conversation_is_empty(self, store: Store) -> None:
        page = await store.log(ADA, await new(store), Cursor())
        assert (page.entries, page.draft) == ((), None)

    async def test_a_cursor_beyond_the_end_of_the_log_is_refused(self, store: Store) -> None:
        name = await new(store, ADA, "one", "two")
        for seq in (3, 100, 2**31, 2**53):
            async with refused(store, InvalidCursor):
                await store.log(ADA, name, Cursor(seq=seq))

    async def test_entries_are_the_same_through_every_handle(self, store: Store, open_another: OpenAnother) -> None:
        name = await new(store, ADA, "one")
        other = await open_another()
        theirs = (await other.append(ADA, name, Append(bodies=(RICH,)))).entries
        mine = await say(store, name, "three")
        assert (await whole_log(store, ADA, name))[0][1:] == theirs + mine
        assert await whole_log(other, ADA, name) == await whole_log(store, ADA, name)
        await other.close()
