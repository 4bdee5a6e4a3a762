"""Who is asking: every route takes an identity, and everything that it does is done in that identity's scope."""

from typing import Annotated, Literal

from fastapi import Depends
from starlette.requests import HTTPConnection

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.value import Value

SeenAs = Literal["user", "admin"]


class Identity(Value):
    """A user of a tenant, and what it may do."""

    scope: Scope
    role: SeenAs = "user"


LOCAL_IDENTITY = Identity(scope=LOCAL, role="admin")
"""Without authentication there is one person: whoever sits at this machine."""


async def identify(connection: HTTPConnection) -> Identity:
    """Return who sent this request, or refuse it."""
    identity: Identity = await connection.app.state.guard.identify(connection)
    return identity


class OpenGuard:
    """Lets everybody in as the local user. Only for loopback."""

    async def identify(self, connection: HTTPConnection) -> Identity:
        """Return the local user."""
        return LOCAL_IDENTITY


Who = Annotated[Identity, Depends(identify)]
