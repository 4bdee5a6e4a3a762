"""`threadkeep serve`: open the store and serve it, with its page, until the process is told to stop.

Without authentication only loopback addresses are accepted. `server/` decides what is served, `runtime.py` opens the
store; this module handles the signals, the messages at the start, and whether one process serves or several.

The first signal stops gracefully: no new turns, time for running ones, a clean end for event streams. A second one ends
the process at once, as the system does. Nothing is lost then either: what was acknowledged is stored.
"""

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any

import uvloop
from fastapi import FastAPI

from threadkeep.assistants import found_assistants, load_counter
from threadkeep.background import supervised
from threadkeep.cli.listening import Server, listen, raised_file_limit, url_of
from threadkeep.cli.settings_loading import add_setting_flags, given_flags
from threadkeep.cli.supervisor import PAUSE, Post, Supervisor
from threadkeep.cli.trust import trusted_settings
from threadkeep.cli.watchdog import watchdog
from threadkeep.cli.workers import Shared, count_of, shared_by
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, ModelError, PackageMissing, ThreadkeepError, UnknownModel
from threadkeep.hosting import hosting_of
from threadkeep.llm.providers import all_with_keys
from threadkeep.rings import TELEMETRY, load
from threadkeep.runtime import count_together, open_conversations
from threadkeep.server.app import create_app
from threadkeep.server.connection import ConnectionLimits, connections_within, tune_garbage_collector
from threadkeep.server.logs import TurnLog, logging_to
from threadkeep.server.metrics import ServerMetrics
from threadkeep.server.middleware.origins import is_loopback
from threadkeep.server.settings_record import record_settings
from threadkeep.settings import Settings

HOW_TO_OPEN = (
    "without authentication only those are served: make a key with 'threadkeep keys create --tenant T --user U' "
    "and serve with --auth keys"
)
FIXED = ("host", "port", "auth", "store", "files", "spool_dir", "workers", "killable")
"""The settings that workers keep when they are replaced: their supervisor, or those beside them, rely on these."""
SPARE_SECONDS = 8.0
"""How long a stop may take in addition to the patience with turns; then the process is ended."""
LOG_SECONDS = 0.2


def add_serve_arguments(parser: argparse.ArgumentParser) -> None:
    add_setting_flags(parser)


def run_serve(arguments: argparse.Namespace) -> int:
    settings = trusted_settings(given_flags(arguments))
    if settings.auth == "none" and not is_loopback(settings.host):
        print(f"threadkeep: {settings.host} is not a loopback address; {HOW_TO_OPEN}", file=sys.stderr)
        return 2
    if (count := count_of(settings)) > 1:
        return _serve_together(arguments, settings, count)
    if settings.may_be_killed:
        # Nobody listens while it is away, for people to see that.
        return Supervisor(lambda post: _listen_and_serve(settings, post), pause=PAUSE).run()
    return _listen_and_serve(settings, Post())


def _listen_and_serve(settings: Settings, post: Post) -> int:
    with listen(settings) as listener:
        return _serve_on(listener, settings, post, Shared())


def _serve_together(arguments: argparse.Namespace, settings: Settings, count: int) -> int:
    """Serve in several processes on one socket; those that replace others have the settings as they are then."""
    newest = settings

    def reload() -> bool:
        nonlocal newest
        try:
            loaded = trusted_settings(given_flags(arguments))
        except ThreadkeepError as error:
            print(f"threadkeep: the settings stay as they are: {error}", file=sys.stderr, flush=True)
            return False
        newest = loaded.model_copy(update={name: getattr(settings, name) for name in FIXED})
        return True

    with listen(settings) as listener, shared_by(count) as shared:
        return Supervisor(
            lambda post: _serve_on(listener, newest, post, shared), count, ended=shared.clear, reload=reload
        ).run()


