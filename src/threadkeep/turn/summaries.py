"""Running summaries: after a turn, what the window has left behind is summed up by the model. Nobody waits for it.

The summary is a remark on the last entry that it covers. The originals stay, and what is appended meanwhile is not
affected. Only for assistants whose policy asks for it; a scripted model sums up nothing.
"""

import asyncio
import logging

from threadkeep.context.base import Cut, cut_in
from threadkeep.conversation.entry import Entry, Summary
from threadkeep.conversation.message import Message, Role
from threadkeep.errors import ThreadkeepError
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import Request
from threadkeep.store.base import Append
from threadkeep.turn.active_turn import ActiveTurn

logger = logging.getLogger(__name__)

INSTRUCTIONS = (
    "Sum up the conversation that follows for somebody who must go on with it: names, numbers, decisions, open "
    "questions and wishes, in at most 200 words, in its own language. Begin with what the earlier summary says, if any."
)
MOST_ENTRIES = 200
MOST_CHARACTERS = 40_000


async def keep_summary(active: ActiveTurn) -> None:
    """Sum up what fell out of the window since the last summary, if the assistant wants one."""
    try:
        if active.assistant.policy.summary and not active.model.is_scripted:
            await _keep(active)
    except ThreadkeepError as error:
        logger.info("no summary for %s: %s", active.lease.conversation, error)
    except Exception:
        logger.exception("no summary for %s", active.lease.conversation)


async def _keep(active: ActiveTurn) -> None:
    lease, store = active.lease, active.deps.store
    cut = _cut(active.entries)
    if not cut.first:
        return
    earlier = await store.summary(lease.scope, lease.conversation, head=active.place)
    covered = 0 if earlier is None else earlier.parent or 0
    lost = await store.before(lease.scope, lease.conversation, cut.first, limit=MOST_ENTRIES)
    lost = tuple(entry for entry in lost if entry.seq > covered)
    if not lost:
        return
    text = await _ask(active, earlier, lost)
    if text:
        summary = Summary(content=text, tokens=active.deps.count(Message(role=Role.SYSTEM, content=text)))
        await store.append(lease.scope, lease.conversation, Append(bodies=(summary,), parent=lost[-1].seq))


def _cut(entries: list[Entry]) -> Cut:
    """Return the cut that the last answer of the turn was made with."""
    said = [entry.body for entry in entries if isinstance(entry.body, Message) and entry.body.tool_trace]
    return (cut_in(said[-1].tool_trace) if said else None) or Cut()


async def _ask(active: ActiveTurn, earlier: Entry | None, lost: tuple[Entry, ...]) -> str:
    before = earlier.body.content if earlier is not None and isinstance(earlier.body, Summary) else ""
    said = [f"{entry.body.role}: {entry.body.content}" for entry in lost if isinstance(entry.body, Message)]
    text = (f"Earlier summary: {before}\n\n" if before else "") + "\n\n".join(said)[:MOST_CHARACTERS]
    messages = (Message(role=Role.SYSTEM, content=INSTRUCTIONS), Message(role=Role.USER, content=text))
    answer = Answer()
    async with asyncio.timeout(active.deps.silence):
        async for delta in active.model.stream(Request(messages=messages)):
            answer.add(delta)
    return answer.text.strip()
