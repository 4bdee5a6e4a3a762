"""Whose data: a tenant and a user in it. Every verb of the store takes one."""

from threadkeep.conversation.ids import Id
from threadkeep.conversation.value import Value


class Scope(Value):
    """The tenant and the user that a request acts for."""

    tenant: Id
    user: Id


LOCAL = Scope(tenant="local", user="local")
