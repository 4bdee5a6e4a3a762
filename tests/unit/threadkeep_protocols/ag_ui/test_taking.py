"""What clients of AG-UI send."""

from typing import Any

import pytest

from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import InvalidValue
from threadkeep.runtime import open_conversations
from threadkeep_protocols.ag_ui.taking import AgMessage, RunInput, content_of, run_of, run_part

PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def _run(*messages: dict[str, Any]) -> RunInput:
    return RunInput.model_validate({"threadId": "t", "runId": "r", "messages": messages})


def test_the_question_is_the_message_of_a_person_with_which_a_transcript_ends() -> None:
    person, assistant = {"id": "q", "role": "user", "content": "Hello"}, {"id": "a", "role": "assistant"}
    activity = {"id": "x", "role": "activity", "content": {"rows": []}}
    assert _run(person, activity).question is not None
    assert _run(person, assistant).question is None
    assert _run().question is None
    assert [message.id for message in _run(person, activity, assistant).said] == ["q", "a"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/gif"}},
        {"type": "binary", "mimeType": "image/gif", "data": PIXEL, "filename": "dot.gif"},
        {"type": "image", "source": {"type": "url", "value": f"data:image/gif;base64,{PIXEL}"}},
    ],
)
async def test_files_come_in_every_form_that_clients_have(part: dict[str, Any]) -> None:
    async with await open_conversations("memory:", model="demo") as conversations:
        said = AgMessage(role="user", content=[part])
        (kept,) = await content_of(said, conversations, LOCAL)
        assert kept.media_type == "image/gif"
        again = {"type": "image", "source": {"type": "file", "value": kept.file}}
        (same,) = await content_of(AgMessage(role="user", content=[again]), conversations, LOCAL)
        assert same.file == kept.file
        elsewhere = {"type": "image", "source": {"type": "url", "value": "https://example.org/a.gif"}}
        with pytest.raises(InvalidValue):
            await content_of(AgMessage(role="user", content=[elsewhere]), conversations, LOCAL)


def test_the_run_of_a_question_is_known_again() -> None:
    assert run_of(Message(role=Role.USER, content="Hello", parts=(run_part("run-1"),))) == "run-1"
    assert run_of(Message(role=Role.USER, content="Hello")) is None
