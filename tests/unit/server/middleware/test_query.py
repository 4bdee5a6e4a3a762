"""A NUL in an address: refused for every route alike."""

import pytest

from tests.unit.server.serving import served
from threadkeep.settings import Settings


@pytest.mark.parametrize("path", ["/v1/conversations?assistant=%00", "/v1/search?q=a%00b", "/health/live?%00"])
async def test_a_nul_in_the_query_is_refused(path: str) -> None:
    async with served(Settings()) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_text")
    assert "x-request-id" in answer.headers
