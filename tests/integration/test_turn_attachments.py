"""Files in a turn: what a person attaches and what a tool returns reach a model that can look, and nobody else's do."""

from typing import Any

import pytest

from tests.told import data_of, name_of
from tests.unit.turn.processes import Processes, ended, new_conversation, seen
from threadkeep.conversation.event_json import message_json
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import FileNotFound, InvalidPart, TooManyParts
from threadkeep.llm.base import loaded_files
from threadkeep.testing.attachments import MemoryAttachments
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.tools.base import ToolFile, ToolOutcome
from threadkeep.tools.decorator import tool

PNG = b"\x89PNG\r\n\x1a\n"


class SeeingModel(ScriptedModel):
    """A model that can look at images, also those that tools return."""

    accepts = frozenset({"image", "tool image"})


@tool(repeatable=True)
def draw() -> ToolOutcome:
    """Draw something."""
    return ToolOutcome(content="Drawn.", files=(ToolFile(media_type="image/png", data=PNG, name="../x.png"),))


def part(file: str, **fields: Any) -> dict[str, Any]:
    return {"type": "image", "file": file, "media_type": "image/gif", **fields}


async def test_an_image_reaches_a_model_that_can_look_with_what_is_known_of_it(processes: Processes) -> None:
    kept, model = MemoryAttachments(), SeeingModel(says("A cat."))
    chat = await new_conversation(await processes.open(model, attachments=kept))
    image = await kept.save(LOCAL, "cat.png", "image/png", PNG)
    await ended(await chat.send([{"type": "text", "text": "What is it?"}, part(image.file, name="dog.gif", size=7)]))
    question = (await chat.messages())[0]
    assert question.parts == (image.model_copy(update={"at": 11}),)
    assert model.requests[0].messages[-1].parts == question.parts
    assert await loaded_files(model.requests[0]) == {image.file: PNG}


async def test_a_model_that_cannot_look_is_told_what_was_attached(processes: Processes) -> None:
    kept, model = MemoryAttachments(), ScriptedModel(says("I cannot see it."))
    chat = await new_conversation(await processes.open(model, attachments=kept))
    image = await kept.save(LOCAL, "cat.png", "image/png", PNG)
    await ended(await chat.send([part(image.file)]))
    asked = model.requests[0].messages[-1]
    assert asked.parts == ()
    assert "attached image cat.png (image/png, 8 bytes), which you cannot look at" in asked.content


async def test_a_file_that_is_not_there_or_is_not_what_it_is_said_to_be_is_refused(processes: Processes) -> None:
    kept = MemoryAttachments()
    chat = await new_conversation(await processes.open(ScriptedModel(), attachments=kept))
    page = await kept.save(LOCAL, "cat.png", "text/html", b"<html></html>")
    foreign = await kept.save(Scope(tenant="other", user="eve"), "cat.png", "image/png", PNG)
    for sent, error in (
        ([part("nothing")], FileNotFound),
        ([part(foreign.file)], FileNotFound),
        ([part(page.file)], InvalidPart),
        ([part("nothing")] * 101, TooManyParts),
    ):
        with pytest.raises(error):
            await chat.send(sent)
    assert not await chat.messages()


async def test_what_a_tool_draws_is_kept_told_and_shown_to_the_model(processes: Processes) -> None:
    kept, model = MemoryAttachments(), SeeingModel(wants(("c1", "draw", {})), says("There."))
    chat = await new_conversation(await processes.open(model, draw, attachments=kept))
    await ended(await chat.send("Draw a cat."))
    result = model.requests[1].messages[-1]
    (image,) = result.parts
    assert isinstance(image, Attachment)
    assert (result.content, image.media_type, image.name) == ("Drawn.", "image/png", "")
    assert await kept.read(LOCAL, image.file) == PNG
    told = data_of(await seen(chat, "tool.result"))
    assert [each["file"] for each in told["parts"]] == [image.file]


async def test_where_no_files_are_kept_a_line_says_that_there_was_one(processes: Processes) -> None:
    model = SeeingModel(wants(("c1", "draw", {})), says("There."))
    chat = await new_conversation(await processes.open(model, draw))
    assert name_of(await ended(await chat.send("Draw a cat."))) == "turn.completed"
    assert model.requests[1].messages[-1].content == "Drawn.\n[../x.png image/png, 1 KB, not shown]"


async def test_the_text_of_a_document_is_read_once_kept_told_and_found(processes: Processes) -> None:
    kept, model = MemoryAttachments(), ScriptedModel(says("Noted."), says("Forty-two."))
    chat = await new_conversation(await processes.open(model, attachments=kept))
    paper = await kept.save(LOCAL, "paper.md", "text/markdown", b"The zephyr constant is 42.")
    sent = {"type": "file", "file": paper.file, "media_type": "text/plain", "extract": "what its sender says"}
    await ended(await chat.send([{"type": "text", "text": "Read this."}, sent]))
    await ended(await chat.send("What was the constant?"))
    (part,) = (await chat.messages())[0].parts
    assert part.model_dump()["extract"] == "The zephyr constant is 42."
    for request in model.requests:
        (told,) = [message.content for message in request.messages if "zephyr" in message.content]
        assert told == (
            "Read this.\n\n[Threadkeep: attached file paper.md (text/markdown, 26 bytes), with this text:]\n"
            "The zephyr constant is 42.\n[Threadkeep: end of the attached text]"
        )
    assert [hit.seq for hit in (await chat._store.search(LOCAL, "zephyr")).items] == [1]
    shown = message_json((await chat.messages())[0])["parts"]
    assert shown == [paper.model_dump() | {"at": 10}]


async def test_the_texts_of_all_files_of_a_message_have_a_bound(processes: Processes) -> None:
    kept = MemoryAttachments()
    chat = await new_conversation(await processes.open(ScriptedModel(says("Long.")), attachments=kept))
    files = [await kept.save(LOCAL, f"{number}.txt", "text/plain", b"word " * 20_000) for number in range(3)]
    await ended(await chat.send([file.model_dump() for file in files]))
    extracts = [len(part.model_dump().get("extract", "")) for part in (await chat.messages())[0].parts]
    assert extracts == [50_004, 49_996, 0]
