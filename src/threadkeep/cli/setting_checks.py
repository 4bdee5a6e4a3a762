"""What `threadkeep doctor` finds out from the settings alone: what they name must be there and fit together."""

import os
from collections.abc import AsyncIterator

from threadkeep.cli.findings import Finding, Grade
from threadkeep.errors import ThreadkeepError
from threadkeep.runtime import found_assistants, load_counter
from threadkeep.server.middleware.origins import is_loopback
from threadkeep.settings import Settings, unknown_variables


async def check_variables(settings: Settings) -> AsyncIterator[Finding]:
    """Find variables that look like settings and are not heard, as misspelt ones are."""
    for name in unknown_variables(os.environ):
        advice = "threadkeep config lists the settings; unset it if it belongs to something else"
        yield Finding(Grade.WARN, "variable", f"{name} is set, but there is no such setting", advice)


async def check_assistants(settings: Settings) -> AsyncIterator[Finding]:
    """Load every assistant, and the counter of tokens, as a server would."""
    try:
        known = found_assistants(settings)
        load_counter(settings.token_counter)
    except ThreadkeepError as error:
        advice = "install what is missing, or correct threadkeep.toml"
        yield Finding(Grade.FAIL, "assistants", str(error), advice)
        return
    yield Finding(Grade.OK, "assistants", ", ".join(known))
    for dialect, name in settings.dialects:
        if name not in known:
            said = f"{name}, which is to answer in the dialect {dialect}, is not there; {next(iter(known))} answers"
            yield Finding(Grade.WARN, "dialects", said, "correct [dialects] in threadkeep.toml, or install it")


async def check_address(settings: Settings) -> AsyncIterator[Finding]:
    """Find an address that a server refuses to listen on."""
    if settings.auth == "none" and not is_loopback(settings.host):
        advice = "make a key with 'threadkeep keys create --tenant T --user U' and serve with --auth keys"
        said = f"{settings.host} is not a loopback address, and nobody would be asked who they are"
        yield Finding(Grade.FAIL, "address", said, advice)
