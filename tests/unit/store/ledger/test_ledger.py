"""Ledgers: state is a function of records, decisions change nothing, and what catalog and index know follows."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Summary, Update
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.errors import DraftMismatch, KeyReused, LeaseLost, StaleHead, StaleVersion, ThreadkeepError
from threadkeep.store.files import journal
from threadkeep.store.ledger.catalog import Catalog, WordIndex
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.paging import Search
from threadkeep.store.rules import Decision, Rules
from threadkeep.store.values import Append, Begin, Begun
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, MINUTE, answered, asked, key
from threadkeep.text.query import Query
from threadkeep.text.search import CANDIDATES

T = TypeVar("T")
MAX = 10_000


class Desk:
    """A ledger, and the records that made it."""

    def __init__(self, scope: Scope = ADA, name: str = "c") -> None:
        self.clock = FakeClock()
        self.rules = Rules(self.clock, MAX)
        opening = self.rules.open(scope, name, NewConversation(), f"mark of {name}", None)
        self.records = [opening]
        self.ledger = Ledger(opening)

    def do(self, decision: Decision[T]) -> T:
        first = self.ledger.tip.last + 1
        if decision.record is not None:
            self.records.append(decision.record)
            self.ledger.apply(decision.record)
        return decision.answer(self.ledger.between(first, self.ledger.tip.last))


def _seen(ledger: Ledger) -> object:
    """Return everything that can be seen of a ledger."""
    log = ledger.log(Cursor(), MAX)
    return ledger.conversation, ledger.tree, ledger.turns, log, ledger.keys, ledger.bytes, ledger.state(None)


def _lease(begun: Begun) -> Lease:
    assert begun.lease is not None
    return begun.lease


def _busy() -> Desk:
    """Return a ledger in which everything has happened once: branches, state, a summary, turns, text being written."""
    desk, rules = Desk(), Rules(FakeClock(), MAX)
    ledger = desk.ledger
    desk.do(rules.append(ledger, Append(bodies=(asked("one"), answered("two"), Summary(content="s")), key=key("k"))))
    desk.do(rules.append(ledger, Append(bodies=(StateChange(set={"a": [1, None]}),))))
    desk.do(rules.append(ledger, Append(bodies=(asked("another"),), parent=1)))
    desk.do(rules.update(ledger, Update(title="title", metadata={"x": {}}), None))
    desk.do(rules.choose_head(ledger, 2, None))
    lease = _lease(desk.do(rules.begin(ledger, Begin(message=asked("go"), owner="me", lease_for=MINUTE))))
    desk.do(rules.begin(ledger, Begin(message=asked("later"), owner="me", lease_for=MINUTE)))
    desk.do(rules.write(ledger, lease, "m1", 0, "half an "))
    desk.do(rules.write(ledger, lease, "m1", 8, "answer"))
    desk.do(rules.extend(ledger, lease, MINUTE * 2))
    return desk


def test_the_same_records_make_the_same_ledger_also_through_a_journal() -> None:
    desk = _busy()
    read, _, _ = journal.decode(journal.encode(desk.records))
    assert read == desk.records
    again = Ledger(read[0])
    for record in read[1:]:
        again.apply(record)
    assert _seen(again) == _seen(desk.ledger)


def test_a_ledger_begins_with_an_opening() -> None:
    with pytest.raises(ValueError, match="opening"):
        Ledger(_busy().records[1])


def _refusals(desk: Desk) -> list[tuple[type[ThreadkeepError], Callable[[], object]]]:
    rules, ledger = desk.rules, desk.ledger
    turn = ledger.turns[0]
    lost = Lease(scope=ADA, conversation="c", turn=turn.number, owner="me", fence=99)
    lease = lost.model_copy(update={"fence": 1})
    elsewhere = lease.model_copy(update={"scope": BOB})
    done = TurnChange(state=TurnState.COMPLETED)
    return [
        (StaleHead, lambda: rules.append(ledger, Append(bodies=(asked("x"),), expected_head=1))),
        (StaleVersion, lambda: rules.update(ledger, Update(title="x"), 1)),
        (KeyReused, lambda: rules.append(ledger, Append(bodies=(asked("x"),), key=key("k", "other")))),
        (LeaseLost, lambda: rules.append(ledger, Append(bodies=(asked("x"),), lease=lost))),
        (LeaseLost, lambda: rules.append(ledger, Append(bodies=(asked("x"),), lease=elsewhere))),
        (LeaseLost, lambda: rules.take(ledger, turn.model_copy(update={"fence": 7}), "you", MINUTE)),
        (DraftMismatch, lambda: rules.append(ledger, Append(lease=lease, settle=done))),
        (DraftMismatch, lambda: rules.write(ledger, lease, "m1", 3, "x")),
        (DraftMismatch, lambda: rules.write(ledger, lease, "m2", 14, "x")),
    ]


@pytest.mark.parametrize("number", range(9))
def test_what_is_refused_changes_nothing(number: int) -> None:
    desk = _busy()
    error, verb = _refusals(desk)[number]
    before = _seen(desk.ledger)
    with pytest.raises(error):
        verb()
    assert _seen(desk.ledger) == before


def test_a_decision_that_is_not_kept_changes_nothing() -> None:
    desk = _busy()
    before = _seen(desk.ledger)
    desk.rules.append(desk.ledger, Append(bodies=(asked("x"),)))
    desk.rules.begin(desk.ledger, Begin(message=asked("x"), owner="me", lease_for=MINUTE))
    assert _seen(desk.ledger) == before


def test_a_repeated_key_needs_no_record() -> None:
    desk = _busy()
    again = desk.rules.append(desk.ledger, Append(bodies=(asked("one"),), key=key("k")))
    assert again.record is None
    assert again.again == (1, 3)


def test_text_being_written_is_read_from_any_character_on() -> None:
    ledger = _busy().ledger
    for offset in (0, 5, 8, 14):
        page = ledger.log(Cursor(seq=ledger.tip.last, message="m1", offset=offset), 10)
        assert page.draft is not None
        assert (page.draft.offset, page.draft.text) == (offset, "half an answer"[offset:])


def test_a_ledger_with_a_hundred_jumps_agrees_with_a_walk_from_child_to_parent() -> None:
    desk, dice = Desk(), random.Random(7)
    for number in range(200):
        heads = [0, *(entry.seq for entry in desk.ledger.entries if entry.continues_branch)]
        desk.do(desk.rules.append(desk.ledger, Append(bodies=(asked(str(number)),), parent=dice.choice(heads))))
    parents = {entry.seq: entry.parent for entry in desk.ledger.entries}
    for head in parents:
        walked, at = [], head
        while at:
            walked.append(at)
            at = parents[at] or 0
        assert [entry.seq for entry in desk.ledger.backwards(head)] == walked
        assert [entry.seq for entry in desk.ledger.after(0, head, 1000)] == walked[::-1]


# The index


def _index(**texts: str) -> WordIndex:
    index = WordIndex()
    for name, text in texts.items():
        for seq, words in enumerate(text.split("|"), 1):
            index.add(name, seq, set(words.split()))
    return index


def test_an_entry_is_found_by_all_its_words_and_by_the_beginning_of_the_last() -> None:
    index = _index(a="red apple|green apple", b="red brick")
    assert index.find(Query("red ")) == {("a", 1), ("b", 1)}
    assert index.find(Query("red app")) == {("a", 1)}
    assert index.find(Query("ap")) == {("a", 1), ("a", 2)}
    assert index.find(Query("apple "), "b") == set()
    assert index.find(Query("blue ")) == set()


def test_a_conversation_that_is_removed_is_found_by_no_word_and_no_beginning() -> None:
    index = _index(a="red apple", b="red brick")
    assert index.find(Query("appl")) == {("a", 1)}
    index.remove("a")
    index.remove("missing")
    assert index.find(Query("appl")) == set()
    assert index.find(Query("red ")) == {("b", 1)}
    index.add("c", 1, {"apples"})
    assert index.find(Query("appl")) == {("c", 1)}


# The catalog


def _search(text: str, bound: int | None = None) -> Search:
    return Search(ADA, text, Query(text), None, "rank", 20, 0, bound, 2**62)


def test_a_catalog_forgets_the_words_of_a_conversation_that_was_made_anew() -> None:
    catalog = Catalog()
    old, new = Desk(), Desk()
    old.do(old.rules.append(old.ledger, Append(bodies=(asked("old words"),))))
    catalog.note(old.ledger)
    new.ledger.opening = new.ledger.opening.model_copy(update={"mark": "another"})
    catalog.note(new.ledger)
    assert catalog.candidates(_search("old ")).postings == []
    assert catalog.statistics(None).entries == 0


def test_an_older_state_of_a_ledger_does_not_undo_a_newer_one() -> None:
    catalog, desk = Catalog(), Desk()
    older = Ledger(desk.records[0])
    desk.do(desk.rules.append(desk.ledger, Append(bodies=(asked("kept"),))))
    catalog.note(desk.ledger)
    catalog.note(older)
    assert catalog.statistics("ada").entries == 1


def test_the_newest_candidates_are_taken_across_conversations() -> None:
    catalog, clock = Catalog(), FakeClock()
    desks = [Desk(name="a"), Desk(name="b")]
    for number in range(CANDIDATES + 50):
        clock.advance(1)
        desk = desks[number % 2]
        desk.clock.now = clock.now
        desk.do(desk.rules.append(desk.ledger, Append(bodies=(asked("same word"),))))
        catalog.note(desk.ledger)
    newest = catalog.candidates(_search("word ")).postings
    assert len(newest) == CANDIDATES
    assert newest[:3] == [("b", 125), ("a", 125), ("b", 124)]
    assert newest[-1] == ("a", 26)


def test_what_is_stored_after_the_first_page_stays_out_of_the_next_also_when_the_clock_stands_still() -> None:
    catalog, desk = Catalog(), Desk()
    desk.do(desk.rules.append(desk.ledger, Append(bodies=(asked("word one"),))))
    catalog.note(desk.ledger)
    first = catalog.candidates(_search("word "))
    desk.do(desk.rules.append(desk.ledger, Append(bodies=(asked("word two"),))))
    catalog.note(desk.ledger)
    assert catalog.candidates(_search("word ", first.bound)).postings == first.postings == [("c", 1)]
    assert len(catalog.candidates(_search("word ")).postings) == 2


def test_an_entry_that_is_dated_back_is_found_on_the_first_page() -> None:
    catalog, desk = Catalog(), Desk()
    desk.do(desk.rules.append(desk.ledger, Append(bodies=(asked("word one"),))))
    desk.clock.now -= timedelta(days=1)
    desk.do(desk.rules.append(desk.ledger, Append(bodies=(Message(role=Role.USER, content="word two"),))))
    catalog.note(desk.ledger)
    assert catalog.candidates(_search("word ")).postings == [("c", 1), ("c", 2)]
