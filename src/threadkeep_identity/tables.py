"""The table `[identity]` of the settings: which ways to sign in there are beside API keys."""

from ipaddress import ip_network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from threadkeep.conversation.value import Value

PUBLIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SHARED = ("HS256", "HS384", "HS512")
Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "HS256", "HS384", "HS512"
]


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _check_network(network: str) -> str:
    try:
        ip_network(network, strict=False)
    except ValueError:
        raise ValueError("an address or a network, such as 10.0.0.0/8") from None
    return network


Texts = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=500)], ...], BeforeValidator(_as_list)]
Networks = Annotated[tuple[Annotated[str, AfterValidator(_check_network)], ...], BeforeValidator(_as_list)]
Name = Annotated[str, Field(min_length=1, max_length=500)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s@]+$", max_length=2000)]


class Claims(Value):
    """What the claims of a token say: of which tenant (one for all, or a claim) and who somebody is, with which role,
    and whether it may read and write. A claim within another is written with dots: `realm_access.roles`."""

    tenant: Name | None = None
    tenant_claim: Name | None = None
    user_claim: Name = "sub"
    role_claim: Name | None = None
    admin: Name = "admin"
    service: Name | None = None
    scope_claim: Name = "scope"
    read: Name | None = None
    write: Name | None = None

    @model_validator(mode="after")
    def _names_one_tenant(self) -> Self:
        if (self.tenant is None) == (self.tenant_claim is None):
            raise ValueError("either `tenant` or `tenant_claim` says whose data it is")
        return self


class JwtTable(Claims):
    """An issuer of JSON Web Tokens. Its keys are at `jwks`, else where its discovery document says; or a `public_key`
    (PEM), or a `secret` that it shares with us. `leeway` is for clocks that are behind, never for what has expired."""

    issuer: Name
    audience: Texts = Field(min_length=1)
    jwks: Url | None = None
    public_key: str | None = None
    secret: SecretStr | None = Field(default=None, min_length=32)
    algorithms: tuple[Algorithm, ...] = ()
    leeway: float = Field(default=5, ge=0, le=300)

    @property
    def accepted(self) -> tuple[str, ...]:
        """The algorithms that a signature may have."""
        return self.algorithms or (PUBLIC if self.secret is None else SHARED)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if [self.jwks, self.public_key, self.secret].count(None) < 2:
            raise ValueError("one of `jwks`, `public_key` and `secret` says which keys are good")
        allowed = PUBLIC if self.secret is None else SHARED
        if wrong := set(self.algorithms) - set(allowed):
            raise ValueError(f"{', '.join(sorted(wrong))} does not go with this kind of key")
        if self.secret is None and self.public_key is None and self.jwks is None and "://" not in self.issuer:
            raise ValueError("`jwks` is needed: the issuer is no address at which its keys could be found")
        return self


class ProxyTable(Value):
    """A proxy that signs people in, and names them in a header. Only connections from its `addresses` are believed."""

    addresses: Networks = Field(min_length=1)
    user_header: Name = "X-Forwarded-User"
    tenant: Name | None = None
    tenant_header: Name | None = None
    admins: Texts = ()

    @model_validator(mode="after")
    def _names_one_tenant(self) -> Self:
        if (self.tenant is None) == (self.tenant_header is None):
            raise ValueError("either `tenant` or `tenant_header` says whose data it is")
        return self


class OidcTable(Claims):
    """A provider of OpenID Connect at which people sign in for the page, which is at `public_url`."""

    name: Annotated[str, Field(pattern=r"^[\w .&+-]{1,60}$")] = "OpenID Connect"
    issuer: Url
    client_id: Name
    client_secret: SecretStr | None = None
    public_url: Url
    scopes: Texts = ("openid", "profile")

    @property
    def base(self) -> str:
        """The address of the page, without a slash at its end."""
        return self.public_url.rstrip("/")


class IdentityTable(Value):
    """All ways. A token that we give to a browser lasts `token_seconds` at most; it is signed with `token_key`, else
    with the store's secret."""

    jwt: tuple[JwtTable, ...] = ()
    proxy: ProxyTable | None = None
    oidc: OidcTable | None = None
    guard: Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$")] | None = None
    token_seconds: float = Field(default=900, ge=1, le=86_400)
    token_key: SecretStr | None = Field(default=None, min_length=32)

    @property
    def secrets(self) -> frozenset[str]:
        """The values that no log line may tell."""
        found = [self.token_key, *(issuer.secret for issuer in self.jwt), self.oidc and self.oidc.client_secret]
        return frozenset(secret.get_secret_value() for secret in found if secret)
