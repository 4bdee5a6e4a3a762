"""The text of searches: scripts, accents, signs and what looks like an operator."""

import pytest

from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidSearch, InvalidText
from threadkeep.store.base import Store
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, new, say

WRITTEN = (
    ("The Zürich office", "zurich"),
    ("The zurich office", "ZÜRICH"),
    ("STRASSE", "straße"),
    ("naïve cafe\u0301", "naive café"),
    ("Привет, мир", "привет"),
    ("שלום עולם", "שלום"),
    ("今日は東京へ行きます", "東京"),
    ("今日は東京へ行きます", "京"),
    ("中文分词测试", "分词"),
    ("iPhone15を買う", "iphone15"),
    ("price: 12.50 EUR", "12"),
    ("snake_case_name", "case"),
    ("e-mail: ada@example.org", "ada@example"),
    ("before\x00after", "after"),
    ("word\u2028next", "next"),
    ("x" * 200, "x" * 200),
    ("don't stop", "don't"),
)
"""A text, and a search that finds it."""
LIKE_OPERATORS = (
    *("apple OR", "NOT apple", "apple AND pear", "NEAR(apple pear)", "apple*", "- apple", "^apple", "apple & !pear"),
    *("apple <-> pear", "apple:*", '"apple', "apple'); DROP TABLE entry; --", "apple\\", "apple\x00", "%apple%"),
    *("{words} : apple", "acme ada apple", "¤apple"),
)


def _user(number: int) -> Scope:
    """A user for each case, whose search finds nothing of the others."""
    return Scope(tenant="acme", user=f"user-{number}")


async def _found(store: Store, text: str, scope: Scope = ADA) -> list[int]:
    return sorted(hit.seq or 0 for hit in (await store.search(scope, text)).items)


@pytest.mark.asyncio
class TestSearchText:
    async def test_words_are_found_however_they_are_written(self, store: Store) -> None:
        for number, (stored, searched) in enumerate(WRITTEN):
            await new(store, _user(number), "something else", stored)
            assert await _found(store, searched, _user(number)) == [2], searched

    async def test_a_search_without_a_word_is_refused(self, store: Store) -> None:
        await new(store, ADA, "something")
        for text in ("", " ", "\x00", '"', '""', "***", "()", "-", "&|!", "^$", "'", "\\", "<->", "🙂"):
            async with refused(store, InvalidSearch):
                await store.search(ADA, text)

    async def test_what_looks_like_an_operator_is_only_text(self, store: Store) -> None:
        for number, text in enumerate(LIKE_OPERATORS):
            name = await new(store, _user(number), "an apple")
            await say(store, name, text, scope=_user(number))
            assert 2 in await _found(store, text, _user(number)), text

    async def test_a_word_that_is_an_operator_elsewhere_must_be_there(self, store: Store) -> None:
        for number, text in enumerate(("not apple ", "apple or ", "near apple ", "apple and pear ")):
            await new(store, _user(number), "an apple", "a pear", f"this holds {text}")
            assert await _found(store, text, _user(number)) == [3], text

    async def test_a_very_long_search_is_refused(self, store: Store) -> None:
        async with refused(store, InvalidSearch):
            await store.search(ADA, " ".join(f"w{number}" for number in range(1000)))

    async def test_a_search_that_is_no_valid_text_is_refused(self, store: Store) -> None:
        async with refused(store, InvalidText):
            await store.search(ADA, "half \ud83d")

    async def test_the_names_of_users_and_conversations_are_no_words(self, store: Store) -> None:
        name = await new(store, ADA, "hello", name="findme")
        for text in ("ada", "acme", "findme", name, "u1", "c1", "¤1"):
            assert await _found(store, text + " ") == []

    async def test_the_snippet_shows_where_the_words_are_in_a_long_text(self, store: Store) -> None:
        await new(store, ADA, "filler " * 300 + "the needle is\nhere " + "filler " * 300)
        (hit,) = (await store.search(ADA, "needle here")).items
        assert len(hit.snippet) < 400
        assert "\n" not in hit.snippet
        assert [hit.snippet[low:high] for low, high in hit.highlights] == ["needle", "here"]
