"""A catalog: what lists and searches need of all conversations of one tenant, without opening each.

It holds a card for every conversation (what a list shows, open turns, sizes) and an index of words for every user, all
brought up to date by `note` after a ledger has changed. Safe to be used by several threads.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from heapq import nlargest
from threading import Lock
from typing import NamedTuple

from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Turn, TurnState
from threadkeep.errors import ConversationNotFound
from threadkeep.store.codec import microseconds
from threadkeep.store.file_tables import attached_files
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.paging import Listing, ListQuery, Search, activity, subject_of
from threadkeep.store.values import Statistics
from threadkeep.text.query import Query, Subject, Terms
from threadkeep.text.search import CANDIDATES, RELATED, SCANNED
from threadkeep.text.words import searchable, words

Posting = tuple[str, int]
"""A conversation's id and the seq of an entry in it."""


class WordIndex:
    """Which entries hold which words."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, list[int]]] = {}
        self._words: dict[str, set[str]] = {}
        self._sorted: list[str] = []
        self._stale = False

    def add(self, conversation: str, seq: int, words: set[str]) -> None:
        """Index one entry. Entries of a conversation come in order."""
        for word in words:
            if word not in self._entries:
                self._entries[word] = {}
                self._stale = True
            self._entries[word].setdefault(conversation, []).append(seq)
        self._words.setdefault(conversation, set()).update(words)

    def remove(self, conversation: str) -> None:
        """Forget a conversation and the words that nobody else uses."""
        for word in self._words.pop(conversation, ()):
            del self._entries[word][conversation]
            if not self._entries[word]:
                del self._entries[word]
                self._stale = True

    def find(self, terms: Terms, conversation: str | None = None) -> set[Posting]:
        """Return the entries that hold every required word and a word with the beginning that is asked for."""
        wanted = [[word] for word in terms.required]
        if terms.prefix is not None:
            wanted.append(self._beginning_with(terms.prefix))
        found: set[Posting] | None = None
        for choice in wanted:
            holding = self._holding(choice, conversation)
            found = holding if found is None else found & holding
        return found or set()

    def find_without(self, query: Query, conversation: str | None) -> set[Posting]:
        """Return the entries that a query looks for, without those that hold a word that it excludes."""
        return self.find(query, conversation) - self._holding(query.excluded, conversation)

    def newest(self, words: Iterable[str], conversation: str, last: int) -> list[int]:
        """Return the newest entries of a conversation up to `last` that hold one of the words, newest first."""
        found: set[int] = set()
        for word in words:
            seqs = self._entries.get(word, {}).get(conversation, [])
            end = bisect_right(seqs, last)
            found.update(seqs[max(0, end - RELATED) : end])
        return sorted(found, reverse=True)[:RELATED]

    def _holding(self, words: Iterable[str], conversation: str | None) -> set[Posting]:
        """Return the entries that hold one of the words."""
        found: set[Posting] = set()
        for word in words:
            places = self._entries.get(word, {})
            names = places if conversation is None else [conversation]
            found.update((name, seq) for name in names for seq in places.get(name, ()))
        return found

    def _beginning_with(self, prefix: str) -> list[str]:
        if self._stale:
            self._sorted = sorted(self._entries)
            self._stale = False
        found = []
        for at in range(bisect_left(self._sorted, prefix), len(self._sorted)):
            if not self._sorted[at].startswith(prefix):
                break
            found.append(self._sorted[at])
        return found


_POSITION_BITS = 40


class Card:
    """A conversation as the catalog knows it; `order` tells of each entry how new it is: by time, then by arrival."""

    def __init__(self, ledger: Ledger) -> None:
        self.mark = ledger.opening.mark
        self.key = int.from_bytes(ledger.id.encode().ljust(128, b"\0"))
        self.conversation = ledger.conversation
        self.turns = ledger.turns
        self.bytes = ledger.bytes
        self.order: list[int] = []
        self.files: set[str] = set()

    def update(self, ledger: Ledger) -> None:
        """Copy what a list, a count and a look for expired turns need."""
        self.conversation, self.turns, self.bytes = ledger.conversation, ledger.turns, ledger.bytes


class Candidates(NamedTuple):
    """The newest entries that match, newest first, and a bound that leaves out what is stored from now on."""

    postings: list[Posting]
    bound: int


class Catalog:
    """The conversations of one tenant."""

    def __init__(self) -> None:
        self._cards: dict[str, Card] = {}
        self._indexes: dict[str, WordIndex] = {}
        self._titles: dict[str, WordIndex] = {}
        self._position = 0
        self._newest = 0
        self._lock = Lock()

    def note(self, ledger: Ledger) -> None:
        """Bring the card and the index up to date with a ledger; an older state of it changes nothing."""
        with self._lock:
            card = self._cards.get(ledger.id)
            if card is not None and card.mark != ledger.opening.mark:
                self._remove(ledger.id)
                card = None
            if card is None:
                card = self._cards[ledger.id] = Card(ledger)
                self._index_title(ledger)
            if ledger.tip.last >= len(card.order):
                if ledger.title != card.conversation.title:
                    self._index_title(ledger)
                self._index(card, ledger)
                card.update(ledger)

    def _index(self, card: Card, ledger: Ledger) -> None:
        index = self._indexes.setdefault(ledger.scope.user, WordIndex())
        for at in range(len(card.order), ledger.tip.last):
            entry = ledger.entries[at]
            self._position += 1
            card.order.append(microseconds(entry.created_at) << _POSITION_BITS | self._position)
            self._newest = max(self._newest, card.order[-1])
            card.files.update(attached_files(entry.body))
            if text := searchable(entry.body):
                index.add(ledger.id, entry.seq, words(text))

    def _index_title(self, ledger: Ledger) -> None:
        titles = self._titles.setdefault(ledger.scope.user, WordIndex())
        titles.remove(ledger.id)
        titles.add(ledger.id, 0, words(ledger.title or ""))

    def remove(self, conversation: str) -> None:
        with self._lock:
            self._remove(conversation)

    def _remove(self, conversation: str) -> None:
        card = self._cards.pop(conversation, None)
        if card is not None:
            for indexes in (self._indexes, self._titles):
                indexes[card.conversation.scope.user].remove(conversation)

    # Looking things up

    def listed(self, asked: ListQuery) -> Listing:
        with self._lock:
            cards = self._cards.values() if isinstance(asked.whose, str) else self._of(asked.whose.user)
            found = [(card.conversation, card.key) for card in cards]
        chosen = (listed for listed in found if asked.where.accepts(listed[0]) and activity(listed) < asked.before)
        newest = nlargest(asked.limit, chosen, key=activity)
        return Listing([(one.listed(), key) for one, key in newest])

    def owner(self, conversation: str) -> Scope:
        with self._lock:
            if (card := self._cards.get(conversation)) is None:
                raise ConversationNotFound
            return card.conversation.scope

    def users(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(sorted({card.conversation.scope.user for card in self._cards.values()}))

    def ids(self) -> set[str]:
        with self._lock:
            return set(self._cards)

    def files(self, conversation: str | None = None) -> set[str]:
        """Return the files that conversations use, or one of them."""
        with self._lock:
            cards = [card for name, card in self._cards.items() if conversation in (None, name)]
            return set[str]().union(*(card.files for card in cards))

    def candidates(self, asked: Search) -> Candidates:
        """Return the newest entries of a user that match."""
        with self._lock:
            bound = self._newest if asked.bound is None else asked.bound
            index = self._indexes.get(asked.scope.user, WordIndex())
            postings = index.find_without(asked.query, asked.conversation)
            found = ((self._cards[name].order[seq - 1], (name, seq)) for name, seq in postings)
            most = SCANNED if asked.query.is_filtered else CANDIDATES
            newest = nlargest(most, (pair for pair in found if pair[0] <= bound))
        return Candidates([posting for _, posting in newest], bound)

    def titled(self, asked: Search) -> list[Subject]:
        """Return the conversations of a user whose title may be looked for, the last created first."""
        with self._lock:
            titles, query = self._titles.get(asked.scope.user, WordIndex()), asked.query
            if wanted := [titles.find(terms) for terms in (query, query.title) if terms]:
                cards = [self._cards[name] for name, _ in set.intersection(*wanted)]
            else:
                cards = list(self._of(asked.scope.user))
            found = [subject_of(card.conversation) for card in cards]
        return nlargest(SCANNED, found, key=lambda subject: subject.created_at)

    def related(self, user: str, conversation: str, words: Iterable[Sequence[str]], last: int) -> list[list[int]]:
        """Return for each word the newest entries of a conversation up to `last` that hold one of its forms."""
        with self._lock:
            index = self._indexes.get(user, WordIndex())
            return [index.newest(forms, conversation, last) for forms in words]

    def expired(self, now: datetime, latest: datetime) -> list[Turn]:
        """Return the turns that nobody sees to: no lease until between now and `latest`, or only queued ones."""
        with self._lock:
            first = [card.turns[0] for card in self._cards.values() if card.turns]
            turns = [turn for card in self._cards.values() for turn in card.turns]
        running = (turn for turn in turns if turn.state is TurnState.RUNNING)
        lost = [turn for turn in running if turn.until and not now <= turn.until <= latest]
        open_ones = {(turn.scope, turn.conversation) for turn in turns if turn.state is not TurnState.QUEUED}
        return lost + [
            turn
            for turn in first
            if turn.state is TurnState.QUEUED and (turn.scope, turn.conversation) not in open_ones
        ]

    def statistics(self, user: str | None, conversation: str | None = None) -> Statistics:
        with self._lock:
            named = self._cards.get(conversation or "")
            chosen = self._cards.values() if conversation is None else [named] if named else []
            cards = [card for card in chosen if user in (None, card.conversation.scope.user)]
        return Statistics(
            conversations=len(cards),
            entries=sum(card.conversation.entries for card in cards),
            bytes=sum(card.bytes for card in cards),
        )

    def _of(self, user: str) -> Iterable[Card]:
        return (card for card in self._cards.values() if card.conversation.scope.user == user)
