"""HTTP to providers against a real socket: connections are kept, cut and given up as they should, proxies honoured."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from aiohttp import ClientError
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from threadkeep.errors import ModelRefused
from threadkeep.llm.base import trace_parent
from threadkeep_providers.endpoint import Endpoint
from threadkeep_providers.vendor_errors import ProviderError

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Peer:
    """A server that answers every request with the same bytes, and ends the connection after them if it is told so."""

    def __init__(self, answer: bytes, *, closes: bool = False) -> None:
        self.answer, self.closes, self.port = answer, closes, 0
        self.requests: list[bytes] = []
        self.connections = 0
        self.left = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(re.findall(rb"(?i)content-length: (\d+)", head)[0])
                self.requests.append(head + await reader.readexactly(size))
                writer.write(self.answer)
                if self.closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left.set()
        finally:
            writer.close()


@asynccontextmanager
async def peered(
    answer: bytes, *, closes: bool = False, tls: ssl.SSLContext | None = None, silence: float = 5, user: str = ""
) -> AsyncIterator[tuple[Peer, Endpoint]]:
    peer = Peer(answer, closes=closes)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    url = f"{'https' if tls else 'http'}://{user}127.0.0.1:{peer.port}/v1/"
    async with aclosing(Closing(Endpoint(url, {"X-Own": "yes"}, silence))) as closing, server, asyncio.timeout(5):
        yield peer, closing.endpoint


class Closing:
    """Closes an endpoint at the end."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    async def aclose(self) -> None:
        await self.endpoint.close()


async def posted(endpoint: Endpoint, body: bytes = b"{}") -> bytes:
    return b"".join([piece async for piece in endpoint.post("/a?b=c", body)])


async def test_a_connection_carries_one_request_after_another() -> None:
    async with peered(WHOLE) as (peer, endpoint):
        for _ in range(3):
            assert await posted(endpoint) == b"hi"
    assert peer.connections == 1
    assert peer.requests[0].startswith(b"POST /v1/a?b=c HTTP/1.1\r\n")
    assert b"X-Own: yes\r\n" in peer.requests[0]


async def test_requests_at_once_have_a_connection_each() -> None:
    async with peered(WHOLE) as (peer, endpoint):
        await asyncio.gather(*(posted(endpoint) for _ in range(3)))
    assert peer.connections == 3


async def test_a_large_request_is_sent_whole() -> None:
    async with peered(WHOLE) as (peer, endpoint):
        assert await posted(endpoint, b"x" * 3_000_000) == b"hi"
    assert len(peer.requests[0].partition(b"\r\n\r\n")[2]) == 3_000_000


async def test_closing_ends_the_connections_and_the_next_request_opens_another() -> None:
    async with peered(WHOLE) as (peer, endpoint):
        await posted(endpoint)
        await endpoint.close()
        await peer.left.wait()
        assert await posted(endpoint) == b"hi"
    assert peer.connections == 2


def test_another_event_loop_has_connections_of_its_own() -> None:
    async def ask(endpoint: Endpoint | None = None) -> Endpoint:
        async with peered(WHOLE) as (peer, made):
            endpoint = endpoint or made
            endpoint._url = f"http://127.0.0.1:{peer.port}"
            assert await posted(endpoint) == b"hi"
            await endpoint.close()
        return endpoint

    asyncio.run(ask(asyncio.run(ask())))


async def test_a_connection_that_the_provider_closes_is_not_used_again() -> None:
    async with peered(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi") as (peer, endpoint):
        for _ in range(2):
            assert await posted(endpoint) == b"hi"
    assert peer.connections == 2


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with peered(b"HTTP/1.1 200 OK\r\n\r\nhi", closes=True) as (_, endpoint):
        assert await posted(endpoint) == b"hi"


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", b"\x16\x03\x01 this is no HTTP\r\n\r\n"]
)
async def test_an_answer_that_breaks_off_is_an_error(answer: bytes) -> None:
    async with peered(answer, closes=True) as (_, endpoint):
        with pytest.raises((ClientError, OSError)):
            await posted(endpoint)


