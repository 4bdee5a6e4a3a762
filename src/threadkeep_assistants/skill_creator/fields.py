"""What is gathered about a skill: each part with its key in the state, its question and the words it goes by."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """How an answer is read: as a name, one text, a list, a list with details, scripts, or names of tools."""

    NAME = "name"
    TEXT = "text"
    LIST = "list"
    NESTED = "nested"
    SCRIPTS = "scripts"
    TOOLS = "tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A part of a skill. `words` are what people call it, the longest first; `sample` is an answer one could give."""

    key: str
    label: str
    kind: Kind
    question: str
    sample: str
    words: tuple[str, ...]

    @property
    def is_needed(self) -> bool:
        """Whether no skill can be written without it."""
        return self.key in NEEDED


NEEDED = ("purpose", "skill_name", "description")

FIELDS: tuple[Field, ...] = (
    Field(
        key="purpose",
        label="Purpose",
        kind=Kind.TEXT,
        question="What should the skill do?",
        sample="It turns meeting notes into a list of action items",
        words=("purpose", "goal", "aim"),
    ),
    Field(
        key="skill_name",
        label="Name",
        kind=Kind.NAME,
        question="What should the skill be called?",
        sample="meeting-notes",
        words=("skill name", "skill's name", "name of the skill", "name", "title"),
    ),
    Field(
        key="description",
        label="Description",
        kind=Kind.TEXT,
        question="How would you describe it in a sentence or two: what it does and when to use it?",
        sample="Turns meeting notes into action items. Use it when somebody pastes notes",
        words=("short description", "description", "summary"),
    ),
    Field(
        key="capabilities",
        label="Capabilities",
        kind=Kind.NESTED,
        question="What exactly should it be able to do?",
        sample="find tasks: owner, due date; write a summary",
        words=("capabilities", "capability", "abilities", "features", "feature"),
    ),
    Field(
        key="workflow_steps",
        label="Steps",
        kind=Kind.LIST,
        question="Which steps should it follow, in order?",
        sample="read the notes, then find the tasks, then write the list",
        words=("workflow steps", "steps of the workflow", "workflow", "steps", "step", "process", "procedure"),
    ),
    Field(
        key="examples",
        label="Examples",
        kind=Kind.LIST,
        question="What would somebody say to it? One or two examples help.",
        sample='"Here are my notes from Monday, who has to do what?"',
        words=("examples", "example", "usage examples"),
    ),
    Field(
        key="triggers",
        label="Triggers",
        kind=Kind.LIST,
        question="When should it be used: which situations or words are the sign?",
        sample="somebody pastes meeting notes; somebody asks for action items",
        words=("triggers", "trigger", "when to use it", "when to use"),
    ),
    Field(
        key="reference_topics",
        label="References",
        kind=Kind.LIST,
        question="Are there topics that deserve a reference page of their own?",
        sample="date formats, tone of voice",
        words=("reference topics", "reference pages", "references", "reference", "topics"),
    ),
    Field(
        key="scripts_needed",
        label="Scripts",
        kind=Kind.SCRIPTS,
        question="Does it need scripts for work that must be done exactly?",
        sample="a script that parses dates",
        words=("scripts needed", "scripts", "script"),
    ),
    Field(
        key="allowed_tools",
        label="Tools",
        kind=Kind.TOOLS,
        question="Should it be limited to certain tools?",
        sample="Read, Grep",
        words=("allowed tools", "tools", "tool", "permissions"),
    ),
)
BY_KEY = {field.key: field for field in FIELDS}
OPTIONAL = tuple(field.key for field in FIELDS if not field.is_needed)


def has(values: Mapping[str, Any], key: str) -> bool:
    """Whether a part is known. A list may be known to be empty; a text that is needed may not."""
    return bool(values.get(key)) if key in NEEDED else values.get(key) is not None


def missing(values: Mapping[str, Any]) -> list[str]:
    """Return the parts that nobody has said anything about, in the order in which they are asked for."""
    return [field.key for field in FIELDS if not has(values, field.key)]
