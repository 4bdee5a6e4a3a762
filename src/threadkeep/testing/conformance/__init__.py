"""The conformance suite: what `threadkeep.store.base` promises, as tests that any backend must pass.

To run it on a backend, write one test module that imports everything from here and one fixture, `open_another`, which
opens handles on data that is empty when the test begins (see docs/howto/test-your-own-store.md):

    from threadkeep.testing.conformance import *

    @pytest_asyncio.fixture
    async def open_another(clock, tmp_path):
        async def open_one():
            return await MyStore.open(tmp_path / "data", clock)
        return open_one

The suite knows nothing but the contract: no test asks which backend it runs on, and none is skipped.
"""

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in (
            "administration",
            "bad_input",
            "branches",
            "conversations",
            "counts",
            "deletion",
            "drafts",
            "handles",
            "idempotency",
            "imports",
            "keyring",
            "leases",
            "log",
            "logins",
            "pages",
            "refusal",
            "related",
            "scopes",
            "search",
            "search_text",
            "state",
            "statistics",
            "turns",
        )
    )
)

from threadkeep.testing.conformance.administration import TestAdministration  # noqa: E402
from threadkeep.testing.conformance.bad_input import TestBadInput  # noqa: E402
from threadkeep.testing.conformance.branches import TestBranches  # noqa: E402
from threadkeep.testing.conformance.conversations import TestConversations  # noqa: E402
from threadkeep.testing.conformance.counts import TestCounts  # noqa: E402
from threadkeep.testing.conformance.deletion import TestDeletion  # noqa: E402
from threadkeep.testing.conformance.drafts import TestDrafts  # noqa: E402
from threadkeep.testing.conformance.fixtures import clock, store  # noqa: E402
from threadkeep.testing.conformance.handles import TestHandles  # noqa: E402
from threadkeep.testing.conformance.idempotency import TestIdempotency  # noqa: E402
from threadkeep.testing.conformance.imports import TestImports  # noqa: E402
from threadkeep.testing.conformance.keyring import TestKeyRing  # noqa: E402
from threadkeep.testing.conformance.leases import TestLeases  # noqa: E402
from threadkeep.testing.conformance.log import TestLog  # noqa: E402
from threadkeep.testing.conformance.logins import TestLogins  # noqa: E402
from threadkeep.testing.conformance.pages import TestPages  # noqa: E402
from threadkeep.testing.conformance.related import TestRelated  # noqa: E402
from threadkeep.testing.conformance.scopes import TestScopes  # noqa: E402
from threadkeep.testing.conformance.search import TestSearch  # noqa: E402
from threadkeep.testing.conformance.search_text import TestSearchText  # noqa: E402
from threadkeep.testing.conformance.state import TestState  # noqa: E402
from threadkeep.testing.conformance.statistics import TestStatistics  # noqa: E402
from threadkeep.testing.conformance.turns import TestTurns  # noqa: E402

__all__ = [
    "TestAdministration",
    "TestBadInput",
    "TestBranches",
    "TestConversations",
    "TestCounts",
    "TestDeletion",
    "TestDrafts",
    "TestHandles",
    "TestIdempotency",
    "TestImports",
    "TestKeyRing",
    "TestLeases",
    "TestLog",
    "TestLogins",
    "TestPages",
    "TestRelated",
    "TestScopes",
    "TestSearch",
    "TestSearchText",
    "TestState",
    "TestStatistics",
    "TestTurns",
    "clock",
    "store",
]
