"""A proxy in front that signs people in, and names them in a header: believed only from its own addresses.

Such a proxy mostly knows its people by a cookie, which browsers send for pages of other sites, too. So what changes
something must come from our own page, or say in `Origin` that it does.
"""

from ipaddress import ip_address, ip_network

from starlette.requests import HTTPConnection

from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.ids import id_of
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import check_text
from threadkeep.errors import NotAuthenticated
from threadkeep.server.connection import PEER
from threadkeep.server.identity.guards import Identity
from threadkeep_identity.tables import ProxyTable


class ProxyIdentity(Identity):
    """Somebody whom the proxy has signed in."""


class ProxyWay:
    """Lets in whom the proxy names. From any other address the header is as if it was not there."""

    identifies = ProxyIdentity

    def __init__(self, table: ProxyTable) -> None:
        self._table = table
        self._networks = [ip_network(each, strict=False) for each in table.addresses]

    async def identify(self, connection: HTTPConnection) -> Identity | None:
        if not self._is_ours(connection) or "authorization" in connection.headers:
            return None
        user = _named(connection, self._table.user_header)
        tenant = self._table.tenant or _named(connection, self._table.tenant_header or "")
        if not user or not tenant:
            return None
        role = KeyRole.ADMIN if user in self._table.admins else KeyRole.USER
        return ProxyIdentity(scope=Scope(tenant=id_of(tenant), user=id_of(user)), role=role, is_ambient=True)

    async def is_valid(self, identity: Identity) -> bool:
        """Whether the proxy still vouches for a stream: it ends those of who signs out."""
        return True

    def _is_ours(self, connection: HTTPConnection) -> bool:
        """Whether the connection itself came from the proxy, whatever headers say of its client."""
        peer = connection.scope.get(PEER, connection.scope.get("client"))
        try:
            address = ip_address(peer[0] if peer else "")
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._networks)


def _named(connection: HTTPConnection, header: str) -> str | None:
    found = connection.headers.getlist(header)
    if len(found) > 1:
        raise NotAuthenticated(f"The header {header} stands there more than once.")
    return check_text(found[0].encode("latin-1")).strip() if found else None
