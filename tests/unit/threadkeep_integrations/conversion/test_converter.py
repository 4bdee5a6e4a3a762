"""Opening strangers' files: what is text comes out, what is hostile costs nothing but a short-lived process."""

import asyncio
import io
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
from PIL import Image

from threadkeep.conversion import LARGEST_FILE
from threadkeep.errors import RateLimited
from threadkeep_integrations.conversion import converter
from threadkeep_integrations.conversion.converter import MOST_TEXT, FileConverter

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(said: str) -> bytes:
    """Return the smallest PDF that says something."""
    shown = f"BT /F1 12 Tf 72 720 Td ({said}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(shown), shown),
    ]
    made, places = b"%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, start=1):
        places.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(made)
    return made + b"xref\n0 5\n0000000000 65535 f \n" + table + end


def docx(body: str, before: str = "") -> bytes:
    """Return a Word document."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f'{before}<w:document xmlns:w="{WORD}">{body}</w:document>')
    return made.getvalue()


def image(width: int, height: int, kind: str = "PNG") -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(made, kind)
    return made.getvalue()


def png_that_says(width: int, height: int) -> bytes:
    """Return a PNG whose head says how large it is, with a few bytes behind it."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))


PARAGRAPHS = "<w:p><w:r><w:t>Dear</w:t><w:tab/><w:t>Anna</w:t></w:r></w:p><w:p><w:r><w:t>Über</w:t></w:r></w:p>"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (pdf("The quarterly figures"), "The quarterly figures"),
        (docx(PARAGRAPHS), "Dear\tAnna\nÜber"),
        ("# Title\r\n\r\n- é\n".encode(), "# Title\n\n- é"),
        (b"\xef\xbb\xbfa;b\n1;2\n", "a;b\n1;2"),
        ("naïve".encode("utf-16"), "naïve"),
        ("“naïve”".encode("cp1252"), "“naïve”"),
    ],
    ids=["pdf", "docx", "markdown", "csv", "utf-16", "windows"],
)
async def test_the_text_of_a_document_comes_out_of_it(data: bytes, text: str) -> None:
    assert await FileConverter().text(data, "ada") == text


async def test_of_a_long_text_the_beginning_is_taken_and_marked() -> None:
    text = await FileConverter().text(b"word " * MOST_TEXT, "ada")
    assert text == ("word " * MOST_TEXT)[:MOST_TEXT].strip() + " \n[…]"


ENTITIES = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x7fELF\x02\x01\x01\x00\x00",
        b"%PDF-1.7\nnothing else",
        b"PK\x03\x04 and no more",
        docx("")[:-30],
        docx("<w:p><w:t>&b;</w:t></w:p>", ENTITIES),
        docx("<w:p><w:t>&x;</w:t></w:p>", '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
        docx(" " * (80 << 20)),
    ],
    ids=["empty", "program", "pdf", "zip", "cut", "entities", "outside", "bomb"],
)
async def test_what_is_no_document_or_a_bomb_has_no_text(data: bytes) -> None:
    assert await FileConverter().text(data, "ada") == ""


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
async def test_a_large_image_becomes_smaller_in_its_own_format(kind: str) -> None:
    made = await FileConverter(64).image("f", image(200, 100, kind), "ada")
    with Image.open(io.BytesIO(made)) as smaller:
        assert (smaller.size, smaller.format) == ((64, 32), kind)


async def test_an_image_is_turned_upright_and_loses_what_the_camera_noted() -> None:
    notes, made = Image.Exif(), io.BytesIO()
    notes[0x0112], notes[0x010F] = 6, "Somebody's camera"
    Image.new("RGB", (200, 100)).save(made, "JPEG", exif=notes)
    with Image.open(io.BytesIO(await FileConverter(50).image("f", made.getvalue(), "ada"))) as upright:
        assert upright.size == (25, 50)
        assert not upright.getexif()


@pytest.mark.parametrize(
    "data",
    [image(50, 40), image(9, 9, "BMP"), b"<html>", png_that_says(100_000, 100_000), image(200, 200)[:-40]],
    ids=["small", "other", "none", "bomb", "cut"],
)
async def test_an_image_that_is_small_or_cannot_be_opened_stays_as_it_is(data: bytes) -> None:
    assert await FileConverter(64).image("f", data, "ada") == data


async def test_an_image_is_made_smaller_once_and_not_at_all_if_that_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    large, making = image(200, 100), FileConverter(64)
    made = await making.image("f", large, "ada")
    monkeypatch.setattr(converter, "PROGRAM", tmp_path / "missing.py")
    assert await making.image("f", large, "ada") == made
    assert await making.image("g", large, "ada") == large
    assert await FileConverter(0).image("f", large, "ada") == large


async def test_the_images_that_are_held_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converter, "MOST_CACHED", 2 * converter.ENTRY)
    making = FileConverter(64)
    for id in "abc":
        await making.image(id, image(9, 9), "ada")
    assert list(making._made) == ["b", "c"]


async def test_a_process_that_does_not_end_is_ended_and_what_it_said_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    endless = tmp_path / "endless.py"
    endless.write_text("import time\nprint('half', flush=True)\nwhile True: time.sleep(60)")
    monkeypatch.setattr(converter, "PROGRAM", endless)
    text = ""
    for seconds in (0.5, 5.0, 50.0):  # a busy machine takes its time to start it
        monkeypatch.setattr(converter, "SECONDS", seconds)
        text = text or await FileConverter().text(b"x" * (1 << 20), "ada")
    assert text == "half"


async def test_a_process_gets_no_variable_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    telling = tmp_path / "telling.py"
    telling.write_text("import os\nprint(dict(os.environ).keys() - {'LC_CTYPE'})")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setattr(converter, "PROGRAM", telling)
    assert await FileConverter().text(b"", "ada") == "set()"


async def test_a_file_beyond_the_limit_is_not_opened() -> None:
    assert await FileConverter().text(b"a" * (LARGEST_FILE + 1), "ada") == ""


async def test_one_users_slow_files_do_not_hold_up_another_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waits, gate = tmp_path / "waits.py", tmp_path / "gate"
    waits.write_text(
        "import pathlib, sys, time\nsent = sys.stdin.read()\n"
        f"while sent == 'slow' and not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)\n"
        "print('read')"
    )
    monkeypatch.setattr(converter, "PROGRAM", waits)
    monkeypatch.setattr(converter, "SECONDS", 600.0)
    making = FileConverter()
    slow = [asyncio.create_task(making.text(b"slow", "ada")) for _ in range(10)]
    await asyncio.sleep(0)  # each of them has begun
    assert making._waiting["ada"] == 10
    assert await making.text(b"quick", "bob") == "read"
    assert not any(task.done() for task in slow)
    gate.touch()
    assert await asyncio.gather(*slow) == ["read"] * 10
    assert not making._waiting
    assert not making._turns


async def test_a_user_has_so_many_files_waiting_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converter, "MOST_WAITING", 0)
    with pytest.raises(RateLimited):
        await FileConverter().text(b"x", "ada")
    large = image(200, 100)
    assert await FileConverter(64).image("f", large, "ada") == large


async def test_a_pdf_is_left_unread_where_its_package_is_missing_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("threadkeep_integrations.conversion.converter.find_spec", lambda name: None)
    assert await FileConverter().text(b"%PDF-1.4 and more", "ada") == ""
    assert "pip install 'threadkeep[files]'" in caplog.text
