"""Looks at what a killed writer left behind, and names everything that is not as promised."""

from collections import Counter
from typing import Any

from tests.acceptance.script import ANSWER, draft_after, step, texts_after
from tests.acceptance.writer import LEASE, SHARED, said
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import ConversationNotFound
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Begin
from threadkeep.testing.stores import whole_log

Ack = dict[str, Any]


def _contents(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.body.content for entry in entries if isinstance(entry.body, Message)]


class Checker:
    """Collects violations of the promises for one killed writer."""

    def __init__(self, store: Store, acks: list[Ack]) -> None:
        self._store = store
        self._acks = acks
        self.violations: list[str] = []
        self.kept: dict[str, int] = {}

    def _expect(self, holds: bool, what: str) -> None:
        if not holds:
            self.violations.append(what)

    def _steps(self, conversation: str) -> int:
        """Return how many steps of a conversation were acknowledged."""
        return sum(ack["conversation"] == conversation for ack in self._acks)

    async def check(self, conversation: str, *, was_created: bool) -> None:
        """Check one conversation, then take up what was left open in it, as the next process would."""
        try:
            entries, draft = await whole_log(self._store, LOCAL, conversation)
        except ConversationNotFound:
            self._expect(not was_created, f"{conversation}: the acknowledged conversation is gone")
            return
        steps = self._steps(conversation)
        seqs = [entry.seq for entry in entries]
        self._expect(seqs == list(range(1, len(seqs) + 1)), f"{conversation}: gaps in {seqs}")
        stored = _contents(entries)
        text = draft.text if draft else None
        states = [(texts_after(conversation, done), draft_after(conversation, done)) for done in (steps, steps + 1)]
        self._expect(
            (stored, text) in states,
            f"{conversation}: after {steps} acknowledged steps there are {stored[-5:]} and the draft {text!r}",
        )
        self._check_acknowledged(conversation, {entry.seq: entry for entry in entries})
        await self._check_branch(conversation, stored)
        await self._retry(conversation, steps)
        await self._recover(conversation)

    def _check_acknowledged(self, conversation: str, by_seq: dict[int, Entry]) -> None:
        for ack in self._acks:
            one = step(ack["conversation"], ack["step"])
            if ack["conversation"] != conversation or one.kind == "shared":
                continue
            found = _contents(tuple(by_seq[seq] for seq in ack["seqs"] if seq in by_seq))
            self._expect(
                found == list(one.texts), f"{conversation}: step {one.number} is not at {ack['seqs']}: {found}"
            )

    async def _check_branch(self, conversation: str, stored: list[str]) -> None:
        """The branch holds every message once, in order, and the newest is found by search."""
        branch = _contents(await self._store.newest(LOCAL, conversation, limit=1000))
        self._expect(branch == stored[-1000:], f"{conversation}: the branch is not the log")
        acked = [ack["step"] for ack in self._acks if ack["conversation"] == conversation]
        named = [number for number in acked if step(conversation, number).kind in ("one", "three", "begin")]
        if named:
            hits = (await self._store.search(LOCAL, f"step{named[-1]}x ", conversation=conversation)).items
            texts = len(step(conversation, named[-1]).texts)
            self._expect(len(hits) == texts, f"{conversation}: step {named[-1]} is found {len(hits)} times")

    async def _retry(self, conversation: str, steps: int) -> None:
        """Send again, with their keys, the newest acknowledged steps and the one whose fate is unknown."""
        for number in range(max(0, steps - 12), steps + 1):
            one = step(conversation, number)
            if one.key is None:
                continue
            before = await self._entries(conversation)
            place = SHARED if one.kind == "shared" else conversation
            if one.kind == "begin":
                begin = Begin(message=said(one.texts[0]), owner="retry", lease_for=LEASE, key=one.key)
                begun = await self._store.begin(LOCAL, conversation, begin)
                replayed, seqs = begun.replayed, [entry.seq for entry in begun.entries]
            else:
                append = Append(bodies=tuple(said(text) for text in one.texts), key=one.key)
                appended = await self._store.append(LOCAL, place, append)
                replayed, seqs = appended.replayed, [entry.seq for entry in appended.entries]
            for ack in self._acks:
                if (ack["conversation"], ack["step"]) == (conversation, number):
                    self._expect(replayed, f"{conversation}: step {number} was stored again")
                    self._expect(seqs == ack["seqs"], f"{conversation}: step {number} replays as {seqs}")
            grown = await self._entries(conversation) - before
            self._expect(not (replayed and grown), f"{conversation}: the replay of step {number} grew the log")
        stored = _contents((await whole_log(self._store, LOCAL, conversation))[0])
        twice = [text for text, times in Counter(stored).items() if times > 1 and text != ANSWER]
        self._expect(not twice, f"{conversation}: {twice} are there twice")

    async def _entries(self, conversation: str) -> int:
        return (await self._store.get(LOCAL, conversation)).entries

    async def _recover(self, conversation: str) -> None:
        """Take up the turn that the dead writer left, keep its partial text, and settle it."""
        for turn in await self._store.turns(LOCAL, conversation):
            lease = await self._store.take(turn, "recovery", LEASE)
            _, draft = await whole_log(self._store, LOCAL, conversation)
            bodies: tuple[Message, ...] = ()
            if draft is not None:
                status = MessageStatus.INTERRUPTED
                bodies = (Message(id=draft.message, role=Role.ASSISTANT, content=draft.text, status=status),)
            settle = TurnChange(state=TurnState.INTERRUPTED)
            await self._store.append(LOCAL, conversation, Append(bodies=bodies, lease=lease, settle=settle))
        entries, draft = await whole_log(self._store, LOCAL, conversation)
        self._expect(draft is None, f"{conversation}: a draft is left after recovery")
        self._expect([entry.seq for entry in entries] == list(range(1, len(entries) + 1)), f"{conversation}: gaps")
        self.kept[conversation] = len(entries)

    async def check_shared(self, after: int) -> int:
        """Check what all writers append to: no gap, every acknowledged text at its place; return its new end."""
        entries: list[Entry] = []
        last = after
        while page := (await self._store.log(LOCAL, SHARED, Cursor(seq=last), limit=1000)).entries:
            entries += page
            last = page[-1].seq
        self._expect([e.seq for e in entries] == list(range(after + 1, last + 1)), "shared: gaps in the numbers")
        by_seq = {entry.seq: entry for entry in entries}
        for ack in self._acks:
            one = step(ack["conversation"], ack["step"])
            if one.kind == "shared":
                found = _contents(tuple(by_seq[seq] for seq in ack["seqs"] if seq in by_seq))
                self._expect(found == list(one.texts), f"shared: {one.texts} is not at {ack['seqs']}: {found}")
        twice = [text for text, times in Counter(_contents(tuple(entries))).items() if times > 1]
        self._expect(not twice, f"shared: {twice} are there twice")
        return last
