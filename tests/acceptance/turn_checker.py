"""Starts again after a process that ran turns was killed, as its next start would, and names every broken promise."""

import asyncio
from pathlib import Path
from typing import Any

from tests.acceptance.turn_player import QUESTIONS, STORY, Player
from tests.told import data_of, name_of
from tests.unit.turn.processes import PATIENCE, ended
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, MessageStatus
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ThreadkeepError
from threadkeep.store.values import LogPage
from threadkeep.testing.stores import whole_log
from threadkeep.turn.follow import events_of

Line = dict[str, Any]
ENDS = {TurnState.COMPLETED, TurnState.INTERRUPTED, TurnState.FAILED}


class TurnChecker:
    """Collects violations of the promises for one conversation whose process was killed (`kills` times)."""

    def __init__(self, player: Player, lines: list[Line], charges: Path, *, kills: int = 1) -> None:
        self._player = player
        self._lines = lines
        self._charges = charges
        self._kills = kills
        self.violations: list[str] = []

    def _expect(self, holds: bool, what: str) -> None:
        if not holds:
            self.violations.append(what)

    async def check(self) -> None:
        """Start again, send again what the client sent, and look at everything."""
        conversations = await self._player.open()
        try:
            async with asyncio.timeout(PATIENCE):
                chat = await self._player.chat(conversations)
                await self._send_again(chat)
                end = await ended(await chat.send("And the next one? [story]"))
                self._expect(name_of(end) == "turn.completed", f"the next message is not answered: {end}")
                await self._look(conversations, chat)
        except (ThreadkeepError, TimeoutError) as error:
            self.violations.append(f"{type(error).__name__}: {error}")
        await self._player.close()

    async def _send_again(self, chat: ConversationHandle) -> None:
        """Send both questions again with their keys, and wait until they are answered."""
        accepted = {line["accepted"]: line["turn"] for line in self._lines if "accepted" in line}
        for number, question in enumerate(QUESTIONS):
            turn = await chat.send(question, key=f"question {number}")
            if number in accepted:
                self._expect(turn.replayed, f"question {number} was accepted, but is not there")
                self._expect(turn.number == accepted[number], f"question {number} is turn {turn.number} now")
            await ended(turn)

    async def _look(self, conversations: Conversations, chat: ConversationHandle) -> None:
        entries, draft = await whole_log(conversations._store, LOCAL, chat.id)
        self._expect([e.seq for e in entries] == list(range(1, len(entries) + 1)), "gaps in the log")
        self._expect(draft is None, "something is still being written")
        self._expect(not await conversations._store.turns(LOCAL, chat.id), "a turn is still open")
        self._check_turns(entries)
        self._check_seen(entries)
        self._check_texts(entries)
        self._check_calls(entries, chat.id)

    def _check_turns(self, entries: tuple[Entry, ...]) -> None:
        last: dict[int | None, TurnChange] = {e.turn: e.body for e in entries if isinstance(e.body, TurnChange)}
        self._expect(len(last) == 3, f"there are {len(last)} turns")
        for number, change in last.items():
            # One death in mid-text, or in a tool, is made good; only a turn that saw several may be left as it is.
            allowed = {TurnState.COMPLETED} if self._kills <= 1 else ENDS
            self._expect(change.state in allowed, f"turn {number} ended as {change.state}: {change.failure}")
            self._expect(change.failure is None, f"turn {number} failed: {change.failure}")

    def _check_seen(self, entries: tuple[Entry, ...]) -> None:
        """Everything that was shown is in the log, as it was shown."""
        stored = [
            event for entry in entries for event in events_of(LogPage(entries=(entry,)), Cursor(seq=entry.seq - 1))
        ]
        told = [(name_of(event), data_of(event)) for event in stored]
        texts = {entry.body.id: entry.body.content for entry in entries if isinstance(entry.body, Message)}
        shown: dict[str, str] = {}
        for line in self._lines:
            if "created" in line:
                shown = {}  # another process, whose reader begins anew
            match line.get("event"):
                case None | "message.started":
                    continue
                case "text.delta":
                    message = line["data"]["message"]
                    shown[message] = text = shown.get(message, "") + line["data"]["text"]
                    kept = texts.get(message, "").startswith(text)
                    self._expect(kept, f"{text!r} was shown, but is not in the log")
                case name:
                    self._expect((name, line["data"]) in told, f"{name} was shown, but is not in the log: {line}")

    def _check_texts(self, entries: tuple[Entry, ...]) -> None:
        """Answers are whole or marked; a question is there once."""
        said = [entry.body for entry in entries if isinstance(entry.body, Message)]
        story = "".join(STORY)
        for message in said:
            if message.role == "assistant" and message.status is MessageStatus.COMPLETE:
                whole = message.content == story or bool(message.tool_calls)
                self._expect(whole, f"half an answer is not marked: {message.content!r}")
        for question in QUESTIONS:
            times = sum(message.content == question for message in said)
            self._expect(times == 1, f"{question!r} is there {times} times")

    def _check_calls(self, entries: tuple[Entry, ...], conversation: str) -> None:
        """Nothing was charged twice, and what the log says about a charge is true."""
        lines = self._charges.read_text().splitlines() if self._charges.exists() else []
        charged = [line.split()[1] for line in lines if line.split()[0] == conversation]
        self._expect(len(charged) <= 1, f"charged {len(charged)} times")
        said = [entry.body for entry in entries if isinstance(entry.body, Message)]
        made = [call for message in said for call in message.tool_calls]
        results = {m.tool_result.tool_call_id: m for m in said if m.tool_result is not None}
        self._expect({call.id for call in made} == set(results), "calls and results do not pair up")
        self._expect({call.id for call in made} >= set(charged), "a call ran that is not in the log")
        for call in made:
            result = results.get(call.id)
            if result is None or result.tool_result is None or call.name != "charge":
                continue
            if result.tool_result.error is None:
                self._expect(call.id in charged, "the log says charged, the file does not")
            else:
                self._expect(result.tool_result.error == "outcome unknown", f"{result.tool_result.error}")
