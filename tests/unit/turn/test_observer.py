"""Observers: in which order they are told of a turn, and that none needs to listen to everything."""

from collections.abc import Sequence

from threadkeep.conversation.turn import Lease
from threadkeep.hosting import Hosting
from threadkeep.runtime import open_conversations
from threadkeep.store.values import Appendable
from threadkeep.turn.observer import Observer


class Hearing(Observer):
    """Notes the text and the commits, and lets the rest pass."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def spoke(self, lease: Lease, seconds: float) -> None:
        self.heard.append(f"spoke in turn {lease.turn}")

    def stored(self, lease: Lease, bodies: Sequence[Appendable], seconds: float) -> None:
        self.heard.append(f"stored {len(bodies)}")


async def test_the_first_text_is_told_before_the_answer_is_stored_and_what_nobody_asked_for_passes() -> None:
    hearing = Hearing()
    hosting = Hosting(observers=(Observer(), hearing))
    async with await open_conversations("memory:", model="demo", hosting=hosting) as conversations:
        chat = await conversations.create()
        await (await chat.send("Hello")).answer()
    assert hearing.heard == ["spoke in turn 1", "stored 1"]
