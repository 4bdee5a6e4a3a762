"""The settings of a process: one frozen object, made once at the edge and handed in. Nothing changes a setting after
the start. Where the values come from: see `cli/settings_loading.py`.
"""

import re
from ipaddress import ip_network
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError, ValidationInfo, model_validator
from pydantic import field_validator as checks

from threadkeep.conversation.value import Value
from threadkeep.conversion import IMAGE_SIDE
from threadkeep.llm.base import DEFAULTS, ModelOptions
from threadkeep.llm.prices import Price
from threadkeep.retention.rules import Retention
from threadkeep.rings import TABLES, load
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.caps import QUEUED_TURNS
from threadkeep.text.secrets import named_secrets, url_secrets, value_secrets
from threadkeep.tools.base import DEFAULT_TIMEOUT
from threadkeep.tools.mcp import McpServer, McpServerName

_ORIGIN = re.compile(r"https?://[a-z0-9.\-\[\]:]+")

MOST_WORKERS = 64
GIGABYTE = 1024**3
HOUR = 3600.0
MOST_SECONDS = 400 * 24 * HOUR
LogLevel = Literal["debug", "info", "warning", "error"]


def _split(value: object) -> object:
    """Return a list that was written with commas, as in a variable, as a list."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _check_origin(origin: str) -> str:
    if not _ORIGIN.fullmatch(origin):
        raise ValueError("an origin is http:// or https:// and a host, such as https://app.example.org")
    return origin


def _check_network(network: str) -> str:
    try:
        ip_network(network, strict=False)
    except ValueError:
        raise ValueError("a proxy is an address or a network, such as 10.0.0.0/8") from None
    return network


Networks = Annotated[tuple[Annotated[str, AfterValidator(_check_network)], ...], BeforeValidator(_split)]
AssistantName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
Origins = Annotated[tuple[Annotated[str, AfterValidator(_check_origin)], ...], BeforeValidator(_split)]

Names = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], BeforeValidator(_split)]


def _limit(default: float, description: str) -> Any:
    """Return the field of a limit."""
    return Field(default=default, ge=0, allow_inf_nan=False, description=f"{description}; 0 is no limit")


class McpSettings(Value):
    """Everything about MCP: the servers by name."""

    servers: dict[McpServerName, McpServer] = Field(default_factory=dict)


class DialectSettings(Value):
    """Which assistant answers in a conversation that a dialect begins; where it is missing, the first one does."""

    sessions: str = Field(default="skillian", min_length=1)
    chat: str = Field(default="chat", min_length=1)
    stateless: str = Field(default="market", min_length=1)
    query: str = Field(default="shop", min_length=1)


class AssistantSettings(Value):
    """An assistant: one that a Python file has (`program`, as `module:name`), or one that needs no program: what it is
    told, what it may use, and how much of a history it sees."""

    program: str | None = Field(default=None, pattern=r"^[\w.]+:[\w.]+$")
    instructions: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    model: str | None = Field(default=None, max_length=200)
    options: ModelOptions = DEFAULTS
    tools: tuple[str, ...] = ()
    mcp: bool = False
    index: str | None = Field(default=None, min_length=1)
    newest_messages: int | None = Field(default=None, ge=1)
    history_tokens: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> Self:
        if self.program is not None and self.model_fields_set != {"program"}:
            raise ValueError("an assistant with a program has everything else there")
        if self.program is None and not self.instructions:
            raise ValueError("an assistant needs instructions, or a program as module:name")
        return self


class Settings(Value):
    """What can be set. Each field is a key of `threadkeep.toml`, and the variable `THREADKEEP_<FIELD>` of the
    environment unless it is a table."""

    store: str = Field(
        default="sqlite:///threadkeep.db", min_length=1, description="where conversations are kept, as a URL"
    )
    files: str | None = Field(
        default=None,
        min_length=1,
        description="where attached files are kept: `file:///folder`, `s3://bucket/path`; else in the store",
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="the address to listen on")
    port: int = Field(default=8000, ge=0, le=65535, description="the port to listen on; 0 takes any free one")
    workers: Annotated[int, Field(ge=1, le=MOST_WORKERS)] | Literal["auto"] = Field(
        default=1, description="how many processes serve together; `auto` is one for each core"
    )
    root_path: str = Field(
        default="",
        max_length=200,
        pattern=r"^(/[A-Za-z0-9._~-]+)*$",
        description="the path under which a proxy serves this server, such as `/threads`; none: its root",
    )
    auth: Literal["none", "keys"] = Field(
        default="none", description="who may come in: `none` asks nobody and serves this machine only, `keys` asks"
    )
    model: str | None = Field(
        default=None, max_length=200, description="the model that answers, as `provider:model`; else what is found"
    )
    default_assistant: AssistantName = Field(
        default="chat", description="who answers where a conversation names nobody, such as a file of another program"
    )
    models: Names = Field(
        default=(),
        description="what conversations may choose beside that one, the assistants' own and `demo`; `openai:*` is all "
        "that the provider lists, a path only if it stands here",
    )
    token_counter: str | None = Field(
        default=None,
        max_length=200,
        description="a Python function, as `module:name`, that counts the tokens of a message; else they are estimated",
    )
    image_side: int = Field(
        default=IMAGE_SIDE,
        ge=0,
        le=10_000,
        description="the longest side, in pixels, of an image that a model is shown, made smaller from the stored one; "
        "0 shows it as it is",
    )
    cors_origins: Origins = Field(
        default=(), description="other sites whose pages may call the API, such as `https://app.example.org`"
    )
    trusted_proxies: Networks = Field(
        default=(),
        description="proxies in front, as addresses or networks: `X-Forwarded-For` is believed only from them",
    )
    log_level: LogLevel = Field(default="info", description="the least important lines that are logged")
    killable: bool = Field(
        default=False,
        description="whether the page has a button that kills this server, which then starts again: to see what is "
        "left; only without authentication",
    )
    share: bool | None = Field(
        default=None,
        description="whether people may make links by which anybody can read a conversation; else only without "
        "authentication, where whoever reaches this server reads everything anyway",
    )
    log_content: bool = Field(default=False, description="whether the log may hold what people and models say")
    session_timeout: float = Field(
        default=1800, gt=0, allow_inf_nan=False, description="idle seconds until what memory holds for somebody goes"
    )
    operator_tenant: str | None = Field(
        default=None,
        max_length=200,
        description="the tenant of whoever operates the server: its admins may read `/metrics`, which counts everybody",
    )
    audit_days: float = _limit(365, "how many days the audit log goes back")
    audit_key: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="what the head of the audit log is signed with; else the store's secret",
    )
    login_idle_seconds: float = Field(
        default=8 * HOUR, gt=0, le=MOST_SECONDS, description="how long a browser stays signed in while nobody uses it"
    )
    login_max_seconds: float = Field(
        default=7 * 24 * HOUR, gt=0, le=MOST_SECONDS, description="when a browser must sign in again in any case"
    )
    stop_patience: float = Field(
        default=10, ge=0, le=3600, description="seconds that running turns get when the server is told to stop"
    )
    tool_timeout: float = Field(
        default=DEFAULT_TIMEOUT,
        gt=0,
        allow_inf_nan=False,
        description="seconds that a tool may take unless it says otherwise, and a script to find an answer",
    )
    freeze_limit: float = _limit(
        30, "seconds that the server may stand still before it ends itself, for a supervisor to start it anew"
    )
    max_message_bytes: int = Field(default=MAX_BYTES, ge=1, description="how large one message may be")
    max_body_bytes: int = _limit(8 * MAX_BYTES, "how large the body of a request may be")
    max_import_bytes: int = _limit(1024 * MAX_BYTES, "how large a file may be that is imported over HTTP")
    max_file_bytes: int = _limit(20 * MAX_BYTES, "how large one file may be that is attached")
    max_attached_bytes: int = _limit(50 * MAX_BYTES, "how large the files of one message may be together")
    user_file_bytes: int = _limit(GIGABYTE, "files that one user may keep")
    tenant_file_bytes: int = _limit(0, "files that one tenant may keep; the same content counts once")
    user_requests_per_second: float = _limit(200, "requests of one user, on average over ten seconds")
    user_turns: int = _limit(200, "turns of one user that run at a time")
    queued_turns: int = _limit(QUEUED_TURNS, "messages that may wait in one conversation")
    user_streams: int = _limit(2000, "event streams of one user that are open at a time")
    user_conversations: int = _limit(1_000_000, "conversations that one user may keep")
    user_storage_bytes: int = _limit(100 * GIGABYTE, "text that one user may keep, before compression")
    tenant_requests_per_second: float = _limit(0, "requests of one tenant, on average over ten seconds")
    tenant_turns: int = _limit(0, "turns of one tenant that run at a time")
    tenant_streams: int = _limit(0, "event streams of one tenant that are open at a time")
    tenant_conversations: int = _limit(0, "conversations that one tenant may keep")
    tenant_storage_bytes: int = _limit(0, "text that one tenant may keep, before compression")
    spool_dir: str | None = Field(
        default=None,
        min_length=1,
        description="a folder of this instance alone, in which messages are kept while PostgreSQL is away",
    )
    spool_max_bytes: int = Field(
        default=GIGABYTE, ge=0, description="how much text the spool may hold; what goes beyond it is refused"
    )
    spool_turns: Literal["answer", "wait"] = Field(
        default="answer",
        description="whether turns are answered in an outage, with what the instance knows, or wait for the end of it",
    )
    lease_seconds: float = Field(
        default=10,
        ge=1,
        le=600,
        description="seconds without a sign of life after which a turn is taken up by another process",
    )
    outage_after: float = Field(
        default=3, gt=0, le=60, description="seconds after which a database that does not answer is taken for away"
    )
    ready_in_outage: bool = Field(
        default=True, description="whether a server with a spool is ready for requests while the database is away"
    )
    max_history_length: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="how many messages a model sees where its assistant sets no window, or a client may bring",
    )
    storage_dir: str = Field(
        default="data/sessions", min_length=1, description="the folder that the store `files:` stands for"
    )
    skills_dir: str = Field(
        default="skills", min_length=1, description="the folder that the assistant `skill_creator` saves skills in"
    )
    assistants: dict[AssistantName, AssistantSettings] = Field(
        default_factory=dict, description="the table of assistants that are made of settings alone"
    )
    options: ModelOptions = Field(
        default=DEFAULTS, description="the table of options of the model, such as `temperature`, for all assistants"
    )
    prices: dict[str, Price] = Field(
        default_factory=dict,
        description="the table of prices of a million tokens, by patterns of names of models; without it nothing is "
        "said of costs",
    )
    mcp: McpSettings = Field(default_factory=McpSettings, description="the table of MCP servers")
    retention: Retention = Field(
        default_factory=Retention,
        description="the table of rules for how long conversations are kept; the variable holds it as JSON",
    )
    dialects: DialectSettings = Field(
        default_factory=DialectSettings, description="the table of assistants that answer in each dialect"
    )
    identity: Any = Field(default=None, description="the table of ways to sign in beside API keys; `auth` is `keys`")
    budgets: Any = Field(
        default=None, description="the table of what users and tenants may use of models in a day and in a month"
    )
    webhooks: Any = Field(
        default=None, description="the table of addresses that get what happens, beside those that administrators add"
    )
    protocols: Any = Field(
        default=None,
        description="the table of other products' protocols that are spoken; a variable names them, or `all`",
    )

    @model_validator(mode="before")
    @classmethod
    def _in_storage_dir(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("store") != "files:":
            return given
        folder = given.get("storage_dir", cls.model_fields["storage_dir"].default)
        return {**given, "store": f"files:///{quote(str(folder))}"}

    @checks("budgets", "identity", "protocols", "webhooks", mode="before")
    @classmethod
    def _read_by_ring(cls, given: Any, about: ValidationInfo) -> Any:
        """Return a table, or a variable in its place, as the package reads it that it is for."""
        if not isinstance(given, dict | str):
            return given
        name = str(about.field_name)
        try:
            return load(TABLES, name, f"the table [{name}]").model_validate(given)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[0]
            raise ValueError(f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from None

    @model_validator(mode="after")
    def _asks_who_comes(self) -> Self:
        if self.identity is not None and self.auth == "none":
            raise ValueError('[identity] needs auth = "keys": without it nobody is asked who they are')
        return self

    @property
    def may_be_killed(self) -> bool:
        """Whether whoever sits at this machine may kill the server from its page."""
        return self.killable and self.auth == "none"

    @property
    def may_share(self) -> bool:
        """Whether there are share links."""
        return self.auth == "none" if self.share is None else self.share

    @property
    def secrets(self) -> frozenset[str]:
        """The values that no log line may tell: keys, headers of tool servers, credentials in addresses."""
        found = [*url_secrets(self.store), *url_secrets(self.files or "")]
        found += [self.audit_key.get_secret_value()] if self.audit_key else []
        for server in self.mcp.servers.values():
            found += [*named_secrets(server.env), *url_secrets(server.url or "")]
            found += [secret for value in server.headers.values() for secret in value_secrets(value)]
        return frozenset([*found, *(self.identity.secrets if self.identity else ())])

    @property
    def store_without_secrets(self) -> str:
        """The store's URL as it may be shown: no password, no options."""
        parts = urlsplit(self.store)
        user, at, address = parts.netloc.rpartition("@")
        shown = parts._replace(netloc=f"{user.partition(':')[0]}{at}{address}", query="", fragment="")
        return shown.geturl() if parts.netloc else self.store.partition("?")[0]
