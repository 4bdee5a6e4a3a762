"""Images to look at, made here: a PNG of one colour, of any size."""

import struct
import zlib


def png(width: int, height: int, colour: tuple[int, int, int] = (200, 30, 30)) -> bytes:
    """Return a PNG of this size in one colour."""
    rows = (b"\0" + bytes(colour) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
