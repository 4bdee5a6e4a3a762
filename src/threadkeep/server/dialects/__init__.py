"""The dialects: other names and shapes for the same conversations, for clients that were written for other servers.

Each translates names and shapes at the edge and calls what the native routes call, so a conversation made in one
dialect is available in all the others.
"""

from fastapi import APIRouter

from threadkeep.conversations import Conversations
from threadkeep.server.dialects.chat_stream import chat_routes
from threadkeep.server.dialects.query import query_routes
from threadkeep.server.dialects.sessions import session_routes
from threadkeep.server.dialects.stateless import stateless_routes
from threadkeep.settings import Settings


def dialect_routes(conversations: Conversations, settings: Settings) -> list[APIRouter]:
    """Return the routes of all dialects for these conversations."""
    named = settings.dialects
    return [
        session_routes(conversations, named.sessions),
        chat_routes(conversations, named.chat),
        stateless_routes(conversations, settings),
        query_routes(conversations, named.query),
    ]
