"""Hostile files: `python -m tests.acceptance.torture_files --count 10000 --seed 7`.

Each is sent to a server, and whatever it is: no error of ours, nothing that a browser would run, a stable code and
nothing stored where it is refused, its own bytes where it is not. Ends with 1 if a promise was broken.
"""

import argparse
import asyncio
import random
import sys
import time
import zipfile
import zlib
from collections import Counter
from io import BytesIO

from tests.integration.serving import Server, serving

SIGNS = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF89a",
    b"RIFF\0\0\0\0WEBP",
    b"RIFF\0\0\0\0WAVE",
    b"%PDF-1.7\n",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"ID3",
    b"OggS",
    b"MZ",
    b"\x7fELF",
    b"BM\0\0\0\0\0\0\0\0",
    b"\0\0\0\x18ftypavif",
    b"",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
)
HARM = (
    b"<script>alert(document.domain)</script>",
    b"<!doctype html><html><body onload=x()>",
    b"<svg xmlns='x' onload='x()'/>",
    b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'b'>]><svg>&a;</svg>",
    b"<iframe src=//evil>",
    b"#!/bin/sh\nrm -rf /\n",
    b"=cmd|'/c calc'!A1",
    b"\0" * 64,
    b"\x1b[2J",
    b"{" * 900,
    b"..%2f..%2fetc/passwd",
)
NAMES = (
    "../../etc/passwd",
    "..\\win.ini",
    "a\0.png",
    "x\u202egnp.exe",
    "a\r\nSet-Cookie: x=1",
    "a" * 10_000,
    "",
    ".",
    "..",
    "/",
    "con.png",
    "cat.png",
    "x.html",
    "x.svg",
    'a"; filename="b.html',
    "ä “x” 文.pdf",
    "\u200bx.png",
    "😀.png",
    "a;b,c.txt",
    "%00.png",
)
INLINE = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif", "image/heic", "audio/")
PAGES = {"text/html", "image/svg+xml", "application/xml", "text/xml", "application/xhtml+xml", "text/javascript"}
CODES = {"invalid_part", "invalid_text", "empty_file", "file_too_large"}
MOST = 4096


def hostile(chance: random.Random) -> tuple[str, bytes]:
    """Return a name and the bytes of a file that nobody wants."""
    kind = chance.randrange(8)
    if kind == 0:
        data = chance.randbytes(chance.choice((0, 1, 2, 3, 11, 300, MOST, MOST + 1)))
    elif kind == 1:
        data = chance.choice(SIGNS)[: chance.randrange(1, 12)]
    elif kind == 2:
        data = _bomb(chance)
    else:
        inside = [chance.choice(HARM), chance.randbytes(chance.randrange(20)), chance.choice(HARM)]
        chance.shuffle(inside)
        data = chance.choice(SIGNS) + b" \n"[: chance.randrange(3)] + b"".join(inside)
    if kind == 7 and data:
        at = chance.randrange(len(data))
        data = data[:at] + chance.randbytes(1) + data[at + 1 :]
    return chance.choice(NAMES), data


def _bomb(chance: random.Random) -> bytes:
    """Return an archive, or an image, that is small here and very large once it is opened."""
    if chance.random() < 0.5:
        header = b"IHDR" + (60_000).to_bytes(4) * 2 + b"\x08\x02\0\0\0"
        return (
            b"\x89PNG\r\n\x1a\n\0\0\0\r" + header + zlib.crc32(header).to_bytes(4) + zlib.compress(bytes(100_000))[:500]
        )
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(chance.choice(("word/document.xml", "../evil", "xl/a")), bytes(1_000_000))
    return archive.getvalue()


async def check(server: Server, name: str, data: bytes) -> str:
    """Upload a file and look at what comes back; return how it was taken, or what was broken."""
    made = await server.client.post("/v1/files", params={"name": name}, content=data)
    if made.status_code not in (200, 201):
        code = made.json()["code"]
        return code if code in CODES else f"BROKEN: {made.status_code} {code} for {name[:40]!r} {data[:40]!r}"
    file = made.json()
    got = await server.client.get(f"/v1/files/{file['id']}")
    told, disposition = got.headers["content-type"], got.headers["content-disposition"]
    is_inline = disposition.startswith("inline")
    broken = {
        "other bytes": got.content != data,
        "a page": told.partition(";")[0] in PAGES,
        "shown": is_inline and not told.startswith(INLINE),
        "a page that is shown": is_inline and data.lstrip()[:1] == b"<",
        "an image that is none": file["type"] == "image" and not file["media_type"].startswith(INLINE),
        "no sandbox": got.headers["content-security-policy"] != "sandbox; default-src 'none'",
        "sniffed": got.headers["x-content-type-options"] != "nosniff",
        "a header of its own": "set-cookie" in got.headers or disposition.count("filename=") != 1,
    }
    wrong = [what for what, is_so in broken.items() if is_so]
    return f"BROKEN: {wrong} for {name[:40]!r} {data[:40]!r}" if wrong else str(file["media_type"])


async def campaign(count: int, seed: int) -> Counter[str]:
    """Send so many files to one server; return how they were taken."""
    chance, taken = random.Random(seed), Counter[str]()
    async with serving(max_file_bytes=MOST, user_file_bytes=0, user_requests_per_second=0) as server:
        for _ in range(count):
            taken[await check(server, *hostile(chance))] += 1
        stored = [file.size async for file in server.conversations.files.files("local")]
        if 0 in stored or max(stored) > MOST:
            taken["BROKEN: what was refused is stored"] += 1
    return taken


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign and tell how it went."""
    parser = argparse.ArgumentParser(prog="torture_files", description="Send hostile files and look what comes back.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    started = time.monotonic()
    taken = asyncio.run(campaign(chosen.count, chosen.seed))
    for kind, count in taken.most_common():
        print(f"{count:6} {kind}")
    is_broken = any(kind.startswith("BROKEN") for kind in taken)
    verdict = "a promise was broken" if is_broken else "nobody served, nothing run"
    print(f"files: seed {chosen.seed}, {chosen.count} sent, {time.monotonic() - started:.0f} s: {verdict}", flush=True)
    return 1 if is_broken else 0


if __name__ == "__main__":
    sys.exit(main())
