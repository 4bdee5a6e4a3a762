"""Our own export as lines: what was changed or cut off is told, and what is whole comes in."""

import io

import pytest

from tests.roundtrips import exported
from threadkeep.runtime import open_store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, new, say
from threadkeep.transfer.jsonl import JsonlReader, written
from threadkeep.transfer.portable import ImportProblem


@pytest.fixture
async def lines() -> list[bytes]:
    """An export of two conversations: the format, a header, two entries and an end of each, and the total."""
    clock = FakeClock()
    store = await open_store("memory:", clock=clock)
    for name in ("a", "b"):
        await new(store, ADA, f"one of {name}", f"two of {name}", name=name)
        clock.advance(1)
    found = (await exported(store)).splitlines(keepends=True)
    await store.close()
    return found


def read(lines: list[bytes]) -> list[str]:
    """Return the ids of the conversations that are whole, and the codes of what is wrong."""
    items = JsonlReader(io.BytesIO(b"".join(lines)), "file").read()
    return [f"{item.place}: {item.code}" if isinstance(item, ImportProblem) else item.header.id for item in items]


def test_a_whole_export_is_read_without_a_problem(lines: list[bytes]) -> None:
    assert len(lines) == 10
    assert read(lines) == ["b", "a"]


def test_a_conversation_that_was_changed_is_told_and_the_next_one_comes_in(lines: list[bytes]) -> None:
    lines[2] = lines[2].replace(b"one of b", b"one of x")
    assert read(lines) == ["file, line 5: import_damaged", "a"]


def test_an_export_that_was_cut_off_says_so(lines: list[bytes]) -> None:
    assert read(lines[:-1]) == ["b", "a", "file, line 10: import_damaged"]
    assert read(lines[:7]) == ["b", "file, line 8: import_damaged"]


def test_a_conversation_that_is_missing_does_not_fit_the_total(lines: list[bytes]) -> None:
    assert read([*lines[:5], lines[-1]]) == ["b", "file, line 6: import_damaged"]


def test_another_version_is_refused_and_a_line_that_nobody_knows_is_passed_over(lines: list[bytes]) -> None:
    assert read([b'{"format":"threadkeep.export","version":9}\n', *lines[1:]])[0] == "file, line 1: unknown_format"
    assert read([*lines[:5], b'{"from_the_future":1}\n', *lines[5:]]) == ["b", "a"]


async def test_what_was_written_before_a_cut_is_known_and_what_changed_since_is_not_in_it(lines: list[bytes]) -> None:
    clock = FakeClock()
    store = await open_store("memory:", clock=clock)
    for name in ("a", "b"):
        await new(store, ADA, f"one of {name}", name=name)
        clock.advance(1)
    found = written(io.BytesIO(b"".join(lines[:7])))
    assert found is not None
    assert (found.conversations, found.entries, found.end) == (1, 2, len(b"".join(lines[:5])))
    assert [found.holds(await store.get(ADA, name)) for name in ("a", "b")] == [False, True]
    await say(store, "b", "later")
    assert not found.holds(await store.get(ADA, "b"))
    await store.close()
