"""Protocols that packages offer: served with the native routes, and left out without harm where they are missing."""

from importlib.metadata import EntryPoint

import pytest

from tests.unit.threadkeep_protocols.dialects.serving import assert_problem, serving
from threadkeep import rings


async def test_without_the_package_its_addresses_are_unknown_and_all_else_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rings, "offered", lambda group: ())
    async with serving() as served:
        assert_problem(await served.client.post("/chat", json={"query": "Hello"}), 404, "not_found")
        assert (await served.client.post("/v1/conversations", json={})).status_code == 201


async def test_a_protocol_that_cannot_be_loaded_is_told_and_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = EntryPoint("query", "no_such_package.query:routes", rings.PROTOCOLS)
    monkeypatch.setattr(rings, "offered", lambda group: (broken,))
    async with serving() as served:
        assert_problem(await served.client.post("/chat", json={"query": "Hello"}), 404, "not_found")
    assert "query of threadkeep.protocols cannot be loaded: No module named 'no_such_package'" in caplog.text
