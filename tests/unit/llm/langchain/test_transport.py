"""The transport of providers' clients against a real socket: connections are kept, cut and given up as they should."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from threadkeep.llm.langchain.transport import lean_client

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
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.answer)
                if self.closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left.set()
        finally:
            writer.close()


@asynccontextmanager
async def peered(
    answer: bytes, *, closes: bool = False, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[Peer, httpx.AsyncClient]]:
    peer = Peer(answer, closes=closes)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    async with aclosing(lean_client(httpx.AsyncClient(timeout=5))) as client, server, asyncio.timeout(5):
        client.base_url = f"{'https' if tls else 'http'}://127.0.0.1:{peer.port}"
        yield peer, client


async def test_a_connection_carries_one_request_after_another() -> None:
    async with peered(WHOLE) as (peer, client):
        for _ in range(3):
            assert (await client.get("/a?b=c", headers={"X-Own": "yes"})).text == "hi"
    assert peer.connections == 1
    assert peer.requests[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")
    assert b"X-Own: yes\r\n" in peer.requests[0]


async def test_requests_at_once_have_a_connection_each() -> None:
    async with peered(WHOLE) as (peer, client):
        await asyncio.gather(*(client.get("/") for _ in range(3)))
    assert peer.connections == 3


async def test_a_connection_that_the_provider_closes_is_not_used_again() -> None:
    async with peered(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi") as (peer, client):
        for _ in range(2):
            assert (await client.get("/")).text == "hi"
    assert peer.connections == 2


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with peered(b"HTTP/1.1 200 OK\r\n\r\nhi", closes=True) as (_, client):
        assert (await client.get("/")).text == "hi"


async def test_an_answer_that_is_announced_is_waited_for() -> None:
    async with peered(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + WHOLE) as (_, client):
        answer = await client.get("/")
    assert (answer.status_code, answer.text, "link" in answer.headers) == (200, "hi", False)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", b"\x16\x03\x01 this is no HTTP\r\n\r\n"]
)
async def test_an_answer_that_breaks_off_is_an_error(answer: bytes) -> None:
    async with peered(answer, closes=True) as (_, client):
        with pytest.raises(ConnectionError):
            await client.get("/")


async def test_a_provider_that_falls_silent_is_given_up() -> None:
    async with peered(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi") as (peer, client):
        with pytest.raises(TimeoutError):
            await client.get("/", timeout=0.1)
        await peer.left.wait()


async def test_an_answer_that_is_not_read_to_its_end_is_hung_up_on() -> None:
    async with peered(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi") as (peer, client):
        async with client.stream("GET", "/") as answer:
            assert await anext(answer.aiter_raw()) == b"hi"
        await peer.left.wait()


async def test_more_than_fits_into_memory_at_once_is_read_to_its_end() -> None:
    size = 3_000_000
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size
    async with peered(whole) as (_, client), client.stream("GET", "/") as answer:
        assert sum([len(piece) async for piece in answer.aiter_raw()]) == size


async def test_what_comes_unasked_ends_a_connection() -> None:
    async with peered(WHOLE + WHOLE) as (peer, client):
        for _ in range(2):
            assert (await client.get("/")).text == "hi"
    assert peer.connections == 2


async def test_a_server_is_believed_only_by_a_certificate_that_the_machine_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = _certificate(tmp_path)
    async with peered(WHOLE, tls=tls) as (_, client):
        with pytest.raises(ssl.SSLCertVerificationError):
            await client.get("/")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    async with peered(WHOLE, tls=tls) as (_, client):
        assert (await client.get("/")).text == "hi"


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
