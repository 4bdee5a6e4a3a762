"""Going on after results and decisions: a turn that waited goes on by itself, unless it is to go on otherwise, with
other tools, other instructions or a further message; then another turn continues what it said."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role, ToolResult
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import InvalidValue, TurnNotFound
from threadkeep.tools.client import client_tools
from threadkeep.tools.registry import Registry
from threadkeep_protocols.chats import log_behind, newest_first
from threadkeep_protocols.openai.ids import ResponseId
from threadkeep_protocols.openai.stretch import Stretch, opening_of
from threadkeep_protocols.openai.taking import Decision

Continued = tuple[int | None, list[Message]]
"""The entry that is to be continued, and the results that stand behind it."""


async def go_on(
    chat: ConversationHandle,
    before: ResponseId | None,
    decisions: Sequence[Decision],
    tools: Sequence[dict[str, Any]],
    *,
    is_other: bool,
) -> tuple[Stretch | None, Continued]:
    """Give results and decisions to the turn that waits for them, and return what it says then; or, if it is to go on
    otherwise, end it and return what another turn has to continue."""
    wait = await _wait_about(chat, before, {decision.call for decision in decisions})
    if wait.turn is None or not isinstance(wait.body, TurnChange):
        raise TypeError("not a wait")
    _, opening = await opening_of(chat, wait.turn)
    change = wait.body
    if strange := [decision.call for decision in decisions if decision.call not in change.calls]:
        raise InvalidValue(f"No tool call found for the output with the call id {strange[0]}.")
    if is_other or (tools and client_tools(tools, Registry([])) != opening.tools):
        if set(change.calls) - set(change.client_calls) or any(each.result is None for each in decisions):
            raise InvalidValue("Where a person decides about calls, nothing else can be sent along.")
        return None, await _taken_over(chat, wait, decisions)
    open_turn = next((turn for turn in await chat.turns() if turn.number == wait.turn), None)
    if open_turn is not None and open_turn.state is TurnState.WAITING:
        left = [*await chat.client_calls(open_turn), *await chat.waiting_calls(open_turn)]
        given = {decision.call for decision in decisions}
        if missing := [call.id for call in left if call.id in change.calls and call.id not in given]:
            raise InvalidValue(f"No tool output found for function call {missing[0]}.")
    for decision in decisions:
        with suppress(TurnNotFound):  # it was decided before, perhaps elsewhere and otherwise
            if decision.result is None:
                await chat.approve(decision.call, approved=decision.approved, reason=decision.reason)
            else:
                await chat.give_result(decision.call, decision.result)
    return Stretch(chat, chat.turn(wait.turn), wait.seq), (None, [])


async def waiting_for(chat: ConversationHandle) -> str:
    """Return the first call that a conversation waits for."""
    calls = [*await chat.client_calls(), *await chat.waiting_calls()]
    return calls[0].id if calls else ""


async def _wait_about(chat: ConversationHandle, before: ResponseId | None, calls: set[str]) -> Entry:
    """Return the entry that tells of a wait for calls: the one at the end of a response, or else the newest."""
    if before is not None:
        async for entry in log_behind(chat, before.begin or before.turn - 1):
            if entry.turn == before.turn and _waits_for(entry, calls):
                return entry
    else:
        async for entry in newest_first(chat):
            if _waits_for(entry, calls):
                return entry
    raise InvalidValue(f"No tool call found for the output with the call id {min(calls)}.")


def _waits_for(entry: Entry, calls: set[str]) -> bool:
    change = entry.body
    return isinstance(change, TurnChange) and change.state is TurnState.WAITING and bool(calls & {*change.calls})


async def _taken_over(chat: ConversationHandle, wait: Entry, decisions: Sequence[Decision]) -> Continued:
    """End a turn that waits, and return its calls with their results as what another turn continues."""
    with suppress(TurnNotFound):
        await chat.cancel(wait.turn)
    results = [
        Message(role=Role.TOOL, content=decision.result or "", tool_result=ToolResult(tool_call_id=decision.call))
        for decision in decisions
    ]
    return wait.parent, results
