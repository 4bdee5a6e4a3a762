"""Ids as they stand in addresses. One that can be no id names nothing, so it is answered like any other unknown one."""

from typing import Annotated

from pydantic import AfterValidator

from threadkeep.conversation.ids import check_id
from threadkeep.errors import ConversationNotFound, InvalidId


def _checked(text: str) -> str:
    try:
        return check_id(text)
    except InvalidId:
        raise ConversationNotFound from None


ConversationId = Annotated[str, AfterValidator(_checked)]
