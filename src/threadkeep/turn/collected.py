"""What a model or an agent has given so far in one call, put together for the message that it becomes."""

from dataclasses import dataclass, field
from typing import Any

from threadkeep.conversation.blocks import Block
from threadkeep.llm.answer import Answer
from threadkeep.turn.agent import Changed, Noted, Shown, Thought


@dataclass
class ModelOutput:
    """An answer and what came beside it: notes for the trace, blocks, keys of the state to set and to remove."""

    answer: Answer = field(default_factory=Answer)
    notes: list[dict[str, Any]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    set: dict[str, Any] = field(default_factory=dict)
    unset: dict[str, None] = field(default_factory=dict)

    def add(self, thought: Thought) -> None:
        """Take up one more thought."""
        match thought:
            case Noted():
                self.notes.append(thought.item)
            case Shown():
                self.blocks.append(thought.block)
            case Changed():
                self._change(thought)
            case _:
                self.answer.add(thought)

    @property
    def has_changes(self) -> bool:
        """Whether the state is to change."""
        return bool(self.set or self.unset)

    def _change(self, changed: Changed) -> None:
        """Put changes together: what is set later is not removed, what is removed later is not set."""
        self.set = {key: value for key, value in self.set.items() if key not in changed.unset} | dict(changed.set)
        self.unset = {key: None for key in (*self.unset, *changed.unset) if key not in changed.set}
