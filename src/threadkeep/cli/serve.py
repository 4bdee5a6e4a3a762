"""`threadkeep serve`: open the store and serve it, with its page, until the process is told to stop.

Without authentication only loopback addresses are accepted. `server/` decides what is served, `runtime.py` opens the
store; this module handles the socket, the signals and the messages at the start.

The first signal stops gracefully: no new turns, time for running ones, a clean end for event streams. A second one ends
the process at once, as the system does. Nothing is lost then either: what was acknowledged is stored.
"""

import argparse
import asyncio
import errno
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn
import uvloop
from fastapi import FastAPI

from threadkeep.assistants import found_assistants, load_counter
from threadkeep.cli.config import add_setting_flags, given_flags
from threadkeep.cli.supervisor import serve_again
from threadkeep.cli.trust import trusted_settings
from threadkeep.cli.watchdog import watchdog
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, ModelError, PackageMissing, UnknownModel
from threadkeep.hosting import hosting_of
from threadkeep.llm.providers import all_with_keys
from threadkeep.rings import TELEMETRY, load
from threadkeep.runtime import open_conversations
from threadkeep.server.app import create_app
from threadkeep.server.connection import Connection, ConnectionLimits, connections_within, tune_garbage_collector
from threadkeep.server.logs import TurnLog, logging_to
from threadkeep.server.metrics import ServerMetrics
from threadkeep.server.middleware.origins import is_loopback
from threadkeep.server.settings_record import record_settings
from threadkeep.settings import Settings

HOW_TO_OPEN = (
    "without authentication only those are served: make a key with 'threadkeep keys create --tenant T --user U' "
    "and serve with --auth keys"
)
SIGNALS = (signal.SIGINT, signal.SIGTERM)
MOST_FILES = 65_536
"""The limit of open files that is asked for; with a larger one the system keeps a larger table."""
SPARE_SECONDS = 8.0
"""How long a stop may take in addition to the patience with turns; then the process is ended."""
LOG_SECONDS = 0.2
LAST_SECONDS = 5
"""How long answers that are under way may take once everything else has stopped."""


def add_serve_arguments(parser: argparse.ArgumentParser) -> None:
    add_setting_flags(parser)


def run_serve(arguments: argparse.Namespace) -> int:
    settings = trusted_settings(given_flags(arguments))
    if settings.auth == "none" and not is_loopback(settings.host):
        return _refuse(f"{settings.host} is not a loopback address; {HOW_TO_OPEN}", 2)
    return serve_again(lambda: _listen_and_serve(settings)) if settings.may_be_killed else _listen_and_serve(settings)


def _listen_and_serve(settings: Settings) -> int:
    try:
        listener = _listen(settings)
    except OSError as error:
        return _refuse(f"cannot listen on {settings.host}:{settings.port}: {_listen_error(error)}", 1)
    most = connections_within(_raised_file_limit())
    level, content = settings.log_level, settings.log_content
    with listener, logging_to(sys.stderr, level=level, content=content, secrets=settings.secrets):
        uvloop.run(_serve(_with_fitting_streams(settings, most), listener, most))
    return 0


