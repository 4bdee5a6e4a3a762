"""Entries: which of them continue a branch, and what of them goes to another store."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from threadkeep.conversation.entry import Approval, Body, Entry, Feedback, HeadChoice, Kept, Summary, Update
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.share import Share
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState

AT = datetime(2026, 1, 1, tzinfo=UTC)
REMARKS = (
    Summary(content="s"),
    Approval(tool_call_id="c", approved=True),
    Update(title="t"),
    TurnChange(state=TurnState.RUNNING),
    HeadChoice(),
    Feedback(rating="up"),
    Kept(of="framework", content="c"),
)


def entry(body: Body) -> Entry:
    return Entry(conversation="c", seq=2, parent=1, created_at=AT, body=body)


def test_messages_and_changes_of_state_continue_a_branch_and_remarks_do_not() -> None:
    assert all(entry(body).continues_branch for body in (Message(role=Role.USER), StateChange(set={"a": 1})))
    assert not any(entry(remark).continues_branch for remark in REMARKS)


@pytest.mark.parametrize("body", REMARKS, ids=lambda body: body.kind)
def test_a_remark_comes_back_from_json_by_its_kind(body: Body) -> None:
    assert Entry.model_validate_json(entry(body).model_dump_json()).body == body


def test_links_are_left_behind_and_the_rest_of_their_update_is_kept() -> None:
    share = Share(id="s", digest=b"d", head=1, created_at=AT)
    left = entry(Update(title="t", shares=(share,))).without_links()
    assert left.body == Update(title="t")
    plain = entry(Update(title="t"))
    assert plain.without_links() is plain


def test_a_rating_is_up_or_down_and_a_comment_has_an_end() -> None:
    with pytest.raises(ValidationError):
        Feedback(rating="sideways")  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Feedback(comment="x" * 2001)
