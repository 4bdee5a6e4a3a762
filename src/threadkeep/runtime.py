"""Settings in, wired objects out: the only file that names the embedded stores, which are imported when used."""

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from threadkeep.assistants import Agents, assistant_of, chat_assistant, with_window
from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.ids import IdSource, new_id
from threadkeep.conversations import Conversations
from threadkeep.conversion import Converter
from threadkeep.errors import InvalidStoreUrl, InvalidValue, PackageMissing
from threadkeep.hosting import Hosting
from threadkeep.llm.base import Model
from threadkeep.llm.choice import Choice, choose_model
from threadkeep.llm.offered import OfferedModels
from threadkeep.retention.rules import Retention
from threadkeep.rings import (
    A_SPOOL,
    BUDGETS,
    CONVERSION,
    EMBEDDED_STORES,
    JOBS,
    MIGRATIONS,
    SPOOLS,
    STORES,
    TALLIES,
    load,
    load_all,
    offered,
)
from threadkeep.settings import Settings
from threadkeep.store.attachments import Attachments, FileLimits, open_chunks
from threadkeep.store.base import MAX_BYTES, Store
from threadkeep.store.caps import Caps
from threadkeep.tally import Tally
from threadkeep.tools.mcp import McpServer, McpServers
from threadkeep.transfer.files import UNLIMITED
from threadkeep.turn.active_turn import EngineDeps
from threadkeep.turn.after_turn import after_turn
from threadkeep.turn.assistant import Assistant
from threadkeep.turn.models import Models
from threadkeep.turn.runner import TurnRunner, is_gone, new_owner

logger = logging.getLogger(__name__)

DEFAULT_STORE = "sqlite:///threadkeep.db"


async def open_store(
    url: str,
    *,
    clock: Clock = utc_now,
    ids: IdSource = new_id,
    max_bytes: int = MAX_BYTES,
    caps: Caps | None = None,
) -> Store:
    """Open the store behind a URL. An embedded one is created and migrated as needed; PostgreSQL must be migrated."""
    store = await _open_store(url, clock, ids, max_bytes)
    store.operations.caps = caps or Caps()
    return store


async def _open_store(url: str, clock: Clock, ids: IdSource, max_bytes: int) -> Store:
    match _scheme(url):
        case "memory":
            from threadkeep.store.sqlite.memory import MemoryStore

            return MemoryStore(clock, ids, max_bytes)
        case "sqlite":
            from threadkeep.store.sqlite.store import SqliteStore

            return await SqliteStore.open(_path(url), clock, ids, max_bytes)
        case scheme if _is_embedded(scheme):
            embedded: Store = await _of_scheme(EMBEDDED_STORES, url).open(_path(url), clock, ids, max_bytes)
            return embedded
        case _:
            opened: Store = await _of_scheme(STORES, url)(url, clock=clock, ids=ids, max_bytes=max_bytes)
            return opened


def _is_embedded(scheme: str) -> bool:
    """Tell whether a store of this scheme is a file or a folder."""
    return scheme == "sqlite" or any(point.name == scheme for point in offered(EMBEDDED_STORES))


def _of_scheme(group: str, url: str) -> Any:
    """Return what an installed package offers for the stores of this scheme."""
    scheme = _scheme(url)
    if all(point.name != scheme for point in offered(group)):
        raise InvalidStoreUrl
    return load(group, scheme, f"what opens {scheme}://...")


async def count_together(url: str, tally: Tally) -> None:
    """Count requests, turns and streams together with the other servers on a store, if a package brings the way to."""
    if any(point.name == _scheme(url) for point in offered(TALLIES)):
        await _of_scheme(TALLIES, url)(url, tally)


