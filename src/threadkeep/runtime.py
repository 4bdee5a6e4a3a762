"""Settings in, wired objects out: the only file that names concrete backends. Drivers are imported when used."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from threadkeep.context.base import Counter, Policy, Window
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.ids import IdSource, new_id
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidStoreUrl, InvalidValue, StoreUnavailable
from threadkeep.llm.base import Model
from threadkeep.llm.choice import Choice, choose_model
from threadkeep.settings import AssistantSettings, Settings
from threadkeep.store.base import MAX_BYTES, Store
from threadkeep.tools.base import DEFAULT_TIMEOUT, Tool
from threadkeep.tools.mcp import McpServer
from threadkeep.tools.mcp.servers import McpServers
from threadkeep.tools.registry import Registry
from threadkeep.turn.active_turn import EngineDeps
from threadkeep.turn.admission import Admission
from threadkeep.turn.after_turn import after_turn
from threadkeep.turn.agent import Agent
from threadkeep.turn.assistant import Assistant
from threadkeep.turn.lookup import Lookup
from threadkeep.turn.models import Models
from threadkeep.turn.observer import Observer
from threadkeep.turn.publishing import PublishingStore
from threadkeep.turn.runner import TurnRunner, is_gone, new_owner

logger = logging.getLogger(__name__)

DEFAULT_STORE = "sqlite:///threadkeep.db"
NO_POSTGRES = "PostgreSQL needs a package: pip install 'threadkeep[postgres]'"
CHAT = "chat"
"""The assistant that is always there."""
ASSISTANTS = "threadkeep.assistants"
"""The entry points by which packages offer assistants."""
STORES = "threadkeep.stores"
"""The entry points by which packages offer stores: the name is the scheme of the URL, the value opens it."""


async def open_store(url: str, *, clock: Clock = utc_now, ids: IdSource = new_id, max_bytes: int = MAX_BYTES) -> Store:
    """Open the store behind a URL. An embedded one is created and migrated as needed; PostgreSQL must be migrated."""
    match _scheme(url):
        case "memory":
            from threadkeep.store.memory import MemoryStore

            return MemoryStore(clock, ids, max_bytes)
        case "sqlite":
            from threadkeep.store.sqlite.store import SqliteStore

            return await SqliteStore.open(_path(url), clock, ids, max_bytes)
        case "files":
            from threadkeep.store.files.store import FilesStore

            return await FilesStore.open(_path(url), clock, ids, max_bytes)
        case "postgresql":
            try:
                from threadkeep.store.postgres.store import PostgresStore
            except ImportError:
                raise StoreUnavailable(NO_POSTGRES) from None
            return await PostgresStore.open(url, clock, ids, max_bytes)
        case scheme:
            for point in entry_points(group=STORES, name=scheme):
                opened: Store = await point.load()(url, clock=clock, ids=ids, max_bytes=max_bytes)
                return opened
            raise InvalidStoreUrl


@dataclass(frozen=True, kw_only=True)
class Hosting:
    """How turns are run for others: the size of an entry, how tokens are counted, how long tools and scripts may take,
    who may begin a turn, who is told what turns do, and which models may be chosen beside the default, the assistants'
    own and `demo` (None: any)."""

    max_bytes: int = MAX_BYTES
    max_history_length: int = 10
    count: Counter = count_tokens
    tool_timeout: float = DEFAULT_TIMEOUT
    admission: Admission = field(default_factory=Admission)
    observers: tuple[Observer, ...] = ()
    models: tuple[str, ...] | None = None


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

    `store` is a URL or a store that is open already; it is closed with the conversations.
    `model` is a name or a model of your own; without one it is chosen from what is found in the environment. `pace` is
    for the scripted demo: seconds for a word.
    """
    hosting = hosting or Hosting()
    given = assistants or (_chat(Settings()),)
    known = {assistant.name: _with_window(assistant, hosting.max_history_length) for assistant in given}
    choice = await _choice(model, os.environ if environment is None else environment)
    logger.debug("model: %s. %s", choice.name, choice.reason)
    own = (assistant.model for assistant in known.values() if assistant.model)
    offered = tuple(dict.fromkeys([choice.name, *own, *(hosting.models or ()), "demo"]))
    default = choice.name if isinstance(model, str | None) else model
    is_embedded = isinstance(store, str) and store_path(store) is not None
    if isinstance(store, str):
        store = await open_store(store, max_bytes=hosting.max_bytes)
    servers = McpServers(mcp or {})
    await servers.start()
    deps = EngineDeps(
        store=PublishingStore(store),
        assistant_of=lambda conversation: _assistant(known, conversation, servers),
        agents=_Agents().of,
        models=Models(
            default,
            pace,
            is_set=model is not None,
            offered=None if hosting.models is None else offered,
            limit=hosting.tool_timeout,
        ),
        clock=utc_now,
        ids=new_id,
        owner=new_owner(),
        is_gone=lambda owner: is_embedded and is_gone(owner),
        tool_timeout=hosting.tool_timeout,
        count=hosting.count,
        admission=hosting.admission,
        observers=hosting.observers,
    )
    return Conversations(TurnRunner(deps, after_turn), known, replace(choice, offered=offered), servers).start()


