"""What the tests of answers share: a turn with nearly all that an answer can have, and a client that takes changes."""

from dataclasses import replace

from threadkeep.conversation.blocks import Table
from threadkeep.conversation.message import Usage
from threadkeep.llm.base import CallPart, Reasoned, Stopped, Text, Used
from threadkeep.testing.scripted_model import ScriptedModel, Step, says
from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_protocols.parts import (
    AnswerEnded,
    AnswerText,
    AnyAnswerPart,
    Change,
    PartBegan,
    PartChanged,
    TextGrew,
)


@tool(repeatable=True)
def look(place: str) -> ToolOutcome:
    """Look somewhere."""
    return ToolOutcome(content=f'{{"seen":"{place}"}}', blocks=(Table(columns=["place"], rows=[[place]]),))


@tool(needs_approval=True)
def remove(place: str) -> str:
    """Remove something."""
    return f"removed {place}"


HELPER = Assistant(name="helper", instructions="Help.", tools=Registry([look, remove]))


def thinks_and_calls(*names: str) -> list[Step]:
    """An answer with reasoning, then text, then calls with the ids `look-0` and so on."""
    words: list[Step] = [Reasoned(text="Let me "), Reasoned(text="think."), Text("Wait 🙂 "), Text("a moment.")]
    calls = [CallPart(index=n, id=f"{name}-{n}", name=name, args='{"place":"hall"}') for n, name in enumerate(names)]
    return [*words, *calls, Used(Usage(input_tokens=5, output_tokens=7)), Stopped("tool_calls")]


def asks_and_answers(*more: list[Step]) -> ScriptedModel:
    """A model that first calls both tools, one of which needs an approval, and then answers."""
    return ScriptedModel(thinks_and_calls("look", "remove"), says("It is ", "gone.", " Really."), *more)


class ToldClient:
    """Puts an answer together from changes, as the front end of any protocol does."""

    def __init__(self) -> None:
        self.parts: dict[str, AnyAnswerPart] = {}
        self.end: AnswerEnded | None = None

    def take(self, change: Change) -> None:
        """Take a change. A part that begins anew must be known as it is."""
        match change:
            case PartBegan(part=part):
                self.parts.setdefault(part.id, part)
            case TextGrew(part=AnswerText(id=id), text=text):
                known = self.parts[id]
                assert isinstance(known, AnswerText)
                self.parts[id] = replace(known, text=known.text + text)
            case PartChanged(part=part):
                known = self.parts[part.id]
                assert not isinstance(part, AnswerText) or known == replace(part, is_whole=False)
                self.parts[part.id] = part
            case AnswerEnded():
                self.end = replace(change, position=None)
            case _:
                pass
