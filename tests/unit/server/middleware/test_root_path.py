"""Serving under a part of a host: with and without the prefix, and whatever the prefix is."""

import pytest

from tests.unit.server.serving import served
from threadkeep.cli.settings_loading import load_settings
from threadkeep.errors import InvalidValue
from threadkeep.settings import Settings


@pytest.mark.parametrize("root_path", ["/threads", "/a/b", "/v1"])
@pytest.mark.parametrize("is_taken_off", [False, True], ids=["left on", "taken off"])
async def test_a_proxy_may_take_the_prefix_off_or_leave_it_on(root_path: str, is_taken_off: bool) -> None:
    prefix = "" if is_taken_off and root_path != "/v1" else root_path
    async with served(Settings(store="memory:", root_path=root_path)) as client:
        made = await client.post(f"{prefix}/v1/conversations")
        assert made.status_code == 201
        location = made.headers["location"]
        assert location.startswith(f"{root_path}/v1/conversations/")
        assert (await client.get(location)).status_code == 200
        page = (await client.get(f"{prefix}/")).text
        assert f'src="{root_path}/static/whole.js"' in page
        assert f'data-root="{root_path}"' in page
        assert (await client.get(f"{prefix}/openapi.json")).json()["servers"] == [{"url": root_path}]


@pytest.mark.parametrize("wrong", ["threads", "/threads/", "/a//b", '/"><script>', "/\n", "/" + "x" * 200])
def test_a_prefix_that_is_no_path_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidValue, match="root_path"):
        load_settings({}, {"root_path": wrong})
