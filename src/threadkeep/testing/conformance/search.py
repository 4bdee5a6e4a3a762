"""Search: what is found, where, for whom, in which order and on which branch."""

import pytest

from threadkeep.conversation.blocks import Block, Narrative, RankedList
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Summary, Update
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.state import State
from threadkeep.errors import InvalidCursor
from threadkeep.store.base import ROOT, Store
from threadkeep.store.values import Append, Hit
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, MINUTE, answered, new, returned, run, running, say, settle
from threadkeep.testing.stores import OpenAnother


async def _places(store: Store, text: str, conversation: str | None = None) -> list[tuple[str, int | None]]:
    """Return where Ada's search finds something, best first, read three hits at a time; a title has no number."""
    hits: list[Hit] = []
    after = None
    while True:
        page = await store.search(ADA, text, limit=3, after=after, conversation=conversation)
        assert len(page.items) <= 3
        hits += page.items
        after = page.next
        if after is None:
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            return [(hit.conversation, hit.seq) for hit in hits]


@pytest.mark.asyncio
class TestSearch:
    async def test_a_hit_says_all_that_is_shown_of_it(self, store: Store, clock: FakeClock) -> None:
        name = await new(store, ADA, "tell me of otters", name="c1")
        await store.update(ADA, name, Update(title="Animals"))
        clock.advance(1)
        await say(store, name, "unrelated", "The giant otter lives in rivers.")
        (hit,) = (await store.search(ADA, "rivers")).items
        assert (hit.conversation, hit.title, hit.seq, hit.branch) == (name, "Animals", 4, 4)
        assert (hit.role, hit.created_at) == (Role.ASSISTANT, clock.now)
        assert hit.snippet == "The giant otter lives in rivers."
        assert [hit.snippet[low:high] for low, high in hit.highlights] == ["rivers"]

    async def test_every_word_must_be_there(self, store: Store) -> None:
        name = await new(store, ADA, "red apple", "green apple", "red pear")
        assert await _places(store, "red apple ") == [(name, 1)]
        assert sorted(await _places(store, "apple ")) == [(name, 1), (name, 2)]
        assert await _places(store, "red green ") == []
        assert await _places(store, "blue") == []

    async def test_the_last_word_may_be_a_beginning(self, store: Store) -> None:
        name = await new(store, ADA, "hippopotamus", "hip", "a chip")
        assert sorted(await _places(store, "hip")) == [(name, 1), (name, 2)]
        assert await _places(store, "hip ") == [(name, 2)]
        assert await _places(store, "hippop") == [(name, 1)]

    async def test_words_in_quotes_stand_together(self, store: Store) -> None:
        name = await new(store, ADA, "the quick brown fox", "brown is the quick fox", "quick brown")
        assert sorted(await _places(store, '"quick brown"')) == [(name, 1), (name, 3)]
        assert await _places(store, '"quick brown" fox') == [(name, 1)]
        assert await _places(store, '"brown quick"') == []

    async def test_a_better_hit_comes_first(self, store: Store) -> None:
        name = await new(store, ADA, "otter " * 3, "an otter in a very long text " + "of other words " * 60)
        assert await _places(store, "otter ") == [(name, 1), (name, 2)]

    async def test_of_equal_hits_the_newer_comes_first(self, store: Store) -> None:
        names = [await new(store, ADA, "the same text") for _ in range(4)]
        assert await _places(store, "same text") == [(name, 1) for name in reversed(names)]

    async def test_pages_have_every_hit_once(self, store: Store) -> None:
        names = [await new(store, ADA, "needle one", "needle two") for _ in range(5)]
        found = await _places(store, "needle")
        assert sorted(found) == sorted((name, seq) for name in names for seq in (1, 2))

    async def test_content_blocks_and_tool_results_are_found(self, store: Store) -> None:
        name = await new(store)
        bodies = (
            Message(
                role=Role.ASSISTANT,
                content="intro",
                blocks=(
                    Narrative(text="narrated words"),
                    RankedList(rows=[{"ticker": "ACME", "note": {"deep": ["buried"]}}]),
                    Block.model_validate({"type": "from_the_future", "caption": "captioned"}),
                ),
            ),
            returned("fetched result"),
            Message(role=Role.SYSTEM, content="systemic words"),
        )
        await store.append(ADA, name, Append(bodies=bodies))
        for word in ("intro", "narrated", "acme", "buried", "captioned"):
            assert await _places(store, word) == [(name, 1)]
        assert await _places(store, "fetched") == [(name, 2)]
        assert await _places(store, "systemic") == [(name, 3)]

    async def test_what_is_no_message_is_not_found(self, store: Store) -> None:
        name = await new(store)
        bodies = (State().change({"k": "stateful"}), Summary(content="summarised"))
        await store.append(ADA, name, Append(bodies=bodies))
        for word in ("stateful", "summarised", "ranked_list"):
            assert await _places(store, word) == []

    async def test_a_message_is_found_as_soon_as_it_is_stored(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        name = await new(store)
        for number in range(1, 30):
            await say(store, name, f"unique{number}x")
            assert await _places(other, f"unique{number}x") == [(name, number)]
        await other.close()

    async def test_a_message_being_written_is_found_once_it_is_finished(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "a wonderful answer")
        assert await _places(store, "wonderful") == []
        await settle(store, lease, answered("a wonderful answer").model_copy(update={"id": "m1"}))
        assert await _places(store, "wonderful") == [(name, 3)]

    async def test_a_queued_message_is_found_once_its_turn_starts(self, store: Store) -> None:
        name = await new(store)
        lease = await running(store, name)
        await run(store, name, "patient question")
        assert await _places(store, "patient") == []
        await settle(store, lease)
        started = await store.start(ADA, name, "one", MINUTE)
        assert started is not None
        assert await _places(store, "patient") == [(name, started.entries[0].seq)]

    async def test_a_search_can_be_narrowed_to_a_conversation(self, store: Store) -> None:
        first, second = await new(store, ADA, "needle"), await new(store, ADA, "needle", "needle")
        assert await _places(store, "needle", conversation=first) == [(first, 1)]
        assert sorted(await _places(store, "needle", conversation=second)) == [(second, 1), (second, 2)]

    async def test_a_hit_names_a_branch_that_holds_it_the_current_one_if_it_does(self, store: Store) -> None:
        name = await new(store, ADA, "shared", "left", "leftmost")
        await say(store, name, "right", "rightmost", parent=1)

        async def branch(word: str) -> int | None:
            (hit,) = (await store.search(ADA, word)).items
            page = await store.newest(ADA, name, head=hit.branch)
            assert hit.seq in [entry.seq for entry in page]
            return hit.branch

        assert [await branch(word) for word in ("shared ", "left ", "right ")] == [5, 3, 5]
        await store.choose_head(ADA, name, 3)
        assert [await branch(word) for word in ("shared ", "left ", "right ")] == [3, 3, 5]
        await store.choose_head(ADA, name, ROOT)
        assert [await branch(word) for word in ("shared ", "left ", "right ")] == [5, 3, 5]

    async def test_more_matches_than_are_ranked_give_the_newest(self, store: Store) -> None:
        name = await new(store)
        for start in range(0, 260, 20):
            await say(store, name, *(f"common {number}" for number in range(start, start + 20)))
        found = await _places(store, "common ")
        assert sorted(found) == [(name, seq) for seq in range(61, 261)]
        assert await _places(store, "common 5 ") == [(name, 6)]

    async def test_many_matches_of_another_user_hide_none_of_ones_own(self, store: Store) -> None:
        name = await new(store, ADA, "common secret")
        theirs = await new(store, BOB)
        for _ in range(15):
            await say(store, theirs, *("common secret" for _ in range(20)), scope=BOB)
        assert await _places(store, "common secret") == [(name, 1)]

    async def test_a_cursor_that_was_forged_or_is_of_another_search_is_refused(self, store: Store) -> None:
        await new(store, ADA, *("needle in hay" for _ in range(4)))
        await new(store, BOB, *("needle in hay" for _ in range(4)))
        cursor = (await store.search(ADA, "needle", limit=1)).next
        assert cursor is not None
        for forged in ("", "0", "x", cursor[:-1], cursor + "x", "é", "A" * 5000, Cursor(seq=1).encode("x")):
            async with refused(store, InvalidCursor):
                await store.search(ADA, "needle", after=forged)
        async with refused(store, InvalidCursor):
            await store.search(BOB, "needle", after=cursor)
        async with refused(store, InvalidCursor):
            await store.search(ADA, "hay", after=cursor)
