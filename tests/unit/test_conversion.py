"""Without a package that reads files, they are kept and shown as they are."""

from threadkeep.conversion import Converter


async def test_no_text_is_read_from_a_file_and_an_image_stays_as_it_is() -> None:
    converter = Converter()
    assert await converter.text(b"%PDF-1.7", "ada") == ""
    assert await converter.image("f-1", b"\x89PNG", "ada") == b"\x89PNG"
