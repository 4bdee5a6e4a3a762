"""The state of a conversation as a turn sees and changes it; where there is a machine, only as the machine allows."""

from collections.abc import Mapping
from typing import Any

from threadkeep.conversation.state import State, StateChange
from threadkeep.machine import Machine
from threadkeep.turn.active_turn import ActiveTurn


async def read_state(active: ActiveTurn) -> State:
    """Return the state at the place that a turn has come to."""
    lease = active.lease
    return await active.deps.store.state(lease.scope, lease.conversation, at=active.place or None)


def state_change(
    machine: Machine | None, state: State, new: Mapping[str, Any], unset: tuple[str, ...] = ()
) -> StateChange:
    """Return the entry that changes the state. Raises IllegalTransition if the machine does not go that way."""
    return state.change(machine.move(state.values, new, unset) if machine else new, unset)


def after(state: State, change: StateChange) -> State:
    """Return the state behind a change."""
    kept = {} if change.whole else {key: value for key, value in state.values.items() if key not in change.unset}
    return State(values=kept | change.set, depth=change.depth)


def told(machine: Machine, state: State) -> str:
    """Return what a model is told about where a guided conversation stands."""
    here = machine.current(state.values)
    said = machine.instructions.get(here, "")
    ways = ", ".join(machine.allowed(state.values)) or "nowhere"
    return f"this conversation is in the state {here}; from here it can go to: {ways}. {said}".strip()
