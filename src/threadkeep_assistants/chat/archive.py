"""Searching one's own earlier conversations, as a tool. It sees the user who is asking, and nobody else."""

from threadkeep.errors import InvalidValue
from threadkeep.tools.base import ToolContext
from threadkeep.tools.decorator import tool

MOST = 20


@tool(repeatable=True)
async def search_conversations(words: str, context: ToolContext, limit: int = 5) -> list[dict[str, str]]:
    """Find what was said in earlier conversations of this user, the best first.

    Args:
        words: A few words that the message must hold, without words such as "the" or "about".
        limit: How many messages at most.
    """
    if context.archive is None:
        raise InvalidValue("There are no earlier conversations here.")
    hits = await context.archive.search(words, limit=2 * MOST)
    others = [hit for hit in hits if hit.conversation != context.conversation]
    return [
        {
            "conversation": hit.conversation,
            "title": hit.title or "",
            "who": str(hit.role),
            "when": f"{hit.created_at:%Y-%m-%d}",
            "said": hit.snippet,
        }
        for hit in others[: max(1, min(limit, MOST))]
    ]
