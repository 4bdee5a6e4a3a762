"""Transcripts as messages of AG-UI: as a stream of the same answers makes them."""

from tests.unit.threadkeep_protocols.telling import HELPER, asks_and_answers
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment, Data
from threadkeep.runtime import open_conversations
from threadkeep_protocols.ag_ui.showing import said_message, shown
from threadkeep_protocols.ag_ui.taking import CONTEXT, run_part
from threadkeep_protocols.chats import said_in


async def test_results_stand_behind_their_message_and_blocks_behind_those() -> None:
    conversations = await open_conversations("memory:", [HELPER], model=asks_and_answers())
    async with conversations:
        conversation = await conversations.create()
        turn = await conversation.send("Remove it.")
        await turn.outcome()
        await conversation.approve("remove-1", approved=False)
        await turn.outcome()
        told = shown(await said_in(conversation))
    assert [message["role"] for message in told] == [
        *("user", "reasoning", "assistant", "tool", "tool", "activity", "assistant")
    ]
    _, thought, calling, *results, block, _ = told
    assert thought["content"] == "Let me think."
    assert calling["content"] == "Wait 🙂 a moment."
    assert [call["function"]["arguments"] for call in calling["toolCalls"]] == ['{"place": "hall"}'] * 2
    assert {result["toolCallId"] for result in results} == {"look-0", "remove-1"}
    assert len({message["id"] for message in told}) == len(told)
    assert (block["activityType"], block["content"]["rows"]) == ("table", [["hall"]])


def test_files_of_a_person_are_parts_and_what_stands_beside_is_none() -> None:
    image = Attachment(type="image", file="f", name="dot.png", media_type="image/png", at=4)
    beside = (Data(data={"name": CONTEXT, "data": []}), run_part("run"))
    plain = said_message(Message(id="m", role=Role.USER, content="Look", parts=beside))
    assert plain == {"id": "m", "role": "user", "content": "Look"}
    with_file = said_message(Message(id="m", role=Role.USER, content="Look here", parts=(*beside, image)))
    words, shown_image, more = with_file["content"]
    assert (words["text"], more["text"]) == ("Look", " here")
    assert shown_image["source"] == {"type": "url", "value": "/v1/files/f", "mimeType": "image/png"}
