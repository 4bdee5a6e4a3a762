"""The skill creator: a guided conversation that ends with a skill's folder. It shows how to build on a state machine.

To be read in the order in which a skill is made:

- what there is: `fields` (the parts of a skill), `machine` (states and legal ways), `notebook` (the state meanwhile);
- a message comes in: `mind` (one exchange from end to end), `wording` (which of the `intents` a message is), `dialogue`
  (what can be wanted at any time);
- the skill is described: `gathering` (answers), `confirming` (what was inferred), `changing` (any part, at any time),
  `asking` (the next question), `telling` (all that is said);
- words become parts: `understanding` (free words, by rules), `inference` and `listening` (the same, by a model),
  `reading` (an answer as a value), `proposals` (what we would put), `naming`, `phrasing`;
- the skill is written: `making` (write, check, write again), `generation` (by a model), `template` (without one),
  `front_matter`, `validation`;
- it is kept: `storing` (where, and what if the name is taken), `tools` and `saving` (the folder, whole or not at all).
"""

from pathlib import Path

from threadkeep.context.base import Policy, Window
from threadkeep.settings import Settings
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.skill_creator.machine import MACHINE
from threadkeep_assistants.skill_creator.tools import saving_tool


def skill_creator(settings: Settings) -> Assistant:
    """Return the assistant; its skills are saved below the folder that the settings name."""
    return Assistant(
        name="skill_creator",
        description="Makes a skill with you, one question at a time: SKILL.md and what belongs to it.",
        instructions="You help a person to make a skill.",
        examples=(
            "I want a skill that turns meeting notes into action items",
            "A skill that reviews SQL before it is run",
        ),
        tools=Registry([saving_tool(Path(settings.skills_dir))]),
        policy=Policy(window=Window.FULL),
        machine=MACHINE,
        mind="threadkeep_assistants.skill_creator.mind:SkillCreator",
    )
