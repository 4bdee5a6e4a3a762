"""The connection to one MCP server, owned by one task: it connects, lists the tools, and connects again when lost.

Any sign that the connection or the list of tools has changed (a notification, a call that failed or timed out, the end
of the stream) wakes the owner, which lists the tools again. If that fails or takes too long, the connection is lost: it
is closed and opened again, with a new process for a server that we start. Calls come from any task.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp.client import IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.types import CONNECTION_CLOSED, Implementation, ToolListChangedNotification
from mcp.types import Tool as Listed

from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.mcp import Backoff, Connected, McpConnection, McpServer, McpState
from threadkeep.tools.outcome import failure
from threadkeep_integrations.mcp.program import Redaction, Stderr
from threadkeep_integrations.mcp.tool import outcome_from, tools_from
from threadkeep_integrations.mcp.transport import open_transport

_CONNECT_SECONDS = 30.0
_GRACE_SECONDS = 5.0
_LOOK_SECONDS = 15.0
_MOST_PAGES = 100

_log = logging.getLogger("threadkeep.mcp.connection")


class Connection(McpConnection):
    """One server as it is now: its state, its tools and a way to call them.

    The tools of a server that is down are still here; calling one says that the server is down.
    """

    def __init__(self, server: str, config: McpServer, backoff: Backoff) -> None:
        self.state = McpState(server=server)
        self.tools = ()
        self.tried = asyncio.Event()
        self._server = server
        self._config = config
        self._redacted = Redaction(config)
        self._backoff = backoff
        self._client: Client | None = None
        self._wake = anyio.Event()
        self._scope = anyio.CancelScope()

    async def run(self) -> None:
        wait: float | None = None
        with self._scope:
            while True:
                began = time.monotonic()
                reason = await self._stay_connected()
                _log.info("the MCP server %s is down: %s", self._server, reason)
                self._set_state(Connected.FAILED, reason)
                wait = self._backoff.after(time.monotonic() - began, wait)
                await anyio.sleep(wait)
                self._set_state(Connected.CONNECTING, reason)
        self._set_state(Connected.FAILED, "closed")

    def stop(self) -> None:
        self._scope.cancel()

    async def call(self, tool: str, args: Mapping[str, Any]) -> ToolOutcome:
        """Have the server run a tool, by the name that the server gave it."""
        if self._client is None:
            return failure(f"The tool server {self._server} is down. It is being tried again.")
        try:
            # The tool's own limit ends first; this one makes sure that the session forgets the call.
            limit = self._config.timeout + _GRACE_SECONDS
            return outcome_from(await self._client.call_tool(tool, dict(args), read_timeout_seconds=limit))
        except anyio.get_cancelled_exc_class():
            self._wake.set()  # the whole server may hang, and not only this call
            raise
        except MCPError as error:
            self._wake.set()
            if error.code == CONNECTION_CLOSED:
                return failure(
                    f"The connection to the tool server {self._server} was lost during the call. "
                    "It may or may not have taken effect."
                )
            return failure(f"The tool server {self._server} did not run the call: {self._redacted(str(error))}")

    async def _stay_connected(self) -> str:
        """Connect and serve until the connection is lost; return why."""
        stderr = Stderr(self._server, self._redacted)
        try:
            async with Client(
                open_transport(self._config, stderr, lambda: self._wake.set()),
                read_timeout_seconds=_CONNECT_SECONDS,
                message_handler=self._on_message,
                client_info=Implementation(name="threadkeep", version=version("threadkeep")),
                cache=None,
            ) as client:
                await self._keep_tools_listed(client)
        except Exception as error:
            return self._failure_reason(error, stderr)
        return "the connection was closed"

    async def _keep_tools_listed(self, client: Client) -> None:
        """List the tools, now and whenever something may have changed. Ends with the error of a lost connection."""
        async with anyio.create_task_group() as beside:
            beside.start_soon(self._listen, client)
            try:
                while True:
                    self._wake = anyio.Event()
                    with anyio.fail_after(_LOOK_SECONDS if self._client else _CONNECT_SECONDS):
                        listed = await _list_tools(client)
                    self.tools = tools_from(self._server, self._config, listed, self.call)
                    self._client = client
                    self._set_state(Connected.READY, None)
                    await self._wake.wait()
            finally:
                self._client = None
                self._set_state(Connected.FAILED, "the connection was lost")

    async def _listen(self, client: Client) -> None:
        """Wake the owner when the server says that its tools changed, if it supports subscriptions.

        Losing the subscription also wakes it. Older servers send notifications without one.
        """
        tools = client.server_capabilities.tools
        while tools is not None and tools.list_changed:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._wake.set()
            except SubscriptionLost:
                pass
            except (MCPError, ListenNotSupportedError, TimeoutError):
                return
            self._wake.set()
            await anyio.sleep(self._backoff.longest)

    def _failure_reason(self, error: BaseException, stderr: Stderr) -> str:
        """Return to operators why a connection failed: the first error in its group, and the program's last words."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        reason = self._redacted(f"{type(error).__name__}: {error}".removesuffix(": "))
        return f"{reason}; it wrote: {stderr.last}" if stderr.last else reason

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._wake.set()

    def _set_state(self, state: Connected, reason: str | None) -> None:
        self.state = replace(self.state, state=state, reason=reason, tools=len(self.tools))
        if state is not Connected.CONNECTING:
            self.tried.set()


async def _list_tools(client: Client) -> list[Listed]:
    """Return all tools of a server, page by page, up to a limit of pages."""
    page = await client.list_tools()
    found = list(page.tools)
    for _ in range(_MOST_PAGES):
        if page.next_cursor is None:
            break
        page = await client.list_tools(cursor=page.next_cursor)
        found.extend(page.tools)
    return found