async def open_unanswered(store: str | Store) -> Conversations:
    """Open conversations in which nobody answers: no model is chosen, no turn is taken up, nothing is purged."""

    def nobody(*_: object) -> Any:
        raise InvalidValue("Nobody answers here; threadkeep.open opens conversations that are answered.")

    deps = EngineDeps(
        store=PublishingStore(await open_store(store) if isinstance(store, str) else store),
        assistant_of=nobody,
        models=nobody,
        clock=utc_now,
        ids=new_id,
        owner=new_owner(),
    )
    return Conversations(TurnRunner(deps), {}, Choice("none", "Nobody answers."), McpServers({}))


def load_counter(name: str | None) -> Counter:
    """Return the function that counts tokens, given as `module:name`; none is our estimate."""
    if name is None:
        return count_tokens
    counter = _named_here("The token counter", name)
    if not callable(counter):
        raise InvalidValue(f"The token counter {name} is no function.")
    return cast(Counter, counter)


def _named_here(what: str, name: str) -> Any:
    """Return what a module calls so that a person has named: it may be one of the current folder, as with `python -m`.

    Nothing else brings the folder in: whoever filled it could put a module before one of an installed package.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")
    return _named(what, name)


def _named(what: str, name: str) -> Any:
    """Return what a module calls so."""
    module, _, attribute = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidValue(f"{what} {name} cannot be loaded: {error}") from None
    return found


def found_assistants(settings: Settings) -> dict[str, Assistant]:
    """Return all assistants that are installed or declared in the settings, by name, the one first that answers where
    a conversation names none. Each has the options of the settings below its own.

    One that is installed and cannot be loaded is left out; one that is declared and cannot be is an error. What an
    entry point names is an assistant, or a function that makes one from the settings.
    """
    installed = {point.name: _offered(point, settings) for point in sorted(entry_points(group=ASSISTANTS))}
    found = {CHAT: _chat(settings)}
    found |= {name: assistant for name, assistant in installed.items() if assistant is not None}
    found |= {name: _declared(name, described) for name, described in settings.assistants.items()}
    first = settings.default_assistant
    if first not in found:
        raise InvalidValue(f"default_assistant: there is no assistant named {first}; there are: {', '.join(found)}.")
    return {
        name: replace(assistant, options=assistant.options.over(settings.options))
        for name, assistant in ({first: found[first]} | found).items()
    }


def _chat(settings: Settings) -> Assistant:
    """Return the assistant `chat`: the one that is installed, else a plain one."""
    for point in entry_points(group=ASSISTANTS, name=CHAT):
        if installed := _offered(point, settings):
            return installed
    return Assistant(name=CHAT, instructions="You are a helpful assistant. Answer briefly and truthfully.")


def _offered(point: EntryPoint, settings: Settings) -> Assistant | None:
    try:
        found = point.load()
        return _checked(point.name, found(settings) if callable(found) else found)
    except Exception as error:
        logger.warning("the assistant %s cannot be loaded: %s", point.name, error)
        return None


def load_assistant(name: str, known: Mapping[str, Assistant]) -> Assistant:
    """Return one of the known assistants, or that of a Python file at hand, `module:name`. Raises InvalidValue saying
    what is wrong with it."""
    if ":" in name:
        return _checked(name, _named_here("The assistant", name))
    if name not in known:
        offered = ", ".join(sorted(known))
        raise InvalidValue(f"There is no assistant named {name}; there are: {offered}. Yours is named module:name.")
    return known[name]


def _checked(name: str, found: Any) -> Assistant:
    if not isinstance(found, Assistant):
        raise InvalidValue(f"{name} is no assistant, but a {type(found).__name__}.")
    return found


def _declared(name: str, settings: AssistantSettings) -> Assistant:
    """Return the assistant that the settings describe, or name."""
    if settings.program is not None:
        return replace(_checked(settings.program, _named_here("The assistant", settings.program)), name=name)
    tools = [_named_here("The tool", tool) for tool in settings.tools]
    for tool, found in zip(settings.tools, tools, strict=True):
        if not isinstance(found, Tool):
            raise InvalidValue(f"{tool} is no tool; is there a @tool on top of it?")
    return Assistant(
        name=name,
        instructions=settings.instructions,
        description=settings.description,
        examples=settings.examples,
        model=settings.model,
        options=settings.options,
        tools=Registry(tools),
        mcp=settings.mcp,
        policy=_policy(settings),
        lookup=None if settings.index is None else _lookup(settings.index),
    )


def _lookup(path: str) -> Lookup:
    """Return an index of documents to look questions up in, with the embeddings that it was made with."""
    from threadkeep.retrieval.hybrid import HybridIndex
    from threadkeep.retrieval.loading import load_embeddings

    made_with = HybridIndex.made_with(path)
    if made_with is None:
        raise InvalidValue(f"There is no index {path}; make one: threadkeep index add {path} FILE...")
    return Lookup(retriever=HybridIndex.open(path, load_embeddings(made_with)))


def _policy(settings: AssistantSettings) -> Policy:
    if settings.newest_messages is not None:
        return Policy(window=Window.NEWEST, size=settings.newest_messages)
    if settings.history_tokens is not None:
        return Policy(window=Window.BUDGET, size=settings.history_tokens)
    return Policy()


def _with_window(assistant: Assistant, newest: int) -> Assistant:
    """Return the assistant with a window: its own, or so many messages before the current question (R-E10)."""
    if assistant.policy.window is not None:
        return assistant
    return replace(assistant, policy=replace(assistant.policy, window=Window.NEWEST, size=newest + 1))


class _Agents:
    """What thinks for assistants. An agent that is named is loaded once, in a thread: a graph imports a lot."""

    def __init__(self) -> None:
        self._loaded: dict[str, Agent] = {}
        self._loading = asyncio.Lock()

    async def of(self, assistant: Assistant) -> Agent | None:
        """Return the agent of an assistant, if it has one."""
        if not isinstance(assistant.agent, str):
            return assistant.agent
        async with self._loading:
            if assistant.agent not in self._loaded:
                self._loaded[assistant.agent] = await asyncio.to_thread(_load_agent, assistant.name, assistant.agent)
        return self._loaded[assistant.agent]


def _load_agent(assistant: str, name: str) -> Agent:
    found = _named(f"{assistant} needs packages (pip install 'threadkeep[assistants]'):", name)
    agent = found if isinstance(found, Agent) else found()
    if not isinstance(agent, Agent):
        raise InvalidValue(f"{name} is no agent, but a {type(agent).__name__}.")
    return agent


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


def _assistant(known: Mapping[str, Assistant], conversation: Conversation, servers: McpServers) -> Assistant:
    """Return who answers in a conversation, with the tools that MCP servers offer now."""
    name = conversation.assistant or next(iter(known))
    if name not in known:
        raise InvalidValue(f"There is no assistant named {name}.")
    assistant = known[name]
    return replace(assistant, tools=assistant.tools.plus(servers.tools())) if assistant.mcp else assistant


async def migrate(url: str) -> list[str]:
    """Bring the schema of a store up to date and return the names of the migrations that were applied."""
    match _scheme(url):
        case "postgresql":
            try:
                from threadkeep.store.postgres.schema import migrate as migrate_postgres
            except ImportError:
                raise StoreUnavailable(NO_POSTGRES) from None
            return await migrate_postgres(url)
        case "sqlite":
            from threadkeep.store.sqlite.schema import migrate as migrate_sqlite

            return migrate_sqlite(_path(url))
        case "files" | "memory":
            return []
        case _:
            raise InvalidStoreUrl


def pending_migrations(url: str) -> list[str]:
    """Return what opening an embedded store that exists would apply to it. Nothing is changed by looking."""
    if _scheme(url) != "sqlite":
        return []
    from threadkeep.store.sqlite.schema import pending

    return pending(_path(url))


def _scheme(url: str) -> str:
    scheme = url.partition(":")[0]
    return {"postgres": "postgresql"}.get(scheme, scheme)


def back_up_file(url: str, target: Path, progress: Callable[[float], None]) -> int | None:
    """Copy a store that is one file while it is in use; return how many conversations it holds, None for others."""
    if _scheme(url) != "sqlite":
        return None
    from threadkeep.store.sqlite.backup import back_up

    return back_up(_path(url), target, progress)


def store_path(url: str) -> Path | None:
    """Return the file or folder that an embedded store is kept in; None for other stores."""
    return _path(url) if _scheme(url) in ("sqlite", "files") else None


def _path(url: str) -> Path:
    """Return the path of an embedded store: three slashes are a relative path, four an absolute one."""
    parts = urlsplit(url)
    path = unquote(parts.path)[1:]
    if not url.startswith(f"{parts.scheme}:///") or not path or "\x00" in path:
        raise InvalidStoreUrl
    return Path(path)
