"""Which assistants there are: those that packages offer by entry points, those that the settings declare, and those
that a person names; and what answers for them. A name is `module:name`, and what it names is loaded when it is needed.
"""

import asyncio
import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, cast

from threadkeep.context.base import Counter, Policy, Window
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.conversation import Conversation
from threadkeep.errors import InvalidValue
from threadkeep.rings import RETRIEVAL, load
from threadkeep.settings import AssistantSettings, Settings
from threadkeep.tools.mcp import McpServers
from threadkeep.tools.registry import Registry
from threadkeep.turn.agent import Agent
from threadkeep.turn.assistant import Assistant

logger = logging.getLogger(__name__)

CHAT = "chat"
"""The assistant that is always there."""
ASSISTANTS = "threadkeep.assistants"
"""The entry points by which packages offer assistants."""
EXTRA = "pip install 'threadkeep[assistants]'"
"""What the assistants that come along need."""


def load_counter(name: str | None) -> Counter:
    """Return the function that counts tokens, given as `module:name`; none is our estimate."""
    if name is None:
        return count_tokens
    counter = named_here("The token counter", name)
    if not callable(counter):
        raise InvalidValue(f"The token counter {name} is no function.")
    return cast(Counter, counter)


def named_here(what: str, name: str) -> Any:
    """Return what a module calls so that a person has named: it may be one of the current folder.

    Only a module that is not installed brings the folder in, and behind all that is: whoever filled the folder could
    otherwise put a module before one of an installed package.
    """
    if "" not in sys.path and not _is_installed(name.partition(":")[0].partition(".")[0]):
        sys.path.append("")
    return _named(what, name)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


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
    found = {CHAT: chat_assistant(settings)}
    found |= {name: assistant for name, assistant in installed.items() if assistant is not None}
    found |= {name: _declared(name, described) for name, described in settings.assistants.items()}
    first = settings.default_assistant
    if first not in found:
        raise InvalidValue(f"default_assistant: there is no assistant named {first}; there are: {', '.join(found)}.")
    return {
        name: replace(assistant, options=assistant.options.over(settings.options))
        for name, assistant in ({first: found[first]} | found).items()
    }


def chat_assistant(settings: Settings) -> Assistant:
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
        # Not everybody wants all that come along; who asks for one is told, and so is who asks the doctor.
        is_extra = isinstance(error, ModuleNotFoundError) and point.module.startswith("threadkeep_assistants.")
        level, advice = (logging.INFO, f" ({EXTRA})") if is_extra else (logging.WARNING, "")
        logger.log(level, "the assistant %s cannot be loaded: %s%s", point.name, error, advice)
        return None


def missing_assistants(known: Mapping[str, Assistant]) -> list[str]:
    """Return the names of assistants that are installed and could not be loaded."""
    return sorted({point.name for point in entry_points(group=ASSISTANTS)} - known.keys())


def load_assistant(name: str, known: Mapping[str, Assistant]) -> Assistant:
    """Return one of the known assistants, or that of a Python file at hand, `module:name`. Raises InvalidValue saying
    what is wrong with it."""
    if ":" in name:
        return _checked(name, named_here("The assistant", name))
    if name in missing_assistants(known):
        raise InvalidValue(f"The assistant {name} needs packages that are not installed: {EXTRA}")
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
        return replace(_checked(settings.program, named_here("The assistant", settings.program)), name=name)
    return Assistant(
        name=name,
        instructions=settings.instructions,
        description=settings.description,
        examples=settings.examples,
        model=settings.model,
        options=settings.options,
        tools=Registry(named_here("The tool", tool) for tool in settings.tools),
        mcp=settings.mcp,
        policy=_policy(settings),
        lookup=None if settings.index is None else load(RETRIEVAL, "index", "looking up in an index")(settings.index),
    )


def _policy(settings: AssistantSettings) -> Policy:
    if settings.newest_messages is not None:
        return Policy(window=Window.NEWEST, size=settings.newest_messages)
    if settings.history_tokens is not None:
        return Policy(window=Window.BUDGET, size=settings.history_tokens)
    return Policy()


def with_window(assistant: Assistant, newest: int) -> Assistant:
    """Return the assistant with a window: its own, or so many messages before the current question (R-E10)."""
    if assistant.policy.window is not None:
        return assistant
    return replace(assistant, policy=replace(assistant.policy, window=Window.NEWEST, size=newest + 1))


class Agents:
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
    found = _named(f"{assistant} needs packages ({EXTRA}):", name)
    agent = found if isinstance(found, Agent) else found()
    if not isinstance(agent, Agent):
        raise InvalidValue(f"{name} is no agent, but a {type(agent).__name__}.")
    return agent


def assistant_of(known: Mapping[str, Assistant], conversation: Conversation, servers: McpServers) -> Assistant:
    """Return who answers in a conversation, with the tools that MCP servers offer now."""
    name = conversation.assistant or next(iter(known))
    if name not in known:
        raise InvalidValue(f"There is no assistant named {name}.")
    assistant = known[name]
    return replace(assistant, tools=assistant.tools.plus(servers.tools())) if assistant.mcp else assistant
