"""An issuer of JSON Web Tokens for tests: its keys, what it publishes, and the settings of a server that knows it."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ISSUER = "https://issuer.example"
AUDIENCE = "threadkeep"


@dataclass
class TestIssuer:
    """An issuer with one key that signs; others may be published beside it."""

    __test__ = False

    id: str = "one"
    key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def algorithm(self) -> str:
        return "RS256" if isinstance(self.key, rsa.RSAPrivateKey) else "ES256"

    def published(self) -> dict[str, Any]:
        """The public key as an issuer publishes it."""
        kind = RSAAlgorithm if isinstance(self.key, rsa.RSAPrivateKey) else ECAlgorithm
        described: dict[str, Any] = json.loads(kind.to_jwk(self.key.public_key()))
        return {**described, "kid": self.id, "use": "sig", "alg": self.algorithm}

    def pem(self) -> str:
        """The public key as text."""

        return str(self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())

    def token(self, *, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token that is good, but for the claims that are given; one that is None is left out."""
        now = int(time.time())
        known = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 300, **claims}
        said = {name: value for name, value in known.items() if value is not None}
        return jwt.encode(said, self.key, algorithm=self.algorithm, headers={"kid": self.id, **(header or {})})

    def headers(self, **claims: Any) -> dict[str, str]:
        """The header of a request with such a token."""
        return {"Authorization": f"Bearer {self.token(**claims)}"}

    def settings(self, **more: Any) -> dict[str, Any]:
        """The settings of a server that knows the key and nothing else of this issuer."""
        table = {"issuer": ISSUER, "audience": AUDIENCE, "public_key": self.pem(), "tenant": "acme", **more}
        return {"auth": "keys", "identity": {"jwt": [table]}}


ISSUER_OF_LANES = TestIssuer("lanes")
"""Who vouches for the callers of those lanes of the suites in which they sign in."""
