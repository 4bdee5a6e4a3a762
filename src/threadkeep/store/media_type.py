"""The type of a file, by its first bytes and never by what its sender says: HTML that calls itself a PNG is HTML.

The name decides only between kinds of plain text, which are all shown as text and never run.
"""

import re

HEAD = 4096
"""How many bytes are looked at."""
UNKNOWN = "application/octet-stream"
RASTER = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif", "image/heic"})
"""The image formats that cannot contain scripts."""

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypM4A ", "audio/mp4"),
    (4, b"ftyp", "video/mp4"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xf1", "audio/aac"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"MZ", "application/x-msdownload"),
    (0, b"{\\rtf", "application/rtf"),
)
"""Where a signature stands, the signature, and what it is the sign of; the first that fits decides."""
_RIFF = frozenset({"image/webp", "audio/wav"})
_OFFICE = "application/vnd.openxmlformats-officedocument"
_ARCHIVES = (
    (b"word/", f"{_OFFICE}.wordprocessingml.document"),
    (b"xl/", f"{_OFFICE}.spreadsheetml.sheet"),
    (b"ppt/", f"{_OFFICE}.presentationml.presentation"),
    (b"mimetypeapplication/epub+zip", "application/epub+zip"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
)
_SVG = re.compile(rb"<(\w+:)?svg[\s>]")
_HTML = re.compile(rb"<(!doctype html|html|head|body|script|iframe|img|a|div|p|style|svg|table|title|h1|br)[\s>/]")
_TEXTS = {
    "csv": "text/csv",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "json": "application/json",
    "py": "text/x-python",
    "tsv": "text/tab-separated-values",
}


def media_type(head: bytes, name: str = "") -> str:
    """Return what a file that begins with these bytes is."""
    head = head[:HEAD]
    for at, sign, kind in _SIGNATURES:
        if head.startswith(sign, at) and (kind not in _RIFF or head.startswith(b"RIFF")):
            return kind
    if head.startswith(b"BM") and head[6:10] == bytes(4):
        return "image/bmp"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return next((kind for sign, kind in _ARCHIVES if sign in head), "application/zip")
    return _text_type(head, name)


def _text_type(head: bytes, name: str) -> str:
    """Return which kind of text this is, if it is text at all. A browser would look for a tag, so we do."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and len(head) % 2 == 0:
        return "text/plain"
    lowered = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if b"\0" in head or not _is_utf8(head):
        return "text/html" if lowered.startswith(b"<") and _HTML.search(lowered) else UNKNOWN
    if lowered.startswith(b"<"):
        if lowered.startswith((b"<?xml", b"<svg", b"<!--", b"<!doctype svg")) and _SVG.search(lowered):
            return "image/svg+xml"
        if _HTML.search(lowered):
            return "text/html"
        if lowered.startswith(b"<?xml"):
            return "application/xml"
    return _TEXTS.get(name.rpartition(".")[2].lower(), "text/plain") if head else UNKNOWN


def _is_utf8(head: bytes) -> bool:
    """Whether this can be the beginning of text; the last character may be cut off."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.end >= len(head) - 1 and len(head) - error.start < 4 and error.reason == "unexpected end of data"
    return True
