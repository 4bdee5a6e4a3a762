"""What a model reads of a conversation: the newest messages of its branch as Markdown, as many as fit."""

from dataclasses import dataclass
from typing import Any

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.transfer.moving import writer_of

MOST_CHARACTERS = 100_000
"""About what a model can take at once; a page ends early after so many characters."""
MOST_MESSAGES = 200
CUT = "\n\n[This message goes on: {} characters in all.]\n\n"


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page of a conversation: its text, its messages as JSON, and the entry before which there are older ones."""

    text: str
    messages: list[dict[str, Any]]
    before: int | None


async def read_page(conversation: ConversationHandle, messages: int, before: int | None = None) -> ReadPage:
    """Return the newest messages of the current branch, or those before an entry."""
    found = await conversation.snapshot(messages=messages, before=before)
    writer, fitting, room = writer_of("markdown")(found.conversation), list[tuple[Entry, str]](), MOST_CHARACTERS
    texts = [(entry, writer.write(entry)) for entry in found.entries if isinstance(entry.body, Message)]
    for entry, text in reversed(texts):
        if len(text) > room and fitting:
            break
        fitting.append((entry, text if len(text) <= room else text[:room] + CUT.format(len(text))))
        room -= len(text)
    fitting.reverse()
    first = fitting[0][0] if fitting else None
    older = None if first is None or first.parent is None else first.seq
    hint = f"\n[There are older messages: read on with before={older}.]\n" if older else ""
    return ReadPage(
        text=writer.begin() + "".join(text for _, text in fitting) + writer.end() + hint,
        messages=[_message(entry) for entry, _ in fitting],
        before=older,
    )


def _message(entry: Entry) -> dict[str, Any]:
    role = entry.body.role if isinstance(entry.body, Message) else None
    return {"entry": entry.seq, "role": role, "created_at": entry.created_at.isoformat()}