async def test_a_provider_that_falls_silent_is_given_up() -> None:
    async with peered(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", silence=0.1) as (peer, endpoint):
        with pytest.raises(TimeoutError):
            await posted(endpoint)
        await peer.left.wait()


async def test_an_answer_that_is_not_read_to_its_end_is_hung_up_on() -> None:
    async with peered(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi") as (peer, endpoint):
        async with aclosing(endpoint.post("/", b"{}")) as pieces:
            assert await anext(pieces) == b"hi"
        await peer.left.wait()


async def test_more_than_fits_into_memory_at_once_is_read_to_its_end() -> None:
    size = 3_000_000
    async with peered(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size) as (_, endpoint):
        assert len(await posted(endpoint)) == size


@pytest.mark.parametrize(
    ("body", "said", "words"),
    [
        (b'{"error": {"message": "no", "type": "bad", "code": "x"}}', "no", "bad x"),
        (b'[{"error": {"message": "no", "status": "UNAVAILABLE"}}]', "no", "UNAVAILABLE"),
        (b'{"error": "no"}', "no", ""),
        (b'{"detail": "no"}', "{'detail': 'no'}", ""),
        (b"<html>no", "<html>no", ""),
        (b"x" * 100_000, "x" * 65_536, ""),
    ],
)
async def test_a_refusal_is_told_with_as_much_as_can_be_read(body: bytes, said: str, words: str) -> None:
    head = b"HTTP/1.1 429 No\r\nRetry-After: 7\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with peered(head + body) as (_, endpoint):
        with pytest.raises(ProviderError) as caught:
            await posted(endpoint)
    error = caught.value
    assert (str(error), error.words, error.status, error.headers["retry-after"]) == (said, words, 429, "7")


async def test_no_redirect_is_followed_with_a_key() -> None:
    async with peered(b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n") as (
        peer,
        endpoint,
    ):
        with pytest.raises(ProviderError) as caught:
            await posted(endpoint)
    assert (caught.value.status, len(peer.requests)) == (307, 1)


async def test_credentials_in_an_address_are_sent_as_such_and_known_as_secrets() -> None:
    async with peered(WHOLE, user="me:mango4orchard9@") as (peer, endpoint):
        await posted(endpoint)
    assert b"\r\nAuthorization: Basic bWU6bWFuZ280b3JjaGFyZDk=\r\n" in peer.requests[0]
    assert "mango4orchard9" in endpoint.secrets


async def test_the_trace_of_the_turn_is_passed_on() -> None:
    async with peered(WHOLE) as (peer, endpoint):
        token = trace_parent.set("00-1-2-01")
        try:
            await posted(endpoint)
        finally:
            trace_parent.reset(token)
    assert b"\r\ntraceparent: 00-1-2-01\r\n" in peer.requests[0]


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy", "HTTP_PROXY"])
async def test_a_proxy_of_the_environment_is_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with peered(WHOLE) as (proxy, _), aclosing(Closing(Endpoint("http://far.invalid/v1", {}))) as closing:
        monkeypatch.setenv(name, f"http://me:secret@127.0.0.1:{proxy.port}")
        assert await posted(closing.endpoint) == b"hi"
    assert proxy.requests[0].startswith(b"POST http://far.invalid/v1/a?b=c HTTP/1.1\r\n")
    assert b"\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n" in proxy.requests[0]


@pytest.mark.parametrize(
    "variables",
    [
        {"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1,example.com"},
        {"all_proxy": "http://127.0.0.1:1", "NO_PROXY": "*"},
        {"https_proxy": "http://127.0.0.1:1"},
    ],
)
async def test_a_proxy_that_is_not_for_this_address_is_not_used(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    async with peered(WHOLE) as (_, endpoint):
        assert await posted(endpoint) == b"hi"


async def test_a_proxy_of_another_kind_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(ModelRefused, match="proxy"):
        await posted(Endpoint("http://far.invalid/v1", {}))


@pytest.mark.parametrize("url", ["ftp://host/v1", "file:///etc/passwd", "http:///v1"])
def test_an_address_is_one_of_http(url: str) -> None:
    with pytest.raises(ModelRefused, match="base URL"):
        Endpoint(url, {})


async def test_a_server_is_believed_only_by_a_certificate_that_the_machine_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = _certificate(tmp_path)
    async with peered(WHOLE, tls=tls) as (_, endpoint):
        with pytest.raises(ClientError):
            await posted(endpoint)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    async with peered(WHOLE, tls=tls) as (_, endpoint):
        assert await posted(endpoint) == b"hi"


def _certificate(folder: Path) -> ssl.SSLContext:
    """Return what a server on the loopback interface needs; its certificate is in cert.pem."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "peer")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1))
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = built.add_extension(alternative, critical=False).sign(key, hashes.SHA256())
    (folder / "cert.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context
