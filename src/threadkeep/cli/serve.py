"""`threadkeep serve`: open the store and serve it, with its page, until the process is told to stop.

Only loopback addresses are accepted, because nobody is asked who they are. What is served is decided in `server/`,
which store in `runtime.py`; here the socket, the signals and the messages of the start are looked after.
"""

import argparse
import asyncio
import os
import signal
import socket
import sys

import uvicorn
from fastapi import FastAPI

from threadkeep.runtime import open_keeper
from threadkeep.server.app import create_app
from threadkeep.server.loopback import is_loopback
from threadkeep.settings import Settings, load_settings, read_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep serve`."""
    parser.add_argument("--host", help="the loopback address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="the port to listen on, 0 for any free one (default: 8000)")
    parser.add_argument(
        "--store", metavar="URL", help="where conversations are kept (default: sqlite:///threadkeep.db)"
    )
    parser.add_argument(
        "--model", help="the model that answers, such as openai:gpt-5 (default: what is found, or demo)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop."""
    settings = load_settings(os.environ, vars(arguments), read_file(os.environ))
    if not is_loopback(settings.host):
        return _refuse(f"{settings.host} is not a loopback address; without authentication only those are served", 2)
    try:
        listener = _listen(settings)
    except OSError as error:
        return _refuse(f"cannot listen on {settings.host}:{settings.port}: {os.strerror(error.errno or 0)}", 1)
    with listener:
        asyncio.run(_serve(settings, listener))
    return 0


def _refuse(reason: str, status: int) -> int:
    print(f"threadkeep: {reason}", file=sys.stderr)
    return status


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    return socket.create_server((settings.host, settings.port), family=family, backlog=2048)


async def _serve(settings: Settings, listener: socket.socket) -> None:
    keeper = await open_keeper(settings.store, model=settings.model, mcp=settings.mcp.servers)
    try:
        server = uvicorn.Server(_configuration(create_app(keeper, settings)))
        # uvicorn raises the signal that stopped it once more when it is done; with its own handler in place that does
        # nothing, and the store is still closed.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, server.handle_exit)
        what = f"{settings.store_without_secrets}, answered by {keeper.model_choice.name},"
        print(f"Threadkeep serves {what} on {_url(listener)}", flush=True)
        await server.serve(sockets=[listener])
    finally:
        await keeper.close()


def _configuration(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(app, log_level="warning", access_log=False, proxy_headers=False, server_header=False)


def _url(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
