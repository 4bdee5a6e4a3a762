"""Share links: what a token names, and until when it opens something."""

from datetime import UTC, datetime, timedelta

import pytest

from threadkeep.conversation.api_key import digest_of
from threadkeep.conversation.share import Share, new_token, place_of, share_of
from threadkeep.errors import ShareNotFound

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def share(token: str, id: str = "s", expires_at: datetime | None = None) -> Share:
    return Share(id=id, digest=digest_of(token), head=1, created_at=NOW, expires_at=expires_at)


def test_a_token_names_its_place_and_no_two_are_alike() -> None:
    tokens = {new_token("acme", "notes") for _ in range(10)}
    assert len(tokens) == 10
    assert {place_of(token) for token in tokens} == {("acme", "notes")}


@pytest.mark.parametrize("token", ["", ".", "x", "!!!.secret", "YQ.secret", "Li4AYQ.secret", "YQBiAGM.secret", "é.x"])
def test_what_is_no_token_is_not_found(token: str) -> None:
    with pytest.raises(ShareNotFound):
        place_of(token)


def test_a_token_finds_its_own_link_among_others_until_that_ends() -> None:
    mine, other = new_token("acme", "notes"), new_token("acme", "notes")
    ending = share(mine, "mine", NOW)
    links = (share(other, "other"), ending)
    assert share_of(mine, links, NOW - timedelta(seconds=1)) is ending
    for token, now in ((mine, NOW), (f"{mine}x", NOW - timedelta(seconds=1))):
        with pytest.raises(ShareNotFound):
            share_of(token, links, now)
