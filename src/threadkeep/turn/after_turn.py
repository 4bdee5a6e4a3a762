"""What is done after a turn, without anybody waiting: a title after the first exchange, and a running summary of what
fell out of the window, for assistants whose policy asks for one.

The model makes the title. Without a real model, or without an answer, the title is made from the question's words; the
first answer then replaces it. A summary is a remark on the last entry that it covers. A failure is logged, and the work
is tried again after the next turn.
"""

import asyncio
import logging

from threadkeep.context.base import Cut, newest_cut
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Summary, Update
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import ModelError, ThreadkeepError
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import Request
from threadkeep.llm.title import title_request
from threadkeep.store.values import Append
from threadkeep.text.title import clean_title, title_from_words
from threadkeep.turn.active_turn import ActiveTurn

logger = logging.getLogger(__name__)

INSTRUCTIONS = (
    "Sum up the conversation that follows for somebody who must go on with it: names, numbers, decisions, open "
    "questions and wishes, in at most 200 words, in its own language. Begin with what the earlier summary says, if any."
)
EARLY = 16
"""A conversation with more entries keeps its title, even one that was made without an answer."""
MOST_ENTRIES = 200
MOST_CHARACTERS = 40_000


async def after_turn(active: ActiveTurn) -> None:
    """Give the conversation a title if it has none; sum up what fell out of the window if the assistant wants it."""
    for name, work in (("title", _give_title), ("summary", _keep_summary)):
        try:
            await work(active)
        except ThreadkeepError as error:
            logger.info("no %s for %s: %s", name, active.lease.conversation, error)
        except Exception:
            logger.exception("no %s for %s", name, active.lease.conversation)


async def _give_title(active: ActiveTurn) -> None:
    lease, store = active.lease, active.deps.store
    conversation = await store.get(lease.scope, lease.conversation)
    question, answer = _exchange(active.entries)
    may_be_titled = conversation.title is None or (answer and await _is_makeshift(active, conversation))
    if not question or not may_be_titled:
        return
    if title := await _title(active, question, answer):
        # Refused if somebody has changed the title meanwhile.
        version = conversation.version
        await store.update(lease.scope, lease.conversation, Update(title=title), expected_version=version)


async def _is_makeshift(active: ActiveTurn, conversation: Conversation) -> bool:
    """Whether the title was made from the words of an earlier question, and none was answered before this turn."""
    if conversation.entries > EARLY:
        return False
    page = await active.deps.store.log(active.lease.scope, conversation.id, Cursor(), limit=EARLY)
    before = [entry for entry in page.entries if entry.turn != active.lease.turn]
    if any(map(_is_answer, before)):
        return False
    asked = (entry.body for entry in before if isinstance(entry.body, Message) and entry.body.role is Role.USER)
    return conversation.title in [title_from_words(_said(message)) for message in asked]


def _is_answer(entry: Entry) -> bool:
    """Whether an entry ends a turn well, or is an answer that was taken in from elsewhere."""
    if isinstance(entry.body, TurnChange):
        return entry.body.state is TurnState.COMPLETED
    return entry.turn is None and isinstance(entry.body, Message) and entry.body.role is Role.ASSISTANT


def _said(message: Message) -> str:
    """Return the text of a message, or the names of its files if it has no text."""
    return message.content or ", ".join(part.name for part in message.parts if isinstance(part, Attachment))


def _exchange(entries: list[Entry]) -> tuple[str, str]:
    """Return question and answer of a turn, as far as it has them."""
    messages = [entry.body for entry in entries if isinstance(entry.body, Message) and _said(entry.body)]
    asked = [_said(message) for message in messages if message.role is Role.USER]
    answers = [
        message.content
        for message in messages
        if message.role is Role.ASSISTANT and message.status is MessageStatus.COMPLETE
    ]
    return asked[0] if asked else "", answers[-1] if answers else ""


async def _title(active: ActiveTurn, question: str, answer: str) -> str:
    if active.model.is_scripted or not answer:
        return title_from_words(question)
    title = Answer()
    try:
        await _ask(active, title_request(question, answer), title)
    except (ModelError, TimeoutError) as error:
        logger.info("the model gave no title: %s", error)
        return title_from_words(question)
    return clean_title(title.text) or title_from_words(question)


async def _ask(active: ActiveTurn, request: Request, answer: Answer) -> None:
    async with asyncio.timeout(active.deps.silence):
        async for delta in active.model.stream(request):
            answer.add(delta)


async def _keep_summary(active: ActiveTurn) -> None:
    """Sum up what fell out of the window since the last summary."""
    lease, store = active.lease, active.deps.store
    cut = newest_cut(active.entries) or Cut()
    if not active.assistant.policy.summary or active.model.is_scripted or not cut.first:
        return
    earlier = await store.summary(lease.scope, lease.conversation, head=active.head)
    covered = 0 if earlier is None else earlier.parent or 0
    lost = await store.newest(lease.scope, lease.conversation, before=cut.first, limit=MOST_ENTRIES)
    lost = tuple(entry for entry in lost if entry.seq > covered)
    if not lost:
        return
    answer = Answer()
    await _ask(active, _summary_request(earlier, lost), answer)
    if text := answer.text.strip():
        summary = Summary(content=text, tokens=active.deps.count(Message(role=Role.SYSTEM, content=text)))
        await store.append(lease.scope, lease.conversation, Append(bodies=(summary,), parent=lost[-1].seq))


def _summary_request(earlier: Entry | None, lost: tuple[Entry, ...]) -> Request:
    before = earlier.body.content if earlier is not None and isinstance(earlier.body, Summary) else ""
    lines = [f"{entry.body.role}: {entry.body.content}" for entry in lost if isinstance(entry.body, Message)]
    text = (f"Earlier summary: {before}\n\n" if before else "") + "\n\n".join(lines)[:MOST_CHARACTERS]
    return Request(messages=(Message(role=Role.SYSTEM, content=INSTRUCTIONS), Message(role=Role.USER, content=text)))