def _raised_file_limit() -> int:
    """Raise the limit of open files, which connections need, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


def _with_fitting_streams(settings: Settings, connections: int) -> Settings:
    """Return the settings with at most half of the connections as streams for one user."""
    streams = min(settings.user_streams or connections, connections // 2)
    return settings.model_copy(update={"user_streams": streams})


def _refuse(reason: str, status: int) -> int:
    print(f"threadkeep: {reason}", file=sys.stderr)
    return status


def _listen_error(error: OSError) -> str:
    # What Python adds about the address stands before it already.
    reason = (error.strerror or str(error)).partition(" (while")[0]
    return f"{reason}; choose another with --port" if error.errno == errno.EADDRINUSE else reason


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    return socket.create_server((settings.host, settings.port), family=family, backlog=2048)


async def _serve(settings: Settings, listener: socket.socket, most_connections: int) -> None:
    metrics, telemetry = ServerMetrics(), _telemetry(os.environ)
    hosting = hosting_of(
        settings,
        count=load_counter(settings.token_counter),
        observers=(metrics, TurnLog(content=settings.log_content), *telemetry),
        models=all_with_keys(os.environ) if settings.auth == "none" else None,
    )
    assistants = tuple(found_assistants(settings).values())
    conversations = await open_conversations(
        settings.store, assistants, model=settings.model, mcp=settings.mcp.servers, hosting=hosting
    )
    try:
        _check_model(conversations, settings.model)
        app, told_to_stop = create_app(conversations, settings, metrics), _told_to_stop(settings.stop_patience)
        for each in telemetry:
            each.surround(app)
        limits = ConnectionLimits(most_connections, most_connections // 2, settings.trusted_proxies)
        server = _Server(_uvicorn_config(app, settings, limits))
        tune_garbage_collector()
        what = f"{settings.store_without_secrets}, answered by {conversations.model_choice.name},"
        print(f"Threadkeep serves {what} on {_url_of(listener)}", flush=True)
        if conversations.model_choice.missing:
            print(f"The answers are scripted: {conversations.model_choice.missing}", flush=True)
        with watchdog(settings.freeze_limit):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(server.serve(sockets=[listener]))
                tasks.create_task(record_settings(conversations, settings))
                await told_to_stop.wait()
                await _stop(server, app, conversations, settings.stop_patience)
    finally:
        await conversations.close()
        for each in telemetry:
            await asyncio.to_thread(each.close)


def _telemetry(environment: Mapping[str, str]) -> list[Any]:
    """Return what tells a collector of turns, if the environment names one."""
    if not any(environment.get(f"OTEL_EXPORTER_OTLP_{kind}ENDPOINT") for kind in ("", "TRACES_", "METRICS_")):
        return []
    try:
        return [load(TELEMETRY, "opentelemetry", "OpenTelemetry")()]
    except PackageMissing:
        raise InvalidValue("a collector of OpenTelemetry is named: pip install 'threadkeep[otel]'") from None


def _check_model(conversations: Conversations, name: str | None) -> None:
    """Refuse to serve with a model that does not exist; one that only lacks a key can be set right while it serves."""
    if name is None or name.partition(":")[0] == "local":  # which is large, and loaded when it is first asked
        return
    try:
        conversations.model(name)
    except UnknownModel:
        raise
    except ModelError as error:
        logging.getLogger(__name__).warning("%s cannot answer: %s", name, error)


async def _stop(server: uvicorn.Server, app: FastAPI, conversations: Conversations, patience: float) -> None:
    """Let turns end, then streams, then connections. Requests are answered until the last step."""
    # What uvicorn has to say about connections that are cut at the end is no news.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    await conversations.finish_turns(patience)
    await app.state.open_requests.end()
    server.should_exit = True


def _told_to_stop(patience: float) -> asyncio.Event:
    """Return an event that the first signal sets. A second signal, or a stop that takes too long, ends the process."""
    loop, is_told = asyncio.get_running_loop(), asyncio.Event()

    def hear(number: int, frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        loop.call_soon_threadsafe(is_told.set)
        # In a thread: a store that hangs may block the event loop.
        last = threading.Timer(patience + SPARE_SECONDS, _give_up)
        last.daemon = True
        last.start()

    for each in SIGNALS:
        signal.signal(each, hear)
    return is_told


def _give_up() -> None:
    """End the process as a power cut would: what was acknowledged is stored, and what runs is taken up by another."""
    logging.getLogger(__name__).warning("something does not let go, such as the store: the process ends all the same")
    time.sleep(LOG_SECONDS)
    os._exit(1)


class _Server(uvicorn.Server):
    """uvicorn without its own signals: it would end at a second Ctrl-C, but never at a second SIGTERM."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _uvicorn_config(app: FastAPI, settings: Settings, limits: ConnectionLimits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=cast(type[Connection], partial(Connection, limits=limits)),
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        server_header=False,
        timeout_graceful_shutdown=LAST_SECONDS,
    )


def _url_of(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
