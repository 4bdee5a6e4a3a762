"""Which protocols of other products are spoken: the table `[protocols]` of the settings, and the routes that it adds.

    [protocols]
    on = ["ai-sdk", "openai"]     # or "all"

A protocol is an entry point in `threadkeep.named_protocols`: a function that makes a router of conversations and
settings, as in `threadkeep.protocols`, which is only called where its name is on. Its routes stay out of the OpenAPI
document (`include_in_schema=False`): their shapes are described by those whose protocols they are.
"""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from threadkeep.conversation.value import Value
from threadkeep.conversations import Conversations
from threadkeep.rings import load, offered
from threadkeep.settings import Settings

NAMED = "threadkeep.named_protocols"
ALL = "all"


def _split(given: object) -> object:
    return [name.strip() for name in given.split(",") if name.strip()] if isinstance(given, str) else given


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of installed protocols, once each, in the order of the names; `all` stands for every one."""
    there = [point.name for point in offered(NAMED)]
    if unknown := set(names) - {*there, ALL}:
        raise ValueError(f"there is no protocol {', '.join(sorted(unknown))}; there are {', '.join(there)}")
    return tuple(name for name in there if name in names or ALL in names)


Protocols = Annotated[tuple[Annotated[str, Field(max_length=64)], ...], BeforeValidator(_split), AfterValidator(_known)]


class ProtocolsTable(Value):
    """The protocols that are on, by the names of their entry points."""

    on: Protocols = ()

    @model_validator(mode="before")
    @classmethod
    def _of_variable(cls, given: Any) -> Any:
        return {"on": given} if isinstance(given, str) else given


def named_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    """The routes of every protocol that is on."""
    router, table = APIRouter(), settings.protocols or ProtocolsTable()
    for name in table.on:
        make = load(NAMED, name, f"the protocol {name}")
        router.include_router(make(conversations, settings))
    return router
