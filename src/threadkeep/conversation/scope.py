"""Whose data: a tenant and a user in it. Every verb of the store takes one."""

from uuid import UUID, uuid5

from threadkeep.conversation.ids import Id, is_chosen
from threadkeep.conversation.value import Value

_OWN = UUID("6f0d3c52-5b6e-4b39-9c5e-0d6f2f6f7a11")


class Scope(Value):
    """The tenant and the user that a request acts for."""

    tenant: Id
    user: Id

    def id_named(self, name: str) -> str:
        """Return the id of the conversation that this user calls by a name. An id that was made by us is a name of its
        own; any other is this user's alone, so that nobody can learn from it, or take it from, somebody else. The local
        user, who need not share a store, has the ids that were chosen."""
        return self.own_id(name) if is_chosen(name) and self.user != LOCAL.user else name

    def own_id(self, name: str) -> str:
        """Return the id that this user alone can get for a name."""
        return str(uuid5(_OWN, "\0".join((self.tenant, self.user, name))))


LOCAL = Scope(tenant="local", user="local")
