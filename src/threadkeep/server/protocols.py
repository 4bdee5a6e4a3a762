"""Other servers' protocols on the same conversations, which packages around the core bring along by entry points."""

import logging
from collections.abc import Iterator

from fastapi import APIRouter

from threadkeep.conversations import Conversations
from threadkeep.rings import PROTOCOLS, offered
from threadkeep.settings import Settings

logger = logging.getLogger(__name__)


def protocol_routes(conversations: Conversations, settings: Settings) -> Iterator[APIRouter]:
    """Yield the routes of each protocol that is installed. One that cannot be loaded is logged and left out."""
    for point in offered(PROTOCOLS):
        try:
            yield point.load()(conversations, settings)
        except ImportError as error:
            logger.warning("the protocol %s cannot be loaded: %s", point.name, error)
