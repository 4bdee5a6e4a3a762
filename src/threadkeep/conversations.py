"""The front door: conversations are created, found, listed and searched here; `ConversationHandle` does the rest.

HTTP routes, dialects, the command line and Python programs (`threadkeep.open`) call this and nothing behind it. The
engine that answers, the store and the bus are private.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date
from types import MappingProxyType, TracebackType
from typing import Any, Self

from threadkeep import jobs
from threadkeep.administration import Administration
from threadkeep.background import supervised
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import is_chosen
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.share import Share
from threadkeep.conversation.value import checked
from threadkeep.conversation_handle import ConversationHandle, log_use
from threadkeep.errors import AlreadyExists, ConversationNotFound, InvalidId, InvalidValue, ModelError
from threadkeep.llm.base import Model, ModelOptions
from threadkeep.llm.choice import Choice
from threadkeep.retention.rules import Retention
from threadkeep.store.attachments import Attachments
from threadkeep.store.base import Store
from threadkeep.store.changes import NotifyChannel
from threadkeep.store.paging import check_limit, list_first_ones_first, with_large_facts
from threadkeep.store.shares import find_share
from threadkeep.store.values import ConversationPage, HitPage, ListFilter, Order
from threadkeep.tools.mcp import McpServers
from threadkeep.tools.registry import Registry
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.importer import OwnImporter
from threadkeep.transfer.jsonl import Written
from threadkeep.transfer.moving import ExportFormat, export
from threadkeep.turn.assistant import Assistant
from threadkeep.turn.attached import Attachable, attached
from threadkeep.turn.local_bus import LocalBus, list_topic
from threadkeep.turn.models import Models
from threadkeep.turn.notify_bridge import NotifyBridge
from threadkeep.turn.runner import TurnRunner

MCP_PATIENCE = 10.0


class Conversations:
    """Keeps conversations and answers in them. Close it, or use it in `async with`.

    `assistants` are those that answer, by name, and `assistant_of` tells who does in a conversation; `model_choice` is
    the default model and why it was chosen; `mcp` are the MCP servers whose tools they use; `admin` is what
    administrators and operators do. `admission` knows how many turns run here, and whether no more are begun;
    `attachments` are the files of messages, none where the store keeps none. `operations` tell of the store as a whole,
    and of a database that is away, in part or as a whole.
    """

    def __init__(
        self,
        runner: TurnRunner,
        assistants: Mapping[str, Assistant],
        model_choice: Choice,
        mcp: McpServers,
        retention: Retention | None = None,
    ) -> None:
        self._runner = runner
        self._deps = runner.deps
        self._store = runner.deps.store
        self.assistants = assistants
        self.model_choice = model_choice
        self.mcp = mcp
        self.assistant_of = self._deps.assistant_of
        self.admission = self._deps.admission
        self.attachments = self._deps.attachments
        self.operations = self._store.operations
        erase = [assistant.erase for assistant in assistants.values() if assistant.erase is not None]
        self.admin = Administration(runner, retention or Retention(), erase)
        self._store.note_read = self.admin.retention.note_read
        self._jobs: list[asyncio.Task[None]] = []
        self._bridge: asyncio.Task[None] | None = None

    # Conversations

    @checked
    async def create(
        self, *, scope: Scope = LOCAL, key: str | IdempotencyKey | None = None, **fields: Any
    ) -> ConversationHandle:
        """Create a conversation; `fields` are those of `NewConversation`: assistant, title, system, model, id... An id
        that was chosen is a name which the user alone has for it, here and in `get`: see `Scope.id_named`. With the
        same `key` it is created only once."""
        new = NewConversation(**fields)
        if new.id is not None:
            if scope.user != LOCAL.user and not is_chosen(new.id):
                raise InvalidId("Ids of this form are made here; choose another one, or none.")
            new = new.model_copy(update={"id": scope.id_named(new.id), "name": new.id})
        elif new.name is not None:
            raise InvalidValue("A name is given as the id.")
        self.check_assistant(new.assistant)
        ModelOptions.of(new.metadata)
        named = IdempotencyKey.of("create", key, new.model_dump(mode="json")) if isinstance(key, str) else key
        created = await self._store.create(scope, new, key=named)
        value = created.conversation
        log_use(value.id, "reused" if created.replayed else "created")
        return ConversationHandle(self._runner, scope, value.id, value, replayed=created.replayed)

    @checked
    async def get(self, conversation: str, *, scope: Scope = LOCAL) -> ConversationHandle:
        """Return a handle on a conversation that exists, by its id or the one that the user chose for it."""
        try:
            found = await self._store.get(scope, scope.id_named(conversation))
        except ConversationNotFound:
            found = await self._store.get(scope, conversation)
        log_use(found.id, "reused")
        return ConversationHandle(self._runner, scope, found.id, found)

    @checked
    async def get_or_create(self, conversation: str, *, scope: Scope = LOCAL, **fields: Any) -> ConversationHandle:
        """Return the conversation with the id that the user chose, as it is (`replayed`), or create it with `fields`.
        One whose id was made here is not created."""
        if scope.user != LOCAL.user and not is_chosen(conversation):
            return await self.get(conversation, scope=scope)
        for _ in range(2):  # somebody may create it between the two
            with suppress(ConversationNotFound):
                found = await self.get(conversation, scope=scope)
                return ConversationHandle(self._runner, scope, found.id, found.value, replayed=True)
            with suppress(AlreadyExists):
                return await self.create(scope=scope, id=conversation, **fields)
        raise ConversationNotFound

    async def named(self, scope: Scope, conversation: str) -> ConversationHandle:
        """Return a handle by an id, or by the one that the user chose, for which it is read: an import may have brought
        a conversation whose own id looks like that."""
        if (own := scope.id_named(conversation)) != conversation:
            with suppress(ConversationNotFound):
                return await self.get(conversation, scope=scope)
        return self.at(scope, own)

    def at(self, scope: Scope, conversation: str) -> ConversationHandle:
        """Return a handle without reading: its verbs raise `ConversationNotFound` if there is no such conversation."""
        return ConversationHandle(self._runner, scope, conversation)

    @checked
    async def list(
        self,
        *,
        scope: Scope = LOCAL,
        limit: int = 20,
        after: str | None = None,
        by_activity: bool = False,
        whole: bool = False,
        **filters: Any,
    ) -> ConversationPage:
        """Return a page of the user's conversations: those that stand first, then the others by their newest entry, or
        all `by_activity`; `filters` are the fields of `ListFilter`: assistant, status, archived, metadata, title. They
        come without metadata and instructions, which may be large, unless they are asked for `whole`."""
        where = ListFilter(**filters)
        if by_activity:
            page = await self._store.list(scope, where, limit=limit, after=after)
        else:
            page = await list_first_ones_first(self._store, scope, where, check_limit(limit), after)
        return await with_large_facts(self._store, page) if whole else page

    @checked
    async def search(
        self,
        text: str,
        *,
        scope: Scope = LOCAL,
        conversation: str | None = None,
        order: Order = "rank",
        limit: int = 20,
        after: str | None = None,
    ) -> HitPage:
        """Return a page of the user's messages and titles that hold every word of `text`, best or newest first.
        The syntax of `text` is described in `threadkeep.text.query`."""
        return await self._store.search(scope, text, conversation=conversation, order=order, limit=limit, after=after)

    async def shared(self, token: str) -> tuple[ConversationHandle, Share]:
        """Return the conversation of a link, and the link, which says up to which entry it may be read; `ShareNotFound`
        if the link is unknown, was removed or has expired, or if the conversation does not exist any more."""
        found, share = await find_share(self._store, self._deps.clock, token)
        return ConversationHandle(self._runner, found.scope, found.id, found), share

    @contextmanager
    def list_changes(self, scope: Scope) -> Iterator[Callable[[float], Awaitable[bool]]]:
        """Yield a function that waits at most so many seconds for a change in the user's list and returns whether it
        heard of one. It may miss changes by other processes."""
        with self._deps.bus.subscribed(scope.tenant, list_topic(scope.user)) as subscription:

            async def wait(seconds: float) -> bool:
                return bool(await subscription.get(seconds))

            yield wait

    # In bulk

    def export(
        self,
        selection: Selection,
        form: str,
        *,
        progress: Callable[[int], None] = lambda done: None,
        begun: Written | None = None,
    ) -> AsyncIterator[str | bytes]:
        """Yield a selection in a `Format`, as JSON Lines the rest of what was begun; `progress` is told how many
        entries are done. Markdown and HTML show current branches: of one conversation a page, of many an archive."""
        return export(self._store, self._deps.attachments, selection, ExportFormat(form), progress, begun)

    def importer(self, scope: Scope) -> OwnImporter:
        """Return an importer of conversations for a user."""
        return OwnImporter(self._store, scope, attachments=self._deps.attachments)

    @property
    def files(self) -> Attachments:
        """The files that messages may refer to."""
        if self.attachments is None:
            raise InvalidValue("This store keeps no files.")
        return self.attachments

    @checked
    async def attach(self, file: Attachable, *, scope: Scope = LOCAL) -> Attachment:
        """Keep a file (a path, or a name and bytes) and return it as a part to send; unsent, it goes after a day."""
        return await attached(self._deps, scope, file)

    # Who answers

    def check_assistant(self, name: str | None) -> None:
        """Raise InvalidValue if there is no assistant of this name; where nobody answers, any may answer later."""
        if name is not None and self.assistants and name not in self.assistants:
            raise InvalidValue(f"There is no assistant named {name}.")

    def tools_of(self, assistant: Assistant) -> Registry:
        """Return the tools that an assistant has now, those of MCP servers included."""
        return assistant.tools.plus(self.mcp.tools()) if assistant.mcp else assistant.tools

    def model(self, name: str | None, assistant: Assistant | None = None) -> Model:
        """Return the model that answers for an assistant (none: the first) if a conversation has chosen this name. It
        may have to be loaded, which takes a while; ModelError if that fails."""
        return self._deps.models(name, assistant or next(iter(self.assistants.values())))

    async def check_model(self, name: str | None) -> None:
        """Raise InvalidValue for a model that cannot be loaded, before a message is sent to it."""
        try:
            await self._deps.load_model(name, next(iter(self.assistants.values())))
        except ModelError as error:
            raise InvalidValue(str(error)) from None

    def beside(self, store: Store) -> "Conversations":
        """Return conversations on another store with the same assistants, models and limits of turns. They get no
        titles, nothing there is recovered or purged, and the caller closes the store."""
        runner = TurnRunner(replace(self._deps, store=store, bus=LocalBus()))
        return Conversations(runner, self.assistants, self.model_choice, self.mcp)

    async def count_beside(self, scope: Scope, store: Store) -> None:
        """Count what a user has used in a store beside this one, before it is thrown away."""
        if sums := await store.operations.usage.of(scope.tenant, scope.user, date.min, date.max):
            await self.operations.usage.add(scope, sums)

    # The life of the whole

    async def ping(self) -> None:
        """Return if the store can be read and written, else raise the error that a write would."""
        await self.operations.ping()

    def start(
        self,
        recover_every: float = jobs.RECOVER_EVERY,
        *,
        obey_retention: bool = False,
        audit_days: float = jobs.AUDIT_DAYS,
        session_timeout: float = jobs.SESSION_TIMEOUT,
        for_all: bool = True,
        channel: NotifyChannel | None = None,
        brought: Mapping[str, Callable[[], Awaitable[None]]] = MappingProxyType({}),
    ) -> Self:
        """Start the background work of `jobs`, finish erasures that were cut off, and listen to other processes, until
        this is closed. The rules of retention are obeyed only if asked to; another process does the work `for_all`, if
        not this. Without a channel of the store `channel` tells the others. Other packages `brought` work."""
        store, files = self._store, self._deps.attachments
        work: dict[str, Callable[[], Awaitable[None]]] = {
            "recovering turns": lambda: self._recover(recover_every),
            "releasing idle conversations": lambda: jobs.release_idle(store, session_timeout),
            **brought,
        }
        if for_all:
            work |= {
                "purging what was deleted": lambda: jobs.purge_deleted(store, files),
                "finishing erasures": lambda: jobs.finish_erasures(self.admin.erasure),
                "keeping the audit log": lambda: jobs.keep_audit(store, audit_days),
            }
        if for_all and files is not None:
            work["removing unused files"] = lambda: jobs.remove_unused_files(files, store.operations.unreached)
        if obey_retention:
            work["retention"] = lambda: jobs.obey_daily(self.admin.retention, for_all=for_all)
        self._jobs = [_background_task(name, each) for name, each in work.items()]
        if channel := store.operations.notify_channel() or channel:
            bridge = NotifyBridge(self._deps.bus, channel, self._runner.changed_elsewhere)
            self._bridge = _background_task("telling other processes", bridge.run)
        return self

    async def _recover(self, every: float) -> None:
        # A turn may need a tool of an MCP server: the servers get a moment to connect before turns are taken up.
        await self.mcp.settled(MCP_PATIENCE)
        await jobs.recover_turns(self._runner, every)

    async def finish_turns(self, patience: float) -> None:
        """Begin no new turns, wait at most so many seconds for running ones, and leave the rest for recovery."""
        self._deps.admission.close()
        await _cancel_and_wait(*self._jobs)
        await self.leave_turns(patience)

    async def leave_turns(self, patience: float) -> None:
        """Wait at most so many seconds for running turns, and leave the rest for recovery; for conversations that are
        `beside` others, whose limits they share."""
        await self._runner.close(patience)

    async def close(self, patience: float = 5.0) -> None:
        """Finish turns as `finish_turns` does, and close the store."""
        await self.finish_turns(patience)
        if self._bridge is not None:
            await _cancel_and_wait(self._bridge)
        await self.mcp.close()
        if isinstance(self._deps.models, Models):
            await self._deps.models.close()
        await self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _background_task(name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
    return asyncio.create_task(supervised(name, work), name=name)


async def _cancel_and_wait(*tasks: asyncio.Task[None]) -> None:
    """End tasks that would run for ever."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
