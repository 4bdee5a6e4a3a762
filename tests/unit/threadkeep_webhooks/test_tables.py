"""What may be a target."""

import pytest

from tests.webhook_receiver import SECRET
from threadkeep.settings import Settings
from threadkeep_webhooks.tables import SENT, USUAL, WebhooksTable


def test_only_what_is_in_the_log_is_sent() -> None:
    assert set(USUAL) < SENT
    assert SENT.isdisjoint({"text.delta", "presence", "turn.retrying", "message.started"})


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org",
        "https://",
        "https://ada:pw@example.org/",
        "https://example.org:99999/",
        "https://exa mple.org",
        "//example.org",
        "https://example.org/\r\nx: y",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"targets\.app\.url"):
        Settings(webhooks={"targets": {"app": {"url": url, "secret": SECRET}}})


@pytest.mark.parametrize(
    ("wrong", "about"),
    [
        ({"secret": "whsec_c2hvcnQ="}, "24 bytes"),
        ({"events": ["text.delta"]}, "there is no event text.delta"),
        ({"events": []}, "events"),
    ],
)
def test_a_target_needs_a_secret_that_is_one_and_events_that_are_sent(wrong: dict[str, object], about: str) -> None:
    with pytest.raises(ValueError, match=about):
        Settings(webhooks={"targets": {"app": {"url": "https://example.org", "secret": SECRET} | wrong}})


def test_secrets_are_not_shown() -> None:
    table = WebhooksTable.model_validate({"targets": {"app": {"url": "https://example.org", "secret": SECRET}}})
    assert SECRET not in repr(Settings(webhooks=table.model_dump() | {"targets": table.targets}))
