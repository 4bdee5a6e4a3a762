"""Snapshots: whatever a client has, they leave it with the messages of the log in their order."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from threadkeep_protocols.ag_ui.snapshots import snapshots

Json = dict[str, Any]
ROLES = {"u": "user", "a": "assistant", "t": "tool", "r": "reasoning", "x": "activity"}
LOG = st.lists(st.sampled_from("uatrx"), max_size=8).map(lambda roles: [f"{role}{at}" for at, role in enumerate(roles)])


def _messages(ids: list[str]) -> list[Json]:
    return [{"id": id, "role": ROLES[id[0]], "content": id} for id in ids]


def _taken(has: list[Json], events: list[Json]) -> list[str]:
    """Return what a client has after snapshots: it replaces, drops and appends as `@ag-ui/client` does."""
    for event in events:
        new = {message["id"]: message for message in event["messages"]}
        own = {role for role in ("activity", "reasoning") if all(each["role"] != role for each in new.values())}
        has = [new.get(each["id"], each) for each in has if each["id"] in new or each["role"] in own]
        has += [message for id, message in new.items() if id not in {each["id"] for each in has}]
    return [message["id"] for message in has]


def _told(has: list[str]) -> list[str]:
    return [id for id in has if ROLES[id[0]] != "activity"]


@given(LOG, st.data())
def test_a_client_that_missed_some_of_it_ends_up_with_the_log(log: list[str], data: st.DataObject) -> None:
    missed = data.draw(st.sets(st.sampled_from(log))) if log else set()
    has = [id for id in log if id not in missed]
    if not _told(has):
        has = []  # a client with activities alone has no transcript to say
    assert _taken(_messages(has), snapshots(_told(has), _messages(log))) == log


def test_a_client_that_is_behind_or_as_far_is_told_once() -> None:
    log = _messages(["u0", "a1", "u2", "a3"])
    for count in range(5):
        assert len(snapshots([message["id"] for message in log[:count]], log)) == 1


def test_a_message_that_was_sent_early_is_put_behind_the_answer_that_was_missed() -> None:
    log = _messages(["u0", "r1", "a2", "x3", "u4"])
    assert _taken(_messages(["u0", "u4"]), snapshots(["u0", "u4"], log)) == ["u0", "r1", "a2", "x3", "u4"]
