"""Cursors of lists: they lead to the next page and tell nothing, and nobody can make one up."""

from base64 import urlsafe_b64decode

import pytest

from tests.unit.server.serving import served
from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidCursor
from threadkeep.runtime import open_store
from threadkeep.server.list_cursors import ListCursors
from threadkeep.store.keyring import KeyRing
from threadkeep.store.paging import activity_cursor

SCOPE = Scope(tenant="acme", user="ada")


async def new_keyring() -> KeyRing:
    return (await open_store("memory:")).keyring


async def test_a_cursor_is_found_again_by_every_instance_with_the_same_store() -> None:
    keyring = await new_keyring()
    for cursor in (activity_cursor(SCOPE, 1, 2), "x", "y" * 1000):
        shown = await ListCursors(keyring).shown(cursor)
        assert await ListCursors(keyring).read(shown) == cursor
    assert await ListCursors(keyring).shown(None) is None
    assert await ListCursors(keyring).read(None) is None


async def test_it_does_not_tell_what_is_inside() -> None:
    cursors = ListCursors(await new_keyring())
    inside = activity_cursor(SCOPE, 0xABCDEF, 0x123456)
    shown = await cursors.shown(inside)
    assert shown is not None
    raw = urlsafe_b64decode(shown + "==")
    for known in (inside.encode(), urlsafe_b64decode(inside + "=="), b"abcdef", b"123456"):
        assert known not in raw
    following = await cursors.shown(activity_cursor(SCOPE, 0xABCDEF, 0x123457))
    assert following is not None
    assert sum(one == other for one, other in zip(shown, following, strict=True)) < len(shown) / 2


@pytest.mark.parametrize("text", ["", "0", "é", "a", "AAAA", "x" * 10_000, "=", "\x00"])
async def test_what_is_no_cursor_of_ours_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursor):
        await ListCursors(await new_keyring()).read(text)


async def test_one_that_was_changed_comes_from_another_store_or_was_never_hidden_is_refused() -> None:
    cursors, inside = ListCursors(await new_keyring()), activity_cursor(SCOPE, 1, 2)
    shown = await cursors.shown(inside)
    foreign = await ListCursors(await new_keyring()).shown(inside)
    assert shown is not None
    for wrong in (shown[:-3], shown[4:], ("B" if shown[0] == "A" else "A") + shown[1:], foreign, inside):
        with pytest.raises(InvalidCursor):
            await cursors.read(wrong)


async def test_pages_are_turned_with_them() -> None:
    async with served() as client:
        made = [(await client.post("/v1/conversations")).json()["id"] for _ in range(5)]
        found, query = list[str](), dict[str, str | int](limit=2)
        while True:
            page = (await client.get("/v1/conversations", params=query)).json()
            found += [each["id"] for each in page["data"]]
            if page["next"] is None:
                break
            query["after"] = page["next"]
        wrong = await client.get("/v1/conversations", params={"after": "nonsense"})
    assert found == made[::-1]
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_cursor")
