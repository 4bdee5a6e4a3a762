"""What packages around the core bring along, found by entry points: the core imports none of them, and does without.

Packages of our own (`threadkeep_*`, one wheel carries them all) and those of others are treated alike.
"""

import logging
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from threadkeep.errors import PackageMissing

logger = logging.getLogger(__name__)

MODELS = "threadkeep.models"
"""The entry points by which packages offer models, by their names: each returns a `Model` and is called with the
`script` of an assistant, and the `pace` and `limit` in seconds that were set for scripted models (None: their own)."""
PROTOCOLS = "threadkeep.protocols"
"""The entry points by which packages offer protocols: each makes a router of conversations and settings."""
PAGES = "threadkeep.pages"
"""The entry points by which packages add pages for people: each is called with an application, its conversations and
its settings."""
WRITERS = "threadkeep.writers"
"""The entry points by which packages write a conversation for people to read: `markdown` and `html` make a
`BranchWriter` of it."""
IMPORTERS = "threadkeep.importers"
"""The entry points by which packages read other programs' exports: each takes a place and a JSON value and returns a
`Portable` conversation or a `Problem`; it raises `UnknownFormat` for a value that its programs do not write."""
DATABASES = "threadkeep.databases"
"""The entry points by which packages read other programs' databases, `sqlite` and `postgresql`: each takes an address
and the name of a table, or none, and yields `Portable` conversations and `Problem`s."""
TOOL_SERVERS = "threadkeep.tool_servers"
"""The entry points by which packages speak with servers of tools: `mcp` makes an `McpConnection` of the name, the
settings and the `Backoff` of a server."""
RETRIEVAL = "threadkeep.retrieval"
"""The entry points by which a package looks things up: `index` opens the file of an index as a `Lookup`."""
COMMANDS = "threadkeep.commands"
"""The entry points by which packages bring commands of the command line: each names a module."""
MODEL_PROVIDERS = "threadkeep.model_providers"
"""The entry points by which packages offer many models: each makes one of its whole name. `local` is for names that
begin so, `langchain` for the providers that we do not ask ourselves, and `http` for those that we do: it also takes the
environment, which has keys and addresses."""
EMBEDDINGS = "threadkeep.embeddings"
"""The entry points by which packages offer embeddings: `langchain` makes those of any provider from their name."""
FILE_PLACES = "threadkeep.file_places"
"""The entry points by which packages keep the bytes of attachments: `objects` makes `Chunks` of a URL, and of the
`Chunks` before it, in which there may be some already."""
CONVERSION = "threadkeep.conversion"
"""The entry points by which a package opens attached files: `files` makes a `Converter`, given the longest side of an
image in pixels."""
STORES = "threadkeep.stores"
"""The entry points by which packages offer stores: the name is the scheme of the URL, the value opens it."""
EMBEDDED_STORES = "threadkeep.embedded_stores"
"""The entry points by which packages offer stores that are a file or a folder: the name is the scheme of the URL, the
value is a class with `open`, and `database_of`, which tells of a path which SQLite file is in it."""
MIGRATIONS = "threadkeep.migrations"
"""The entry points by which packages bring the schema of a store up to date: the name is the scheme of the URL, the
value takes it and returns the names of what was applied."""
TALLIES = "threadkeep.tallies"
"""The entry points by which servers on one store count together: by the scheme of the URL."""
LOOPS = "threadkeep.loops"
"""The entry points by which a package lets loops of one's own run turns: `own` makes the `Loops` of a conversation's
handle and the runner of turns."""
SPOOLS = "threadkeep.spools"
"""The entry points by which a package keeps what is sent while the database is away: `open` opens a store with
`SpoolSettings`, `damage` tells what is wrong with a folder, None if there is nothing."""
A_SPOOL = "a spool for outages of the database"
BUDGETS = "threadkeep.budgets"
"""The entry points by which a package limits what models are used for: `usage` makes the `Budgets` of the sums of a
store, its table of the settings and a clock."""
JOBS = "threadkeep.jobs"
"""The entry points by which packages work in the background of a server: each returns what one process of all does for
ever, given conversations and settings; none where there is nothing to do."""
GUARDS = "threadkeep.guards"
"""The entry points by which packages let people in: each is called with an application, its conversations, its settings
and the guard that it has so far, and returns the guard that it has then."""
TABLES = "threadkeep.tables"
"""The entry points by which packages read their table of the settings: by its name, a model of pydantic."""
TELEMETRY = "threadkeep.telemetry"
"""The entry points by which packages tell a collector of turns: `opentelemetry` makes an `Observer` that can `surround`
an application and `close`."""


@lru_cache(maxsize=32)
def offered(group: str) -> tuple[EntryPoint, ...]:
    """Return what installed packages offer in a group, in the order of the names. They are looked for once."""
    return tuple(sorted(entry_points(group=group)))


def load_all(group: str) -> list[Any]:
    """Return all that packages offer in a group. What cannot be loaded is logged and left out."""
    loaded = []
    for point in offered(group):
        try:
            loaded.append(point.load())
        except ImportError as error:
            logger.warning("%s of %s cannot be loaded: %s", point.name, group, error)
    return loaded


def load(group: str, name: str, what: str) -> Any:
    """Return what a package offers under a name. PackageMissing says `what` is not there, or what its package lacks."""
    for point in offered(group):
        if point.name != name:
            continue
        try:
            return point.load()
        except ImportError as error:
            raise PackageMissing(f"{what} cannot be loaded: {error}.") from None
    raise PackageMissing(f"No installed package offers {what} (entry point {name} in {group}).")
