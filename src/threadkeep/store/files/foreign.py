"""What another program wrote into a view, as records: a new conversation, more messages, or a branch of its own."""

from datetime import datetime

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import HeadChoice
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.errors import ContentTooLarge
from threadkeep.store.base import ROOT
from threadkeep.store.checks import encode_within
from threadkeep.store.files.document import Document, Spoken, spoken
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.record import Opening, Record


class Importer:
    """Makes records of documents, at this moment and with this limit for one message."""

    def __init__(self, now: datetime, max_bytes: int) -> None:
        self._now = now
        self._max_bytes = max_bytes

    def conversation(self, scope: Scope, name: str, document: Document, view: str) -> list[Record]:
        """Return the records of a conversation that another program began."""
        opening = Opening(tenant=scope.tenant, user=scope.user, id=name, mark=new_id(), new=NewConversation())
        return [Record(at=document.created_at, opening=opening), *self._said(document.messages, None), self._seen(view)]

    def change(self, ledger: Ledger, document: Document, view: str) -> list[Record]:
        """Return the records of what another program changed: it continues where the document parts from the branch.

        The view may be behind: a program that kept all that it showed has changed nothing of what came since.
        """
        ours = list(spoken(list(ledger.backwards(ledger.tip.head))[::-1]))
        same = _common([message for _, message in ours], document.messages)
        added = document.messages[same:]
        shown = sum(1 for _ in spoken(ledger.backwards(ledger.shown_head)))
        is_behind = not ledger.is_shown and ledger.tree.holds(ledger.tip.head, ledger.shown_head)
        if same == len(ours) or (is_behind and same >= shown):
            return [*self._said(added, None), self._seen(view)]
        parent = ours[same - 1][0] if same else ROOT
        if added:
            return [*self._said(added, parent), self._seen(view)]
        return [Record(at=self._now, head=parent, parent=parent, bodies=(HeadChoice(),)), self._seen(view)]

    def _said(self, messages: list[Spoken], parent: int | None) -> list[Record]:
        records = []
        for number, message in enumerate(messages, 1):
            body = Message(role=message.role, content=message.content)
            try:
                size = encode_within(body, self._max_bytes).size
            except ContentTooLarge as error:
                raise ContentTooLarge(f"new message {number}: {error}") from None
            records.append(Record(at=message.at, parent=parent, bodies=(body,), bytes=size))
            parent = None
        return records

    def _seen(self, view: str) -> Record:
        return Record(at=self._now, view=view)


def _common(ours: list[Spoken], theirs: list[Spoken]) -> int:
    """Return how many messages at the beginning are the same; a program may write times in its own way."""
    for at, (mine, their) in enumerate(zip(ours, theirs, strict=False)):
        if mine[:2] != their[:2]:
            return at
    return min(len(ours), len(theirs))
