"""Which files an entry uses."""

from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment, Data
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.store.file_tables import attached_files, attached_parts

FILES = tuple(Attachment(type="image", file=id, media_type="image/png", size=1) for id in ("f-1", "f-2"))
MESSAGE = Message(role=Role.USER, parts=(FILES[0], Data(data={"file": "f-3"}), FILES[1]))


def test_a_message_uses_the_files_among_its_parts() -> None:
    assert list(attached_files(MESSAGE)) == ["f-1", "f-2"]
    assert tuple(attached_parts(MESSAGE)) == FILES


def test_a_message_that_is_queued_uses_its_files_too() -> None:
    assert list(attached_files(TurnChange(state=TurnState.QUEUED, message=MESSAGE))) == ["f-1", "f-2"]


def test_no_other_entry_uses_files() -> None:
    for body in (StateChange(set={"file": "f-1"}), TurnChange(state=TurnState.RUNNING), Message(role=Role.USER)):
        assert list(attached_files(body)) == []
