"""What a tool gets and gives: files in a line, and the search in one user's conversations alone."""

import pytest

from threadkeep.runtime import open_store
from threadkeep.testing.samples import ADA, BOB, new
from threadkeep.tools.base import Archive, ToolFile


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (ToolFile(media_type="image/png", data=b"x"), "[image image/png, 1 KB, not shown]"),
        (ToolFile(media_type="text/csv", data=b"x" * 2_048_000, name="a.csv"), "[a.csv text/csv, 2,000 KB, not shown]"),
    ],
)
def test_a_file_that_cannot_be_kept_is_told_in_a_line(file: ToolFile, line: str) -> None:
    assert file.line == line


async def test_the_archive_of_a_user_holds_nothing_of_others() -> None:
    store = await open_store("memory:")
    await new(store, BOB, "an otter of Bob")
    mine = await new(store, ADA, "an otter of Ada", "an otter that answers")
    found = await Archive(store, ADA).search("otter")
    assert {hit.conversation for hit in found} == {mine}
    assert len(await Archive(store, ADA).search("otter", limit=1)) == 1
    await store.close()
