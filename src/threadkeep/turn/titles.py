"""Titles: made after the first exchange, by the model where one is there, else from the words. Nobody waits for it."""

import asyncio
import logging

from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.errors import ModelError, ThreadkeepError
from threadkeep.llm.answer import Answer
from threadkeep.llm.title import clean_title, title_from_words, title_request
from threadkeep.turn.active_turn import ActiveTurn

logger = logging.getLogger(__name__)


async def give_title(active: ActiveTurn) -> None:
    """Give the conversation a title after a turn, if it has none. A failure is logged and tried after the next turn."""
    lease, deps = active.lease, active.deps
    try:
        conversation = await deps.store.get(lease.scope, lease.conversation)
        exchange = _exchange(active.entries)
        if conversation.title is not None or exchange is None:
            return
        title = await _title(active, *exchange)
        if not title:
            return
        # Only if nobody has given one meanwhile.
        version = conversation.version
        await deps.store.update(lease.scope, lease.conversation, Update(title=title), expected_version=version)
    except ThreadkeepError as error:
        logger.info("no title for %s: %s", lease.conversation, error)
    except Exception:
        logger.exception("no title for %s", lease.conversation)


def _exchange(entries: list[Entry]) -> tuple[str, str] | None:
    """Return question and answer of a turn, if it has both."""
    said = [entry.body for entry in entries if isinstance(entry.body, Message) and entry.body.content]
    asked = [message.content for message in said if message.role is Role.USER]
    answers = [
        message.content
        for message in said
        if message.role is Role.ASSISTANT and message.status is MessageStatus.COMPLETE
    ]
    return (asked[0], answers[-1]) if asked and answers else None


async def _title(active: ActiveTurn, question: str, answer: str) -> str:
    if active.model.is_scripted:
        return title_from_words(question)
    said = Answer()
    try:
        async with asyncio.timeout(active.deps.silence):
            async for delta in active.model.stream(title_request(question, answer)):
                said.add(delta)
    except (ModelError, TimeoutError) as error:
        logger.info("the model gave no title: %s", error)
    return clean_title(said.text) or title_from_words(question)
