"""What an agent asks its model: the newest conversation that fits, and its own task last."""

from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Request, ToolSpec
from threadkeep.testing.samples import answered, asked, returned
from threadkeep.testing.scripted_model import ScriptedModel
from threadkeep.turn.agent import Asked

SYSTEM = Message(role=Role.SYSTEM, content="Be brief.")
TOOL = ToolSpec(name="look", description="", parameters={})


def told(*messages: Message) -> list[tuple[str, str]]:
    request = Request(messages=(SYSTEM, *messages), tools=(TOOL,))
    task = Asked(request=request, model=ScriptedModel(window=100), state={}, messages=messages).task(
        "You rank.", "Rank them."
    )
    assert task.tools == ()
    return [(message.role.value, message.content) for message in task.messages]


def test_a_task_stands_behind_the_conversation_and_its_instructions_behind_the_assistants() -> None:
    assert told(asked("Hello"), answered("Yes?"), asked("Rank")) == [
        ("system", "Be brief.\n\nYou rank."),
        ("user", "Hello"),
        ("assistant", "Yes?"),
        ("user", "Rank\n\nRank them."),
    ]


def test_what_tools_returned_and_empty_messages_are_left_out() -> None:
    assert told(asked("Hello"), answered(""), returned("a result"))[1:] == [("user", "Hello\n\nRank them.")]


def test_of_a_long_conversation_the_newest_is_shown_and_a_person_speaks_first() -> None:
    shown = told(asked("x" * 200), answered("An answer."), asked("Rank"))
    assert shown[1:] == [("user", "Rank\n\nRank them.")]
