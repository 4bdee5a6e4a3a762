"""Secrets are found by their values, in variables, headers and addresses, and taken out of any text."""

import pytest

from threadkeep.text.secrets import hiding, named_secrets, url_secrets, value_secrets

KEY = "0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("ACME_API_KEY", f" {KEY} ", KEY),
        ("GITHUB_TOKEN", KEY, KEY),
        ("Authorization", f"Bearer {KEY}", KEY),
        ("OPENAI_BASE_URL", "https://me:pa%2Fss+word@host/v1", "pa/ss+word"),
        ("OPENAI_BASE_URL", f"https://{KEY}@host/v1", KEY),
        ("DATABASE", "postgresql://host/db?user=me&password=hunter22", "hunter22"),
    ],
)
def test_a_secret_is_known_by_its_name_or_its_place_in_a_url(name: str, value: str, secret: str) -> None:
    hide = hiding(named_secrets({name: value}))
    assert hide(f"<{secret}> and again: {secret}.") == "<[hidden]> and again: [hidden]."


@pytest.mark.parametrize(
    ("name", "value"),
    [("HOME", KEY), ("SSH_AUTH_SOCK", "/tmp/agent.123456"), ("URL", f"https://host/{KEY}?q={KEY}"), ("X", "http://[")],
)
def test_other_values_are_no_secrets(name: str, value: str) -> None:
    assert [*named_secrets({name: value})] == []


def test_a_secret_is_found_however_it_is_written() -> None:
    hide = hiding([*value_secrets('pass"word/11'), *url_secrets("http://me:secret99@host")])
    text = 'pass"word/11 pass\\"word/11 pass%22word%2F11 me:secret99@host Basic bWU6c2VjcmV0OTk='
    assert hide(text) == "[hidden] [hidden] [hidden] [hidden]@host Basic [hidden]"


def test_a_short_secret_is_not_taken_out_of_other_words() -> None:
    hide = hiding(["postgres", "the"])
    assert hide("the postgresql role postgres") == "the postgresql role [hidden]"
