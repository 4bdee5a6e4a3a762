"""A turn that was just begun, on a store in memory, for tests of the engine's own modules."""

from typing import Any

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.llm.base import Model
from threadkeep.runtime import open_store
from threadkeep.testing.samples import new, running
from threadkeep.testing.scripted_model import ScriptedModel
from threadkeep.tools.base import Tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.active_turn import ActiveTurn, EngineDeps
from threadkeep.turn.assistant import Assistant


async def begun(model: Model | None = None, *tools: Tool, **parts: Any) -> ActiveTurn:
    """Begin a turn that says "hello" to an assistant with these tools; `parts` are fields of `EngineDeps`."""
    assistant = Assistant(name="tester", instructions="Be brief.", tools=Registry(tools))
    answers = model or ScriptedModel()
    store = parts.pop("store", None) or await open_store("memory:")
    fields: dict[str, Any] = {
        "store": store,
        "assistant_of": lambda conversation: assistant,
        "models": lambda name, assistant: answers,
        "clock": utc_now,
        "ids": new_id,
        "owner": "one",
        "pauses": (0.0,),
    }
    lease = await running(store, await new(store))
    return await ActiveTurn.load(EngineDeps(**(fields | parts)), lease)


def ends(active: ActiveTurn) -> tuple[str, str | None, str | None]:
    """Return the state that the turn came to, the code of its failure, and its detail."""
    change: Any = active.entries[-1].body
    return change.state.value, change.failure and change.failure.code, change.detail
