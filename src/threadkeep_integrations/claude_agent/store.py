"""A `SessionStore` of the Claude Agent SDK: each session, and each of its subagents, is a conversation.

A line that has a `uuid` is stored once, whoever sends it again and from which process: lines are appended only behind
the entry up to which this store knows them all.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, PackageMissing, StaleHead
from threadkeep_integrations.claude_agent.lines import FORM, Line, groups, summaries, summary_part, title_of
from threadkeep_integrations.sessions import SessionLog, all_conversations

try:
    from claude_agent_sdk import fold_session_summary
except ImportError:
    raise PackageMissing("Sessions of the Claude Agent SDK need a package: pip install claude-agent-sdk") from None

MOST_KNOWN = 256
"""Of so many sessions the `uuid`s of all lines are held; those of another one are read when it goes on."""
TOLD_EVERY = 50
"""After so many steps at most the summary is stored again, so that it is found near the end."""
PROJECT, SESSION, SUBPATH = "claude_project", "claude_session", "claude_subpath"
Key = Mapping[str, Any]


class ClaudeSessions:
    """The sessions of a user, for `ClaudeAgentOptions(session_store=...)`. They are conversations like any other:
    shown, searched, exported, erased."""

    def __init__(self, conversations: Conversations, *, scope: Scope = LOCAL, **fields: Any) -> None:
        self._conversations = conversations
        self._scope = scope
        self._fields = fields
        self._transcripts: OrderedDict[str, _Transcript] = OrderedDict()

    async def append(self, key: Key, entries: Sequence[Line]) -> None:
        """Add lines of a session that are not there yet, in one step."""
        if entries:
            await self._transcript(key).append(entries)

    async def load(self, key: Key) -> list[Line] | None:
        """Return all lines of a session, oldest first; None if there is none."""
        return await self._transcript(key).log.records(FORM) or None

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        """Return the sessions of a project, with the time of their newest line in milliseconds."""
        return [
            {"session_id": found.metadata[SESSION], "mtime": _milliseconds(found)}
            async for found in self._found({PROJECT: project_key, SUBPATH: ""})
        ]

    async def list_session_summaries(self, project_key: str) -> list[dict[str, Any]]:
        """Return what the SDK has told of each session of a project as a whole."""
        told = []
        async for found in self._found({PROJECT: project_key, SUBPATH: ""}):
            session = found.metadata[SESSION]
            newest = await self._transcript({"project_key": project_key, "session_id": session}).log.newest(summaries)
            data = summaries(newest[1])[0] if newest else {}
            told.append({"session_id": session, "mtime": _milliseconds(found), "data": data})
        return told

    async def delete(self, key: Key) -> None:
        """Delete a session with all of its subagents, or, with a `subpath`, one of these alone."""
        wanted = {PROJECT: key["project_key"], SESSION: key["session_id"]}
        if key.get("subpath"):
            wanted[SUBPATH] = key["subpath"]
        found = [conversation async for conversation in self._found(wanted)]
        for each in sorted(found, key=lambda conversation: not conversation.metadata[SUBPATH]):
            await self._conversations.at(self._scope, each.id).delete()  # the session itself goes last

    async def list_subkeys(self, key: Key) -> list[str]:
        """Return the subagents of a session."""
        wanted = {PROJECT: key["project_key"], SESSION: key["session_id"]}
        paths = [str(conversation.metadata[SUBPATH]) async for conversation in self._found(wanted)]
        return [path for path in paths if path]

    async def _found(self, metadata: dict[str, str]) -> AsyncIterator[Conversation]:
        async for found in all_conversations(self._conversations, scope=self._scope, metadata=metadata):
            if all(isinstance(found.metadata.get(name), str) for name in (SESSION, SUBPATH)):
                yield found

    def _transcript(self, key: Key) -> "_Transcript":
        place = {PROJECT: key["project_key"], SESSION: key["session_id"], SUBPATH: key.get("subpath") or ""}
        name = "\n".join(part for part in place.values() if part)
        transcript = self._transcripts.pop(name, None)
        if transcript is None:
            fields = {**self._fields, "metadata": {**self._fields.get("metadata", {}), **place}}
            if place[SUBPATH]:
                fields["title"] = place[SUBPATH][:200]
            log = SessionLog(self._conversations, name, self._scope, **fields)
            transcript = _Transcript(log, key)
        self._transcripts[name] = transcript
        while len(self._transcripts) > MOST_KNOWN:
            self._transcripts.popitem(last=False)
        return transcript


class _Transcript:
    """One session, and what is known of it: the `uuid`s of its lines and its summary, as of the entry `head`."""

    def __init__(self, log: SessionLog, key: Key) -> None:
        self.log = log
        self._key = key
        self._lock = asyncio.Lock()
        self._head: int | None = None
        self._uuids: set[str] = set()
        self._summary: dict[str, Any] | None = None
        self._since = 0

    async def append(self, lines: Sequence[Line]) -> None:
        async with self._lock:
            while True:
                if self._head is None:
                    await self._read()
                known = set(self._uuids)
                new = [line for line in lines if _is_new(line, known)]
                if not new:
                    return
                try:
                    await self._add(new)
                except (StaleHead, ConversationNotFound):
                    self._head = None  # somebody else has written, or deleted it
                else:
                    self._uuids = known
                    return

    async def _read(self) -> None:
        self._head, messages = await self.log.whole()
        self._uuids = {line["uuid"] for line in FORM.records(messages) if isinstance(line.get("uuid"), str)}
        data = next((data for message in reversed(messages) for data in summaries(message)), None)
        self._summary = None if data is None else {"session_id": self._key["session_id"], "mtime": 0, "data": data}

    async def _add(self, lines: Sequence[Line]) -> None:
        messages = [message for group in groups(lines) for message in FORM.messages(group)]
        summary, title, had = self._summary, None, None
        if not self._key.get("subpath"):
            summary = dict(fold_session_summary(summary, self._key, list(lines)))
            known, told = self._summary["data"] if self._summary else {}, summary["data"]
            title, had = title_of(told), title_of(known)
            self._since += 1
            if told != known or self._since >= TOLD_EVERY:
                last, self._since = messages[-1], 0
                messages[-1] = last.model_copy(update={"parts": (*last.parts, summary_part(told))})
        fields = {} if title is None else {"title": title}
        self._head = await self.log.extend(messages, self._head or 0, **fields)
        self._summary = summary
        if title is not None and title != had:
            conversation = await self.log.conversation()
            if had is not None or conversation.value.title != title:
                await conversation.update(title=title)


def _is_new(line: Line, known: set[str]) -> bool:
    """Whether a line is not known yet; those without a `uuid` are always new."""
    uuid = line.get("uuid")
    if not isinstance(uuid, str):
        return True
    is_new = uuid not in known
    known.add(uuid)
    return is_new


def _milliseconds(conversation: Conversation) -> int:
    return int(conversation.updated_at.timestamp() * 1000)
