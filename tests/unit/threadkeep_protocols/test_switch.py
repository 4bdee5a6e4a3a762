"""Protocols are spoken only where the settings say so."""

from importlib.metadata import EntryPoint

import pytest

from tests.unit.threadkeep_protocols.dialects.serving import serving
from threadkeep import rings
from threadkeep.cli.settings_loading import load_settings
from threadkeep.errors import InvalidValue
from threadkeep.settings import Settings
from threadkeep_protocols import switch

HERE = "tests.unit.threadkeep_protocols.test_wire"


@pytest.fixture(autouse=True)
def _two_protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    real = rings.offered

    def offered(group: str) -> tuple[EntryPoint, ...]:
        if group != switch.NAMED:
            return real(group)
        return tuple(EntryPoint(name, f"{HERE}:{name}_routes", group) for name in ("clock", "echo"))

    monkeypatch.setattr(rings, "offered", offered)
    monkeypatch.setattr(switch, "offered", offered)


@pytest.mark.parametrize(
    ("given", "on"),
    [
        (None, ()),
        ({"on": []}, ()),
        ({"on": ["echo"]}, ("echo",)),
        ({"on": "all"}, ("clock", "echo")),
        ("all", ("clock", "echo")),
        ("echo, clock", ("clock", "echo")),
    ],
)
async def test_what_is_on_is_served(given: object, on: tuple[str, ...]) -> None:
    settings = Settings(store="memory:", protocols=given)
    async with serving(settings=settings) as served:
        for name in ("clock", "echo"):
            assert ((await served.client.get(f"/{name}")).status_code != 404) == (name in on)
        assert "/echo" not in served.app.openapi()["paths"]


def test_the_variable_names_them_as_well() -> None:
    assert load_settings({"THREADKEEP_PROTOCOLS": "echo"}, {}).protocols.on == ("echo",)


@pytest.mark.parametrize("wrong", [{"on": ["ekho"]}, "ekho", {"of": []}, {"on": 3}, {"on": ["x" * 1000]}])
def test_an_unknown_protocol_is_refused_at_the_start(wrong: object) -> None:
    with pytest.raises(InvalidValue, match="protocols"):
        load_settings({}, {}, {"protocols": wrong})
