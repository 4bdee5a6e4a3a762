"""Which MCP servers there are, and how to reach them: one table `[mcp.servers.NAME]` of threadkeep.toml for each."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from threadkeep.tools.base import DEFAULT_TIMEOUT

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*")


def _check_name(name: str) -> str:
    """Return the name. No "__" and no "_" at its end, so that `server__tool` can be read in one way only."""
    if not _NAME.fullmatch(name) or len(name) > 40:
        raise ValueError(
            f"{name!r} cannot name an MCP server: a letter, then letters, digits, '-' or single '_', up to 40"
        )
    return name


McpServerName = Annotated[str, AfterValidator(_check_name)]


class McpServer(BaseModel):
    """One server: a command to start (stdio), or a URL to call (streamable HTTP).

    `approve` says which calls a person must agree to: all, none, or those of tools that the server does not declare
    harmless; never those of the tools in `allow`, by the names that the server gives them. `timeout` is in seconds, for
    one call.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str | None = Field(default=None, min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = Field(default=None, pattern=r"^https?://")
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    approve: bool | Literal["destructive"] = True
    allow: tuple[str, ...] = ()
    timeout: float = Field(default=DEFAULT_TIMEOUT, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("an MCP server has either a command or a url")
        if self.url is not None and (self.args or self.env or self.cwd):
            raise ValueError("args, env and cwd belong to a server with a command")
        if self.command is not None and self.headers:
            raise ValueError("headers belong to a server with a url")
        return self
