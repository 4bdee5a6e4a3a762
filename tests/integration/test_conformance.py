"""The conformance suite on every backend of ours.

Memory and files are the SQLite store, so what SQL decides is the same there. They run the parts that reach what is
their own: memory its transactions and its one connection, files what comes before a read and behind a commit. In
`test_store_model.py` both go through everything else, in random order.
"""

import pytest

from tests.backends import BACKENDS
from threadkeep.testing.conformance import *  # noqa: F403

OF_THEIR_OWN = {
    "TestAttachments",
    "TestConversations",
    "TestDeletion",
    "TestDrafts",
    "TestHandles",
    "TestIdempotency",
    "TestImports",
    "TestScopes",
    "TestSearch",
    "TestSnapshots",
    "TestStatistics",
}
DATABASES = ("sqlite", "postgresql")


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend that a part runs on, in turn."""
    return str(request.param)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames and metafunc.cls is not None:
        chosen = BACKENDS if metafunc.cls.__name__ in OF_THEIR_OWN else DATABASES
        metafunc.parametrize("backend", chosen, indirect=True)


def test_the_chosen_parts_are_parts_of_the_suite() -> None:
    assert globals().keys() >= OF_THEIR_OWN
