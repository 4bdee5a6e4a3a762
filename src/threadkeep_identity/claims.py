"""What the claims of a token that was checked say of its holder."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.ids import id_of
from threadkeep.conversation.scope import Scope
from threadkeep.errors import NotAllowed, NotAuthenticated
from threadkeep_identity.tables import Claims


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, else by its way through others; None if there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def person(claims: Mapping[str, Any], table: Claims) -> dict[str, Any]:
    """Return the fields of an identity. A claim that is missing is `NotAuthenticated`, a scope `NotAllowed`."""
    tenant = table.tenant or _text(claims, table.tenant_claim or "")
    roles = _words(claims, table.role_claim) if table.role_claim else frozenset()
    scopes = _words(claims, table.scope_claim) if table.read or table.write else frozenset()
    writes = table.write is None or table.write in scopes
    if table.read is not None and table.read not in scopes and (table.write is None or not writes):
        raise NotAllowed(f"The token lacks the scope {table.read}.")
    if table.read is None and not writes:
        raise NotAllowed(f"The token lacks the scope {table.write}.")
    return {
        "scope": Scope(tenant=id_of(tenant), user=id_of(_text(claims, table.user_claim))),
        "role": _role(roles, table),
        "writes": writes,
    }


def ends_at(claims: Mapping[str, Any]) -> datetime:
    """Return when a token expires."""
    try:
        return datetime.fromtimestamp(float(claims["exp"]), UTC)
    except (ValueError, TypeError, KeyError, OverflowError, OSError):
        raise NotAuthenticated("The token does not say when it expires.") from None


def _role(roles: frozenset[str], table: Claims) -> KeyRole:
    if table.role_claim is None:
        return KeyRole.USER
    if table.service is not None and table.service in roles:
        return KeyRole.SERVICE
    return KeyRole.ADMIN if table.admin in roles else KeyRole.USER


def _text(claims: Mapping[str, Any], name: str) -> str:
    found = claim(claims, name)
    if not isinstance(found, str) or not found or len(found) > 1000:
        raise NotAuthenticated(f"The token has no claim {name} that names somebody.")
    return found


def _words(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the words of a claim: a list, or one text with spaces between them."""
    found = claim(claims, name)
    words = found.split() if isinstance(found, str) else found if isinstance(found, list) else []
    return frozenset(word for word in words if isinstance(word, str))
