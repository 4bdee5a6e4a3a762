"""Requests that no HTTP library would send: wrong numbers, upgrades, malformed chunks, forms, several at once, cut off.

Made by chance from the addresses of the OpenAPI document and sent over bare sockets. What comes back must be HTTP and
no 5xx; a connection that is left says nothing.
"""

import json
import random
import re
import socket
from urllib.parse import quote, urlsplit

NUMBERS = (
    "-1",
    "0",
    "1",
    "7",
    "-9223372036854775809",
    "9007199254740993",
    "1e9",
    "1" * 400,
    "",
    "null",
    "\u0664",
    " 5",
)
TEXTS = (
    "",
    "chat",
    "a" * 3000,
    "\x00",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "../..",
    "%",
    "\u2028",
)
JSON_BODIES = (
    b"{}",
    b"[]",
    b"null",
    b"{",
    b'{"content": "hi"}',
    b'{"message": "hi"}',
    b'{"query": "hi"}',
    b'{"title": null}',
    b'{"head": -1}',
    b'{"parent": 99999999999999999999, "content": "x"}',
    b'{"metadata": ' + b"[" * 5000 + b"}",
    b'{"content": "\\ud800"}',
    b'{"content": 5}',
    b"\xff\xfe",
    b"[" + b"[]," * 60_000 + b"[]]",
    b"1" * 5000,
)
FORM = b'--x\r\nContent-Disposition: form-data; name="message"\r\n\r\nhi\r\n--x--'
FORM_BODIES = (
    FORM,
    FORM[:-2],
    FORM * 3,
    b"--x\r\n" * 3000,
    b"message=hi",
    b"message=%ff&" * 200,
    FORM.replace(b"name", b"nme"),
)
TYPES = ("application/json", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "text/plain", "")
HEADERS = (
    "Connection: Upgrade\r\nUpgrade: websocket",
    "Connection: Upgrade\r\nUpgrade: h2c",
    "Expect: 100-continue",
    "Accept: text/event-stream",
    "Prefer: respond-async",
    'If-Match: "-1"',
    "If-Match: *",
    "Idempotency-Key: \u00ff",
    "Idempotency-Key: ",
    "Last-Event-ID: -1",
    "Last-Event-ID: \u00e9",
    "Range: bytes=-1",
    "X-Forwarded-For: ,,,",
    "Cookie: threadkeep_key=",
    "Content-Encoding: gzip",
    "Accept-Encoding: gzip;q=x",
)


class Requests:
    """Makes requests by chance; the same seed makes the same ones."""

    def __init__(self, document: dict[str, dict[str, dict[str, object]]], conversation: str, seed: int) -> None:
        self._chance = random.Random(seed)
        self._calls = [(method, path) for path, methods in document["paths"].items() for method in methods]
        self._parameters = {
            (method, path): [each for each in call.get("parameters", ()) if each["in"] == "query"]  # type: ignore[attr-defined]
            for path, methods in document["paths"].items()
            for method, call in methods.items()
        }
        self._conversation = conversation

    def next(self) -> bytes:
        """Return the bytes of one request, or of a few."""
        whole = b"".join(self._one() for _ in range(self._chance.choice((1, 1, 1, 2, 3))))
        return whole[: self._chance.randrange(len(whole))] if self._chance.random() < 0.1 else whole

    def _one(self) -> bytes:
        choose = self._chance.choice
        method, path = choose(self._calls)
        named = re.sub(r"\{\w+\}", lambda _: choose((self._conversation,) * 8 + ("-1", "%00", "x" * 300)), path)
        query = [
            f"{each['name']}={quote(choose(NUMBERS + TEXTS))}"
            for each in self._parameters[method, path]
            if self._chance.random() < 0.6
        ]
        head = [f"{method.upper()} {named}{'?' if query else ''}{'&'.join(query)} HTTP/1.1", "Host: 127.0.0.1"]
        head += [choose(HEADERS) for _ in range(choose((0, 0, 1, 2)))]
        if method in ("get", "delete") and self._chance.random() < 0.8:
            return self._joined(head) + b"\r\n"
        head.append(f"Content-Type: {choose(TYPES)}")
        return self._with_body(head, choose((*JSON_BODIES, *FORM_BODIES)))

    def _with_body(self, head: list[str], body: bytes) -> bytes:
        match self._chance.randrange(6):
            case 0:
                whole = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
                return self._joined([*head, "Transfer-Encoding: chunked"]) + b"\r\n" + whole
            case 1:
                broken = self._chance.choice(
                    (b"zz\r\n", b"-1\r\n", b"5\r\nab", b"ffffffffffffffff\r\n", b"2\r\nabcd\r\n")
                )
                return self._joined([*head, "Transfer-Encoding: chunked"]) + b"\r\n" + broken
            case 2:
                wrong = self._chance.choice(("-1", "1e3", "99999999999999999999", str(len(body) + 5)))
                return self._joined([*head, f"Content-Length: {wrong}"]) + b"\r\n" + body
            case _:
                return self._joined([*head, f"Content-Length: {len(body)}"]) + b"\r\n" + body

    @staticmethod
    def _joined(lines: list[str]) -> bytes:
        return b"".join(line.encode("latin-1") + b"\r\n" for line in lines)


def attack_raw(
    url: str, document: dict[str, dict[str, dict[str, object]]], conversation: str, seed: int, count: int
) -> list[str]:
    """Send so many; return what was answered with 5xx, or with what is no HTTP."""
    parts, requests, wrong = urlsplit(url), Requests(document, conversation, seed), []
    for _ in range(count):
        sent = requests.next()
        with socket.create_connection((str(parts.hostname), int(parts.port or 80)), timeout=0.5) as connection:
            try:
                connection.sendall(sent)
                answer = connection.recv(65536)
            except (TimeoutError, ConnectionError):
                continue
        if answer and not re.match(rb"HTTP/1\.1 (100|[234]\d\d) ", answer):
            wrong.append(json.dumps([sent[:2000].decode("latin-1"), answer[:500].decode("latin-1")]))
    return wrong
