"""LangGraph's checkpoints in the log: a thread is a conversation of a user, by the id that the application chose.

Nothing is written twice: a channel is kept once per version, a list as what was added to it. New messages of the state
are messages of the conversation, which people see, search and export. A thread is read once, and then only what others
have added since. Everything that happens to the conversation (deletion, retention, export, tenants) happens to its
checkpoints.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from random import random
from typing import Any, Self, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.constants import START

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.runtime import open_unanswered
from threadkeep_integrations.langgraph.forms import StrictSerializer
from threadkeep_integrations.langgraph.reading import ThreadReader, config_of, matches
from threadkeep_integrations.langgraph.threads import Threads
from threadkeep_integrations.langgraph.writing import CheckpointWriter, kept, title_of, written
from threadkeep_integrations.loop_thread import LoopThread

T = TypeVar("T")


class LogCheckpointer(BaseCheckpointSaver[str]):
    """A checkpointer for the threads of one user; `at` returns one for another user.

    `messages` is the channel whose messages become messages of the conversation (none: no channel). Objects of a
    state's own classes come back only if they are `allowed`. For calls from other threads it uses the event loop that
    it was made in.
    """

    def __init__(
        self,
        conversations: Conversations,
        *,
        scope: Scope = LOCAL,
        messages: str | None = "messages",
        allowed: Collection[type | tuple[str, ...]] = (),
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde or StrictSerializer(allowed))
        self._loop = asyncio.get_running_loop()
        self._messages = messages
        self._threads = Threads(conversations, scope)

    @classmethod
    @contextmanager
    def opened(cls, url: str, **options: Any) -> Iterator[Self]:
        """Open a store for a program that is not asynchronous, and close it at the end of the block."""

        async def made() -> Self:
            return cls(await open_unanswered(url), **options)

        with LoopThread() as background:
            saver: Self = background.run(made())
            try:
                yield saver
            finally:
                with suppress(CancelledError):
                    background.run(saver._threads.conversations.close())

    def at(self, scope: Scope) -> Self:
        """Return a checkpointer for the threads of another user."""
        clone = copy.copy(self)
        clone._threads = self._threads.at(scope)
        return clone

    # Asynchronous

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._here(self._get(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for found in await self._here(self._list(config, filter, before, limit)):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self._here(self._put(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self._here(self._put_writes(config, writes, (task_id, task_path)))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._here(self._threads.delete(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Forget the checkpoints of runs. What they said stays in the log, and in the conversation."""
        await self._here(self._forget_runs([*run_ids]))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        (mark,) = kept({"thread": target_thread_id})
        await self._here(self._threads.copy(source_thread_id, target_thread_id, mark))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Forget all checkpoints but the newest, or delete the conversations. What was said stays in the log, and what
        a newest checkpoint is made of, too."""
        if strategy not in ("keep_latest", "delete"):
            raise InvalidValue("A strategy is keep_latest or delete.")
        await self._here(self._prune([*thread_ids], deletes=strategy == "delete"))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await self._here(self._delta_history(config, channels))

    # Synchronous, from another thread than that of the event loop

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._from_outside(self._get(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        yield from self._from_outside(self._list(config, filter, before, limit))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self._from_outside(self._put(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self._from_outside(self._put_writes(config, writes, (task_id, task_path)))

    def delete_thread(self, thread_id: str) -> None:
        self._from_outside(self.adelete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._from_outside(self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._from_outside(self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self._from_outside(self.aprune(thread_ids, strategy=strategy))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self._from_outside(self._delta_history(config, channels))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return a version that is greater, and that no other branch of the thread has."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random():016}"  # noqa: S311

    # How it is done

    async def _get(self, config: RunnableConfig) -> CheckpointTuple | None:
        name, namespace, checkpoint = _place(config)
        reader = await self._reader(name)
        return None if reader is None else reader.found(namespace, checkpoint)

    async def _reader(self, name: str) -> ThreadReader | None:
        thread = await self._threads.named(name).refreshed()
        return None if thread is None else ThreadReader(thread, name, self.serde)

    async def _list(
        self,
        config: RunnableConfig | None,
        wanted: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Sequence[CheckpointTuple]:
        given = {} if config is None else config["configurable"]
        if "thread_id" in given:
            readers = [await self._reader(given["thread_id"])]
        else:
            every = [known async for known in self._threads.all()]
            readers = [ThreadReader(known.thread, known.thread.name, self.serde) for known in every]
        asked = given.get("checkpoint_ns"), given.get("checkpoint_id")
        end = None if before is None else before["configurable"].get("checkpoint_id")
        found = [
            (saved.id, namespace, saved, reader)
            for reader in readers
            if reader is not None
            for namespace, saved in reader.listed(*asked, before=end)
            if matches(reader.metadata(saved), wanted)
        ]
        found.sort(key=lambda one: one[:2], reverse=True)
        return [reader.whole(namespace, saved) for _, namespace, saved, reader in found[:limit]]

    async def _put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        name, namespace, parent = _place(config)
        known = self._threads.named(name)
        async with known.putting:
            thread = known.thread
            if parent is not None and parent not in thread.saved.get(namespace, {}):
                thread = await known.refreshed() or known.thread
            if known.writing and self._messages not in checkpoint["channel_values"]:
                await asyncio.wait(known.writing)  # the messages of the state may be known from there alone
            writer = CheckpointWriter(thread, self.serde, self._messages)
            more = get_checkpoint_metadata(config, metadata)
            added = writer.addition((namespace, parent), checkpoint, more, new_versions)
            first = () if thread.name else kept({"thread": name})
            title = title_of(checkpoint["channel_values"].get(START), self._messages) if first else None
            await known.append((*added.messages, *first, *added.records), added.parent, title)
            thread.handed |= added.handed
            for told in thread.returned, thread.wrote:
                told.pop((namespace, parent or ""), None)
        return config_of(name, namespace, checkpoint["id"])

    async def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: tuple[str, str]
    ) -> None:
        name, namespace, checkpoint = _place(config)
        if checkpoint is None:
            raise InvalidValue("Writes belong to a checkpoint: checkpoint_id is missing.")
        known, place, writes = self._threads.named(name), (namespace, checkpoint), [*writes]
        known.thread.tell_writes(place, writes)
        if writes and not known.thread.knows_writes(place, task[0], writes):
            writing = asyncio.ensure_future(known.append(written(place, task, writes, self.serde)))
            known.writing.add(writing)
            writing.add_done_callback(known.writing.discard)
            await asyncio.shield(writing)

    async def _forget_runs(self, runs: Sequence[str]) -> None:
        if not runs:
            return
        async for known in self._threads.all():
            listed = (saved for namespace in known.thread.saved for saved in known.thread.checkpoints(namespace))
            if any(saved.metadata.get("run_id") in runs for saved in listed):
                await known.append(kept({"without_runs": runs}))

    async def _prune(self, names: Sequence[str], *, deletes: bool) -> None:
        for name in names:
            if deletes:
                await self._threads.delete(name)
                continue
            known = self._threads.named(name)
            thread = await known.refreshed()
            newest = {} if thread is None else {each: thread.newest(each) for each in thread.saved}
            if only := {namespace: saved.id for namespace, saved in newest.items() if saved is not None}:
                await known.append(kept({"only": only}))

    async def _delta_history(
        self, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        name, namespace, checkpoint = _place(config)
        reader = await self._reader(name)
        return (
            {each: {"writes": []} for each in channels}
            if reader is None
            else reader.delta_history(namespace, checkpoint, channels)
        )

    # Which event loop

    async def _here(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the event loop of the conversations, from whichever."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def _from_outside(self, work: Coroutine[Any, Any, T]) -> T:
        with suppress(RuntimeError):
            if asyncio.get_running_loop() is self._loop:
                work.close()
                raise InvalidValue(
                    "In an event loop a graph is asked by ainvoke and astream, not by invoke and stream."
                )
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _place(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Return the thread, the namespace and the checkpoint that LangGraph names."""
    given = config["configurable"]
    return str(given["thread_id"]), given.get("checkpoint_ns", ""), given.get("checkpoint_id")
