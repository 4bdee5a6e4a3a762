"""State: changes fold to what plain dictionaries would hold."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.state import WHOLE_EVERY, State, StateChange, fold

keys = st.sampled_from(["a", "b", "c", "d"])
changes = st.lists(st.tuples(st.dictionaries(keys, st.integers(), max_size=3), st.sets(keys, max_size=2)), max_size=80)


@given(changes)
def test_changes_fold_to_what_a_dictionary_would_hold(plan: list[tuple[dict[str, int], set[str]]]) -> None:
    expected: dict[str, Any] = {}
    state = State()
    log: list[StateChange] = []
    for new, unset in plan:
        log.append(state.change(new, sorted(unset)))
        expected = {key: value for key, value in expected.items() if key not in unset} | new
        state = fold(reversed(log))
        assert state.values == expected


def test_nothing_folds_to_nothing() -> None:
    assert fold([]) == State()


def test_a_key_that_is_both_unset_and_set_has_the_new_value() -> None:
    change = State(values={"a": 1}).change({"a": 2}, ["a"])
    assert fold([change, StateChange(set={"a": 1}, depth=1)]).values == {"a": 2}


def test_folding_never_reads_behind_a_whole_change() -> None:
    state = State()
    log: list[StateChange] = []
    for number in range(5 * WHOLE_EVERY):
        log.append(state.change({f"k{number}": number}))
        read: list[StateChange] = []

        def newest_first(read: list[StateChange] = read) -> Any:
            for change in reversed(log):
                read.append(change)
                yield change

        state = fold(newest_first())
        assert len(read) <= WHOLE_EVERY
    assert state.values == {f"k{number}": number for number in range(5 * WHOLE_EVERY)}


def test_every_32nd_change_holds_everything() -> None:
    state = State(values={"a": 1, "b": 2}, depth=WHOLE_EVERY - 1)
    assert state.change({"c": 3}, ["a"]) == StateChange(set={"b": 2, "c": 3}, whole=True)
    assert not State(values={"a": 1}, depth=WHOLE_EVERY - 2).change({"c": 3}).whole
