"""The event loops under which what talks to providers is tested: an app that embeds us may bring its own."""

import asyncio
from collections.abc import Callable, Mapping

import uvloop

BOTH: Mapping[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
