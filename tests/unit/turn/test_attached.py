"""Attaching files from Python: a path, a name with bytes, or the id of a file that is kept."""

from pathlib import Path

import pytest

import threadkeep
from threadkeep.conversation.parts import Attachment
from threadkeep.errors import FileNotFound, InvalidValue, ThreadkeepError
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep.turn.attached import Attachable

PNG = b"\x89PNG\r\n\x1a\n and so on"


async def test_a_path_a_name_with_bytes_and_an_id_are_attached_in_order_before_the_text(tmp_path: Path) -> None:
    image = tmp_path / "cat.png"
    image.write_bytes(PNG)
    model = ScriptedModel(says("A cat."), says("Still a cat."))
    async with threadkeep.open("memory:", model=model) as conversations:
        chat = await conversations.create()
        kept = await conversations.attach(("notes.txt", b"Its name is Tom."))
        turn = await chat.send("Who is it?", attach=[image, ("list.csv", b"a,b\n1,2\n"), kept.file], key="once")
        again = await chat.send("Who is it?", attach=[image, ("list.csv", b"a,b\n1,2\n"), kept.file], key="once")
        assert (turn.replayed, again.replayed) == (False, True)
        await turn.outcome()
        (question, *_) = await chat.messages()
        parts = [part for part in question.parts if isinstance(part, Attachment)]
        assert [(part.type, part.name, part.at) for part in parts] == [
            ("image", "cat.png", 0),
            ("file", "list.csv", 0),
            ("file", "notes.txt", 0),
        ]
        assert parts[2].extract == "Its name is Tom."
        assert "Its name is Tom." in model.requests[0].messages[-1].content
        await (await chat.send("And now?", attach=parts[:1])).outcome()


@pytest.mark.parametrize(
    ("attach", "error"),
    [
        (Path("missing.png"), InvalidValue),
        (Path("/"), InvalidValue),
        (Path("/dev/zero"), InvalidValue),
        ("file-of-nobody", FileNotFound),
        (("../x.png", PNG), ThreadkeepError),
        (("x.png", b""), ThreadkeepError),
    ],
    ids=["missing", "folder", "device", "id", "name", "empty"],
)
async def test_what_cannot_be_attached_is_refused_and_nothing_is_sent(
    attach: Attachable, error: type[Exception]
) -> None:
    async with threadkeep.open("memory:", model=ScriptedModel()) as conversations:
        chat = await conversations.create()
        with pytest.raises(error):
            await chat.send("Look", attach=[attach])
        assert not await chat.messages()
