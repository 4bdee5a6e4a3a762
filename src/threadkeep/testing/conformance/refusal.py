"""A refused request: it raises exactly one error of ours, and nothing that anybody can see has changed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from threadkeep.errors import ThreadkeepError
from threadkeep.store.base import Store
from threadkeep.testing.samples import ADA, BOB, EVE
from threadkeep.testing.stores import everything

Refused = TypeVar("Refused", bound=ThreadkeepError)


@asynccontextmanager
async def refused(store: Store, error: type[Refused]) -> AsyncIterator[pytest.ExceptionInfo[Refused]]:
    """Expect that what is done here is refused with this error and leaves no trace."""
    before = await everything(store, ADA, BOB, EVE)
    with pytest.raises(error) as caught:
        yield caught
    assert caught.type is error
    assert await everything(store, ADA, BOB, EVE) == before
