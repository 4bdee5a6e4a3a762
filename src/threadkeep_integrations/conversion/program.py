"""The program that opens strangers' files: it reads one from standard input and writes the result to standard output.

`converter.py` runs it in a process of its own. It imports nothing of Threadkeep, limits itself before it reads a byte,
and simply fails at whatever it cannot or must not open; what it has written by then is used.
"""

import codecs
import io
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from xml.parsers import expat

CPU_SECONDS = 10
MEMORY = 1 << 30
MOST_XML = 64 << 20
"""How many bytes of XML are unpacked from a document: a ZIP bomb ends here."""
MOST_PIXELS = 100_000_000
MOST_PAGES = 2000
CUT_OFF = "\n[…]"
"""The end of a text that was cut off."""

_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_BREAKS = {"p": "\n", "br": "\n", "cr": "\n", "tab": "\t", "tc": "\t"}
"""The text that stands for elements of a Word document that separate texts."""


def limit_this_process() -> None:
    """Limit time and memory; forbid to write files and to start processes."""
    try:
        import resource
    except ImportError:
        return
    limits = {"CPU": CPU_SECONDS, "AS": MEMORY, "FSIZE": 0, "CORE": 0, "NOFILE": 64, "NPROC": 0}
    for name, most in limits.items():
        with suppress(ValueError, OSError):  # macOS has no limit of memory
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))


def text_of(data: bytes) -> Iterator[str]:
    """Yield the text of a PDF, a Word document or a plain text, whichever the bytes are."""
    if data.startswith(b"%PDF-"):
        return _pdf(data)
    return _docx(data) if data.startswith(b"PK\x03\x04") else _plain(data)


def _pdf(data: bytes) -> Iterator[str]:
    from pypdf import PdfReader

    for number, page in enumerate(PdfReader(io.BytesIO(data)).pages):
        if number == MOST_PAGES:
            return
        yield page.extract_text() + "\n"


def _docx(data: bytes) -> Iterator[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("word/document.xml") as document:
        pieces, open_texts = list[str](), list[str]()

        def start(name: str, _: object) -> None:
            if name.endswith(" t"):
                open_texts.append(name)

        def end(name: str) -> None:
            if name.endswith(" t"):
                open_texts.pop()
            pieces.append(_BREAKS.get(name.rpartition(" ")[2], ""))

        def characters(text: str) -> None:
            if open_texts:
                pieces.append(text)

        def refuse(*_: object) -> None:
            raise ValueError("a Word document declares no types and no entities")

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = characters, refuse
        for _ in range(0, MOST_XML, 1 << 16):
            chunk = document.read(1 << 16)
            parser.Parse(chunk, not chunk)
            yield "".join(pieces)
            pieces.clear()
            if not chunk:
                return


def _plain(data: bytes) -> Iterator[str]:
    """Yield a text in UTF-8, UTF-16 with a byte order mark, or Windows-1252; fail for other bytes."""
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if is_wide else ("utf-8-sig", "cp1252"):
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(data)
        except ValueError:
            continue
        if _UNPRINTABLE.search(text):
            raise ValueError("not a text")
        yield text
        return
    raise ValueError("not a text")


def write_text(data: bytes, most: int) -> None:
    """Write so many characters of a text, piece by piece."""
    for piece in text_of(data):
        kept = piece.replace("\r\n", "\n").replace("\x00", "").encode("utf-8", "replace").decode()
        sys.stdout.buffer.write((kept if len(kept) <= most else kept[:most] + CUT_OFF).encode())
        sys.stdout.buffer.flush()
        most -= len(kept)
        if most < 0:
            return


def write_image(data: bytes, side: int) -> None:
    """Write a large image with sides of at most `side`: in its own format, upright, without EXIF data."""
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP", "GIF")) as image:
        if image.width * image.height > MOST_PIXELS:
            raise ValueError("an image bomb")
        if max(image.size) <= side:
            return
        kind = image.format
        image.thumbnail((side, side))
        made = io.BytesIO()
        ImageOps.exif_transpose(image).save(made, kind, exif=b"")
    sys.stdout.buffer.write(made.getvalue())


if __name__ == "__main__":
    limit_this_process()
    _, wish, size = sys.argv
    {"text": write_text, "image": write_image}[wish](sys.stdin.buffer.read(), int(size))
