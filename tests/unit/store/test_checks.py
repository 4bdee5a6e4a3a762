"""What every backend refuses before it touches anything."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import (
    ContentTooLarge,
    DraftMismatch,
    InvalidId,
    InvalidImport,
    InvalidParent,
    InvalidValue,
    MetadataTooLarge,
    SystemTooLarge,
)
from threadkeep.store.checks import (
    MAX_METADATA_BYTES,
    MAX_SYSTEM_BYTES,
    check_append,
    check_begin,
    check_chunk,
    check_import,
    check_new,
    check_parent,
    check_update,
    encode_within,
    size_of,
)
from threadkeep.store.values import Append, Begin, Import
from threadkeep.testing.samples import asked

AT = datetime(2026, 1, 1, tzinfo=UTC)
LIMIT = 1000


def imported(*places: tuple[int, int | None], **fields: Any) -> Import:
    entries = tuple(Entry(conversation="c", seq=seq, parent=of, created_at=AT, body=asked("x")) for seq, of in places)
    return Import(new=NewConversation(id="c"), created_at=AT, entries=entries, **fields)


def test_the_limit_of_an_entry_counts_bytes_and_not_characters() -> None:
    encode_within(asked("é" * 500), LIMIT)
    with pytest.raises(ContentTooLarge):
        encode_within(asked("é" * 500 + "x"), LIMIT)


def test_instructions_and_metadata_have_limits_of_their_own() -> None:
    check_new(NewConversation(system="x" * MAX_SYSTEM_BYTES, metadata={"a": "x" * (MAX_METADATA_BYTES - 9)}))
    with pytest.raises(SystemTooLarge):
        check_new(NewConversation(system="x" * (MAX_SYSTEM_BYTES + 1)))
    for metadata in ({"a": "x" * (MAX_METADATA_BYTES - 8)}, {"a": "é" * (MAX_METADATA_BYTES // 2)}):
        with pytest.raises(MetadataTooLarge):
            check_update(Update(metadata=metadata))
    assert size_of(NewConversation(title="é", system="xy", metadata={"a": 1})) == 12


@pytest.mark.parametrize("parent", [-1, MAX_SEQ + 1])
def test_a_parent_that_is_no_possible_entry_is_refused(parent: int) -> None:
    check_parent(None)
    with pytest.raises(InvalidParent):
        check_parent(parent)


def test_an_append_says_something_and_only_who_holds_a_lease_settles_a_turn() -> None:
    assert len(check_append(Append(bodies=(asked("a"), asked("b"))), LIMIT)) == 2
    for nonsense in (Append(), Append(settle=TurnChange(state=TurnState.COMPLETED))):
        with pytest.raises(InvalidValue):
            check_append(nonsense, LIMIT)


def test_a_turn_without_a_message_answers_an_entry() -> None:
    check_begin(Begin(owner="one", lease_for=timedelta(1), parent=3), LIMIT)
    with pytest.raises(InvalidParent):
        check_begin(Begin(owner="one", lease_for=timedelta(1)), LIMIT)


@pytest.mark.parametrize(
    "wrong",
    [
        imported((1, None), (3, 1)),
        imported((0, None)),
        imported((1, 1)),
        imported((1, None), version=-1),
        imported((1, None), open_turns={2: TurnState.RUNNING}),
    ],
    ids=["a gap", "no number", "its own parent", "version", "turn"],
)
def test_an_import_that_no_log_can_be_is_refused(wrong: Import) -> None:
    assert list(check_import(imported((4, 2), (5, 4)), LIMIT)) == [4, 5]
    with pytest.raises(InvalidImport):
        check_import(wrong, LIMIT)


def test_text_is_added_at_a_place_and_is_not_empty() -> None:
    check_chunk("m", 0, "x")
    for offset, text in ((-1, "x"), (0, "")):
        with pytest.raises(DraftMismatch):
            check_chunk("m", offset, text)
    with pytest.raises(InvalidId):
        check_chunk("../m", 0, "x")
