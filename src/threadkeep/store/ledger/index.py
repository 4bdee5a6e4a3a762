"""An index from words to entries, for one user, in memory."""

from bisect import bisect_left

from threadkeep.text.search import Query

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

    def find(self, query: Query, conversation: str | None = None) -> set[Posting]:
        """Return the entries that hold every required word and a word with the query's beginning."""
        wanted = [[word] for word in query.required]
        if query.prefix is not None:
            wanted.append(self._beginning_with(query.prefix))
        found: set[Posting] | None = None
        for words in wanted:
            holding = self._holding(words, conversation)
            found = holding if found is None else found & holding
        return found or set()

    def holding(self, word: str, conversation: str) -> list[int]:
        """Return the entries of a conversation that hold a word, oldest first."""
        return self._entries.get(word, {}).get(conversation, [])

    def _holding(self, words: list[str], conversation: str | None) -> set[Posting]:
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
