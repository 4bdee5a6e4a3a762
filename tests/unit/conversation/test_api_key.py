"""API keys and logins: until when they let somebody in, and that only a hash of them is kept."""

from datetime import UTC, datetime, timedelta

from threadkeep.conversation.api_key import LOGIN_PREFIX, ApiKey, Login, digest_of, new_secret
from threadkeep.conversation.scope import LOCAL

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
KEY = ApiKey(id="k", digest=digest_of("tk_secret"), hint="tk_sec", scope=LOCAL, created_at=NOW)


def test_a_key_is_good_until_the_moment_it_expires_or_is_revoked() -> None:
    ending = KEY.model_copy(update={"expires_at": NOW})
    assert KEY.is_good(NOW)
    assert ending.is_good(NOW - SECOND)
    assert not ending.is_good(NOW)
    assert not KEY.model_copy(update={"revoked_at": NOW}).is_good(NOW - SECOND)


def test_a_login_ends_when_it_is_idle_at_its_end_and_with_its_key() -> None:
    fields = {"id": "l", "digest": b"d", "device": "", "created_at": NOW}
    good = Login(key=KEY, idle_until=NOW + SECOND, ends_at=NOW + SECOND, **fields)  # type: ignore[arg-type]
    assert good.is_good(NOW)
    for over in ({"idle_until": NOW}, {"ends_at": NOW}, {"key": KEY.model_copy(update={"revoked_at": NOW})}):
        assert not good.model_copy(update=over).is_good(NOW)


def test_a_digest_is_hexadecimal_in_json_and_comes_back() -> None:
    written = KEY.model_dump_json()
    assert digest_of("tk_secret").hex() in written
    assert ApiKey.model_validate_json(written) == KEY


def test_secrets_differ_and_say_what_they_are() -> None:
    assert new_secret() != new_secret()
    assert new_secret().startswith("tk_")
    assert new_secret(LOGIN_PREFIX).startswith("tl_")
    assert len(new_secret()) > 40
