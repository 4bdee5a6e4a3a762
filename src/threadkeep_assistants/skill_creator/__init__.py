"""The skill creator: a guided conversation that ends with a skill's folder. It shows how to build on a state machine.

To be read in the order in which a skill is made: `fields` (its parts), `machine` (states and legal ways), `agent` (one
exchange), `understanding` (words become intents and values), `dialogue` (what is answered), `generation` (what a model
does), `document` (SKILL.md: template and validation), `saving`.
"""

from functools import partial
from pathlib import Path

from threadkeep.context.base import Policy, Window
from threadkeep.settings import Settings
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.skill_creator.machine import MACHINE
from threadkeep_assistants.skill_creator.saving import erase_saved, saving_tool


def skill_creator(settings: Settings) -> Assistant:
    """Return the assistant; its skills are saved below the folder that the settings name."""
    return Assistant(
        name="skill_creator",
        description="Makes a skill with you, one question at a time: SKILL.md and what belongs to it.",
        instructions="You help a person to make a skill.",
        examples=("I want a skill that turns meeting notes into action items", "A skill that reviews SQL"),
        tools=Registry([saving_tool(Path(settings.skills_dir))]),
        policy=Policy(window=Window.FULL),
        machine=MACHINE,
        agent="threadkeep_assistants.skill_creator.agent:SkillCreator",
        erase=partial(erase_saved, Path(settings.skills_dir)),
    )
