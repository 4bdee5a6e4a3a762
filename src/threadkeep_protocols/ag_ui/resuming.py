"""What lets a waiting turn go on: answers to interrupts, and results of tools that the client runs."""

from contextlib import suppress
from typing import NamedTuple

from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import InvalidValue, TurnNotFound
from threadkeep_protocols.ag_ui.taking import Resumed, RunInput
from threadkeep_protocols.chats import said_in
from threadkeep_protocols.parts import AnswerCall, AnswerReader

NEAR = 20
LONGEST_REASON = 2000


class Decision(NamedTuple):
    """What a person decided about a call, and why."""

    call: str
    approved: bool
    reason: str | None = None


async def go_on(chat: ConversationHandle, body: RunInput) -> None:
    """Take the answers and results of a run. What was decided before, perhaps elsewhere and otherwise, stays so;
    InvalidValue, and nothing is taken, if something was never asked or is no answer to it."""
    waiting = {call.id for call in await chat.waiting_calls()}
    by_client = {call.id for call in await chat.client_calls()}
    await _check(chat, {each.interruptId for each in body.resume} - waiting - by_client)
    decisions = [_decision(each) for each in body.resume if each.interruptId in waiting]
    for decision in decisions:
        with suppress(TurnNotFound):
            await chat.approve(decision.call, approved=decision.approved, reason=decision.reason)
    for each in body.resume:
        if each.interruptId in by_client:
            error = "The person cancelled it." if each.status == "cancelled" else None
            await _give(chat, each.interruptId, each.payload, error)
    for message in body.messages:
        if message.role == "tool" and message.toolCallId in by_client and message.toolCallId is not None:
            await _give(chat, message.toolCallId, message.text, message.error)


async def _give(chat: ConversationHandle, call: str, result: object, error: str | None) -> None:
    with suppress(TurnNotFound):
        await chat.give_result(call, result, error=error)


async def _check(chat: ConversationHandle, others: set[str]) -> None:
    """Check that calls which do not wait were made once: their answers were taken before."""
    if not others:
        return
    readers = [item for item in await said_in(chat, NEAR) if isinstance(item, AnswerReader)]
    made = {part.id for reader in readers for part in reader.parts if isinstance(part, AnswerCall)}
    if unknown := others - made:
        raise InvalidValue(f"There is no interrupt {min(unknown)}.")


def _decision(resumed: Resumed) -> Decision:
    """Return what a person decided: `{"approved": true, "reason": "..."}`, or the bare truth value."""
    if resumed.status == "cancelled":
        return Decision(resumed.interruptId, False, "cancelled")
    payload = resumed.payload if isinstance(resumed.payload, dict) else {"approved": resumed.payload}
    approved, reason = payload.get("approved"), payload.get("reason")
    if not isinstance(approved, bool):
        raise InvalidValue('The answer to an interrupt is {"approved": true} or {"approved": false}.')
    if "editedArgs" in payload:
        raise InvalidValue("The arguments of a call cannot be edited: refuse it, and say why.")
    return Decision(resumed.interruptId, approved, reason[:LONGEST_REASON] if isinstance(reason, str) else None)