def _serve_on(listener: socket.socket, settings: Settings, post: Post, shared: Shared) -> int:
    most = connections_within(raised_file_limit())
    # At most half of the connections are streams of one user.
    streams = min(settings.user_streams or most, shared.workers * most // 2)
    fitting = settings.model_copy(update={"user_streams": streams})
    level, content = settings.log_level, settings.log_content
    with logging_to(sys.stderr, level=level, content=content, secrets=settings.secrets):
        uvloop.run(_serve(fitting, listener, most, post, shared))
    return 0


async def _serve(
    settings: Settings, listener: socket.socket, most_connections: int, post: Post, shared: Shared
) -> None:
    channel = shared.join(post.number)
    metrics, telemetry = ServerMetrics(shared.folder), _telemetry(os.environ)
    hosting = hosting_of(
        settings,
        count=load_counter(settings.token_counter),
        observers=(metrics, TurnLog(content=settings.log_content), *telemetry),
        models=all_with_keys(os.environ) if settings.auth == "none" else None,
        tally=shared.tally,
    )
    hosting = replace(hosting, does_jobs=post.leads, channel=channel)
    assistants = tuple(found_assistants(settings).values())
    conversations = await open_conversations(
        settings.store, assistants, model=settings.model, mcp=settings.mcp.servers, hosting=hosting
    )
    try:
        _check_model(conversations, settings.model)
        app = create_app(conversations, settings, metrics, shared.tally)
        told_to_stop = _ToldToStop(settings.stop_patience, post)
        for each in telemetry:
            each.surround(app)
        limits = ConnectionLimits(most_connections, most_connections // 2, settings.trusted_proxies)
        server = Server(app, settings, limits, listener)
        tune_garbage_collector()
        if post.is_first:
            _say_what_is_served(settings, conversations, listener)
        with watchdog(settings.freeze_limit):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(server.serve())
                background = [tasks.create_task(supervised("telling numbers", metrics.keep_looking))]
                if post.leads:
                    tasks.create_task(record_settings(conversations, settings))
                    count = partial(count_together, settings.store, shared.tally)
                    background.append(tasks.create_task(supervised("counting together", count)))
                post.ready()
                await told_to_stop.wait()
                if told_to_stop.is_replaced:
                    await server.hand_over()
                await _stop(server, app, conversations, settings.stop_patience)
                for task in background:
                    task.cancel()
    finally:
        await conversations.close()
        for each in telemetry:
            await asyncio.to_thread(each.close)


def _say_what_is_served(settings: Settings, conversations: Conversations, listener: socket.socket) -> None:
    what = f"{settings.store_without_secrets}, answered by {conversations.model_choice.name},"
    print(f"Threadkeep serves {what} on {url_of(listener)}", flush=True)
    if conversations.model_choice.missing:
        print(f"The answers are scripted: {conversations.model_choice.missing}", flush=True)


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
    if name is None:
        return
    try:
        conversations.model(name)
    except UnknownModel:
        raise
    except ModelError as error:
        logging.getLogger(__name__).warning("%s cannot answer: %s", name, error)


async def _stop(server: Server, app: FastAPI, conversations: Conversations, patience: float) -> None:
    """Let turns end, then streams, then connections. Requests are answered until the last step."""
    # What uvicorn has to say about connections that are cut at the end is no news.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    await conversations.finish_turns(patience)
    await app.state.open_requests.end()
    server.should_exit = True


class _ToldToStop:
    """Waits for the first signal. A second one, or a stop that takes too long, ends the process.

    A worker leaves Ctrl-C to its supervisor, and is replaced at SIGHUP.
    """

    def __init__(self, patience: float, post: Post) -> None:
        self._signals = (signal.SIGINT, signal.SIGTERM) if post.is_alone else (signal.SIGHUP, signal.SIGTERM)
        self._patience = patience
        self._loop, self._is_told = asyncio.get_running_loop(), asyncio.Event()
        self.is_replaced = False
        for each in self._signals:
            signal.signal(each, self._hear)

    async def wait(self) -> None:
        await self._is_told.wait()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        for each in self._signals:
            signal.signal(each, signal.SIG_DFL)
        self.is_replaced = number == signal.SIGHUP
        self._loop.call_soon_threadsafe(self._is_told.set)
        # In a thread: a store that hangs may block the event loop.
        last = threading.Timer(self._patience + SPARE_SECONDS, _give_up)
        last.daemon = True
        last.start()


def _give_up() -> None:
    """End the process as a power cut would: what was acknowledged is stored, and what runs is taken up by another."""
    logging.getLogger(__name__).warning("something does not let go, such as the store: the process ends all the same")
    time.sleep(LOG_SECONDS)
    os._exit(1)
