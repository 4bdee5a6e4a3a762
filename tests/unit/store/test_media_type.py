"""What a file is, by its first bytes: names and senders decide nothing that a browser could run."""

import pytest

from threadkeep.store.media_type import HEAD, RASTER, media_type

HTML = b"<!DOCTYPE html><html><script>alert(1)</script></html>"


@pytest.mark.parametrize(
    ("head", "name", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n....", "a.html", "image/png"),
        (b"\xff\xd8\xff\xe0", "", "image/jpeg"),
        (b"GIF89a", "", "image/gif"),
        (b"RIFF....WEBPVP8 ", "", "image/webp"),
        (b"RIFF....WAVEfmt ", "", "audio/wav"),
        (b"....WEBP", "", "text/plain"),
        (b"....ftypavif", "", "image/avif"),
        (b"....ftypisom", "", "video/mp4"),
        (b"BM....\0\0\0\0", "", "image/bmp"),
        (b"BM is a text", "", "text/plain"),
        (b"%PDF-1.7", "a.png", "application/pdf"),
        (
            b"PK\x03\x04......[Content_Types].xml...word/document.xml",
            "a.docx",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        (b"PK\x03\x04", "a.docx", "application/zip"),
        (b"MZ\x90", "a.png", "application/x-msdownload"),
        (HTML, "cat.png", "text/html"),
        (b"\xef\xbb\xbf \n" + HTML, "cat.png", "text/html"),
        (b"<!-- x --><p>Hi", "a.txt", "text/html"),
        (b"<html>\xff\x00", "a.png", "text/html"),
        (b"<?xml version='1.0'?><svg xmlns='x'/>", "a.png", "image/svg+xml"),
        (b"<svg onload=x>", "a.png", "image/svg+xml"),
        (b"<?xml version='1.0'?><x/>", "a.png", "application/xml"),
        (b"a,b\n1,2\n", "a.CSV", "text/csv"),
        (b"# Title", "a.md", "text/markdown"),
        (b"{}", "a.json", "application/json"),
        ("größer".encode(), "a.html", "text/plain"),
        ("größer".encode()[:4], "a", "text/plain"),
        (b"\xff\xfeh\0i\0", "a.txt", "text/plain"),
        (b"\x00\x01\x02", "a.txt", "application/octet-stream"),
        (b"\xc3\x28 no text", "a.txt", "application/octet-stream"),
        (b"", "a.txt", "application/octet-stream"),
    ],
)
def test_a_file_is_what_its_bytes_say(head: bytes, name: str, kind: str) -> None:
    assert media_type(head, name) == kind


def test_a_character_that_is_cut_off_at_the_end_of_what_is_looked_at_is_still_text() -> None:
    assert media_type(b"x" * (HEAD - 1) + "ö".encode() + b"more", "a") == "text/plain"


def test_no_document_is_taken_for_pixels() -> None:
    assert not {kind for kind in RASTER if "svg" in kind or "html" in kind}
