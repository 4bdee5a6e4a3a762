"""The skill creator: a guided conversation that ends with a skill's folder. It shows how to build on a state machine.

`machine` says where a conversation can be and go, `mind` leads it, `dialogue` and what it imports decide what is said.
"""

from pathlib import Path

from threadkeep.assistants.skill_creator.machine import MACHINE
from threadkeep.assistants.skill_creator.tools import saving_tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant


def skill_creator(folder: Path = Path("skills")) -> Assistant:
    """Return the assistant; its skills are saved below a folder."""
    return Assistant(
        name="skill_creator",
        description="Makes a skill with you, one question at a time: SKILL.md and what belongs to it.",
        instructions="You help a person to make a skill.",
        examples=(
            "I want a skill that turns meeting notes into action items",
            "A skill that reviews SQL before it is run",
        ),
        tools=Registry([saving_tool(folder)]),
        machine=MACHINE,
        mind="threadkeep.assistants.skill_creator.mind:SkillCreator",
    )


ASSISTANT = skill_creator()