async def open_conversations(
    store: str | Store = DEFAULT_STORE,
    assistants: Sequence[Assistant] = (),
    *,
    model: str | Model | None = None,
    pace: float | None = None,
    mcp: Mapping[str, McpServer] | None = None,
    environment: Mapping[str, str] | None = None,
    hosting: Hosting | None = None,
) -> Conversations:
    """Open a store and everything that answers in it. The first assistant answers where a conversation names none.

    `store` is a URL or an open store; it is closed with the conversations. `model` is a name or a model of your own;
    without one it is chosen by what is found in the environment. `pace` is the seconds that the scripted demo takes for
    a word.
    """
    if isinstance(assistants, Assistant) or not all(isinstance(each, Assistant) for each in assistants):
        raise InvalidValue("The argument assistants is not valid: it is a list of threadkeep.Assistant.")
    hosting = hosting or Hosting()
    settings = hosting.settings
    given = assistants or (chat_assistant(Settings()),)
    known = {assistant.name: with_window(assistant, settings.max_history_length) for assistant in given}
    choice = await _choice(model, os.environ if environment is None else environment)
    logger.debug("model: %s. %s", choice.name, choice.reason)
    own = (assistant.model for assistant in known.values() if assistant.model)
    offered = OfferedModels([choice.name, *own, *(hosting.models or ()), "demo"], environment)
    default = choice.name if isinstance(model, str | None) else model
    is_embedded = isinstance(store, str) and store_path(store) is not None
    if isinstance(store, str):
        store = await _open_hosted(store, hosting)
    servers = McpServers(mcp or {})
    await servers.start()
    allowed = None if hosting.models is None else offered
    deps = _hosted_deps(
        store,
        hosting,
        assistant_of=lambda conversation: assistant_of(known, conversation, servers),
        models=Models(default, pace, is_set=model is not None, offered=allowed, limit=settings.tool_timeout),
        is_gone=lambda owner: is_embedded and is_gone(owner),
    )
    runner, chosen = TurnRunner(deps, after_turn), replace(choice, offered=offered)
    conversations = Conversations(runner, known, chosen, servers, hosting.retention)
    return conversations.start(
        obey_retention=hosting.retention is not None,
        audit_days=settings.audit_days,
        session_timeout=settings.session_timeout,
        for_all=hosting.does_jobs,
        channel=hosting.channel,
        brought=_brought_jobs(conversations, hosting),
    )


def _brought_jobs(conversations: Conversations, hosting: Hosting) -> dict[str, Callable[[], Awaitable[None]]]:
    """Return what packages do in the background of a server."""
    if not (hosting.is_server and hosting.does_jobs):
        return {}
    made = {job.__name__: job(conversations, hosting.settings) for job in load_all(JOBS)}
    return {name: work for name, work in made.items() if work is not None}


async def _open_hosted(url: str, hosting: Hosting) -> Store:
    """Open the store behind a URL within the limits of its host, with a spool if the host has one."""
    max_bytes, spool = hosting.settings.max_message_bytes, hosting.spool
    if spool is None:
        return await open_store(url, max_bytes=max_bytes, caps=hosting.caps)
    store: Store = await load(SPOOLS, "open", A_SPOOL)(url, spool, max_bytes=max_bytes, caps=hosting.caps)
    return store


def _hosted_deps(
    store: Store,
    hosting: Hosting,
    assistant_of: Callable[[Conversation], Assistant],
    models: Models,
    is_gone: Callable[[str], bool],
) -> EngineDeps:
    """Return what the engine is put together from: what its host sets, and who answers."""
    settings, budgets = hosting.settings, hosting.settings.budgets
    return EngineDeps(
        store=store,
        assistant_of=assistant_of,
        models=models,
        is_gone=is_gone,
        attachments=attachments_of(store, settings.files, hosting.file_limits),
        agents=Agents().of,
        clock=utc_now,
        ids=new_id,
        owner=new_owner(),
        lease_for=timedelta(seconds=settings.lease_seconds),
        tool_timeout=settings.tool_timeout,
        converter=_made(CONVERSION, "files", "the text of files", settings.image_side) or Converter(),
        count=hosting.count,
        prices=settings.prices,
        budgets=budgets and load(BUDGETS, "usage", "budgets")(store.operations.usage, budgets, utc_now),
        admission=hosting.admission,
        observers=hosting.observers,
    )


def _made(group: str, name: str, what: str, *given: object) -> Any:
    """Return what an installed package makes; None where there is none, or it lacks something."""
    try:
        return load(group, name, what)(*given)
    except PackageMissing:
        return None


def attachments_of(store: Store, place: str | None, limits: FileLimits | None = None) -> Attachments | None:
    """Return the files of a store, whose bytes may be kept elsewhere (`place`); None if the store keeps no files."""
    if store.files is None:
        return None
    return Attachments(store.files, limits=limits, chunks=open_chunks(place, store.files) if place else None)


