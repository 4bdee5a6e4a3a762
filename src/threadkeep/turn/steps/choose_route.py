"""Choosing the route: which way to answer, given the history. Without a router, everything is looked up."""

from collections.abc import Sequence

from threadkeep.conversation.message import Message
from threadkeep.routing.follow_up import follow_up
from threadkeep.routing.router import Choice, Router


def choose_route(router: Router | None, question: str, history: Sequence[Message]) -> Choice:
    """Return the way to answer a question, given what was said before it, oldest first."""
    if router is not None:
        return router.route(question, history)
    return Choice(route="retrieve", why="everything is looked up", follow_up=follow_up(question, history))
