"""Hostile files, some hundreds of them; `make torture` sends ten thousand."""

from tests.acceptance.torture_files import campaign


async def test_hostile_files_are_refused_with_a_code_or_given_back_harmless() -> None:
    taken = await campaign(300, seed=14)
    assert [kind for kind in taken if kind.startswith("BROKEN")] == []
    assert {"empty_file", "file_too_large", "invalid_part", "text/html", "image/png"} <= taken.keys()