async def open_unanswered(
    store: str | Store,
    retention: Retention | None = None,
    files: str | None = None,
    assistants: Mapping[str, Assistant] | None = None,
) -> Conversations:
    """Open conversations for reading and administration: no model is chosen, no turn is taken up, nothing is purged,
    and rules of retention run only on request. `files` is where attachments are kept, unless in the store; what
    `assistants` keep elsewhere is erased with a person."""

    def nobody(*_: object) -> Any:
        raise InvalidValue("Nobody answers here; threadkeep.open opens conversations that are answered.")

    store = await open_store(store) if isinstance(store, str) else store
    deps = EngineDeps(
        store=store,
        attachments=attachments_of(store, files, UNLIMITED),
        assistant_of=nobody,
        models=nobody,
        clock=utc_now,
        ids=new_id,
        owner=new_owner(),
    )
    return Conversations(
        TurnRunner(deps), assistants or {}, Choice("none", "Nobody answers."), McpServers({}), retention
    )


@asynccontextmanager
async def open(  # noqa: A001 - it is read as threadkeep.open
    store: str | Store = DEFAULT_STORE, assistants: Sequence[Assistant] = (), *, model: str | Model | None = None
) -> AsyncIterator[Conversations]:
    """Open Threadkeep for the length of a block: `async with threadkeep.open() as conversations`. A store of your
    own is taken as it is, and closed at the end."""
    async with await open_conversations(store, assistants, model=model) as conversations:
        yield conversations


async def _choice(model: str | Model | None, environment: Mapping[str, str]) -> Choice:
    if isinstance(model, Model):
        return Choice(model.name, "It was handed in.")
    return await choose_model(model, environment)


async def migrate(url: str) -> list[str]:
    """Bring the schema of a store up to date and return the names of the migrations that were applied."""
    match _scheme(url):
        case "sqlite" | "files" as scheme:
            from threadkeep.store.sqlite.opening import migrate as migrate_sqlite

            file = database_file(url)
            # A folder of files is made when it is opened.
            return [] if file is None or (scheme == "files" and not file.exists()) else migrate_sqlite(file)
        case "memory":
            return []
        case _:
            applied: list[str] = await _of_scheme(MIGRATIONS, url)(url)
            return applied


def pending_migrations(url: str) -> list[str]:
    """Return what opening an embedded store that exists would apply to it. Nothing is changed by looking."""
    file = database_file(url)
    if file is None or not file.exists():
        return []
    from threadkeep.store.sqlite.opening import pending_migrations as pending

    return pending(file)


def set_log_aside(url: str) -> str | None:
    """Go on with what an SQLite file and its log still hold; return what was done, none if all was well."""
    file = database_file(url)
    if file is None:
        return None
    from threadkeep.store.sqlite.opening import set_log_aside as set_aside

    return set_aside(file)


def _scheme(url: str) -> str:
    scheme = url.partition(":")[0]
    return {"postgres": "postgresql"}.get(scheme, scheme)


def back_up_file(url: str, target: Path, progress: Callable[[float], None]) -> int | None:
    """Copy a store that is one file while it is in use; return how many conversations it holds, None for others."""
    if _scheme(url) != "sqlite":
        return None
    from threadkeep.store.sqlite.opening import back_up

    return back_up(_path(url), target, progress)


def database_file(url: str) -> Path | None:
    """Return the SQLite file of an embedded store; None for other stores."""
    path = store_path(url)
    if path is None or _scheme(url) == "sqlite":
        return path
    inside: Path = _of_scheme(EMBEDDED_STORES, url).database_of(path)
    return inside


def store_path(url: str) -> Path | None:
    """Return the file or folder that an embedded store is kept in; None for other stores."""
    return _path(url) if _is_embedded(_scheme(url)) else None


def _path(url: str) -> Path:
    """Return the path of an embedded store: three slashes are a relative path, four an absolute one."""
    parts = urlsplit(url)
    path = unquote(parts.path)[1:]
    if not url.startswith(f"{parts.scheme}:///") or not path or "\x00" in path:
        raise InvalidStoreUrl
    return Path(path)
