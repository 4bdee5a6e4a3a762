"""The conformance suite: what `threadkeep.store.base` promises, as tests that any backend must pass.

To run it on a backend, write one test module that imports everything from here and one fixture, `open_another`, which
opens handles on data that is empty when the test begins (see docs/howto/test-your-own-store.md):

    from threadkeep.testing.conformance import *

    @pytest_asyncio.fixture
    async def open_another(clock, tmp_path):
        async def open_one():
            return await MyStore.open(tmp_path / "data", clock)
        return open_one

The suite knows nothing but the contract: no test asks which backend it runs on, and none is skipped. It is every class
`Test…` in a module of this package.
"""

from importlib import import_module
from pkgutil import iter_modules

import pytest

_MODULES = [f"{__name__}.{module.name}" for module in iter_modules(__path__)]
pytest.register_assert_rewrite(*_MODULES)

from threadkeep.testing.conformance.fixtures import clock, store  # noqa: E402

_SUITES = {
    name: suite
    for module in map(import_module, _MODULES)
    for name, suite in vars(module).items()
    if name.startswith("Test") and suite.__module__ == module.__name__
}
globals().update(_SUITES)

__all__ = ["clock", "store"]
__all__ += sorted(_SUITES)
