"""The signs of a question in another language than English, for the same weights as those of an English one.

A question points back, begins as a continuation, speaks of something as known or names little: what each of it looks
like is told by the lists in `language_words`. Chinese and Japanese are not written in words, so there the same lists
are looked for in the text, and two signs count as a word.
"""

import re
from collections.abc import Iterator, Sequence

from threadkeep.routing.language_words import LANGUAGES, Language
from threadkeep.text.stop_words import BY_LANGUAGE, ENGLISH, fold_accents, language_of

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_UNSPACED_CONTENT = re.compile("[a-z0-9]+|[\u30a1-\u30fa\u30fc]+|[\u3400-\u9fff]+")
_PUNCTUATION = (
    "?!.,;:\u2026\"'\u2019\u201c\u201d\u00ab\u00bb()[]\u060c\u061f\u061b\u0964\u00bf\u00a1"
    "\u3002\uff1f\uff01\u3001\uff0c"
)
_SPLIT = re.compile(r"[\s'\u2019\-/]+")
_PAUSE = re.compile("[,;:.!?\u060c\u061b\uff0c\u3002]\\s")
_ASKING = re.compile(
    "何|誰|どこ|いつ|なぜ|どう|どれ|どの|谁|什么|哪|怎|为何|누구|누가|무엇|뭐|어디|언제|왜|어떻게|얼마|몇|어떤|무슨|주세요|줘"
)
# "repetirla", "prenotarlo": a verb that carries what it is done to.
_CARRIES_OBJECT = {
    name: re.compile(pattern)
    for name, pattern in (
        ("spanish", r"(?:[aei]r(?:me|te|se|nos)?|ndo)l[aoe]s?$"),
        ("italian", r"[aei]r(?:l[aoei]|ne|ci|vi)$|ndol[aoei]$"),
        ("arabic", r"(?:ها|هما)$"),
    )
}
_BEFORE_OBJECT = {
    "spanish": re.compile(r"\b(?:me|te|se|nos|ya|no) l[ao]s? |\bl[ao]s? (?:puedo|puede|tengo|tiene|hay|compro|uso|he|ha)\b"),
    "italian": re.compile(r"\b(?:me|te|se|ce|ve|non) l[aoei] |\bl[aoi] (?:posso|puo|devo|trovo|compro|uso|vendono|fanno)\b"),
    "portuguese": re.compile(r"\b(?:que|nao|onde|como|quando) [oa]s? posso\b"),
    "french": re.compile(r"\b(?:me|te|nous|vous|puis je|peut on|on peut|dois je|faut il) l(?:e|a|es) |\bl (?:a|ont|acheter) |\b(?:y|j|on|vous|tu|nous) en "),
}  # fmt: skip
# Words that stand for nothing at all: "il pleut", "gibt es".
_EXPLETIVE = re.compile(
    r"\b(?:il (?:y|faut|pleut|fait|neige|vaut|existe|est (?:vrai|possible))|faut il|fait il|y a"
    r"|gibt es|es gibt|es regnet|ist es (?:wahr|moglich|gesund|sinnvoll)|is het (?:waar|mogelijk|verstandig|gezond))\b"
)
_MOST_OPEN = 2
"""How many words a question may name that asks only whether something is so, and still leave open of what."""


def signs_in(question: str, texts: Sequence[str]) -> Iterator[str] | None:
    """Return the signs of a question after some texts; None if its language is English or none of those here."""
    text = fold_accents(question.lower())
    if _KANA.search(text) or _HAN.search(text):
        return _unspaced_signs(text, LANGUAGES["japanese" if _KANA.search(text) else "chinese"])
    words = _words(text)
    name = "korean" if _HANGUL.search(text) else language_of(words, _words(fold_accents(" ".join(texts).lower())))
    return None if name == ENGLISH or name not in LANGUAGES else _spaced_signs(question, text, name)


def _spaced_signs(question: str, text: str, name: str) -> Iterator[str]:
    language, words, written = LANGUAGES[name], _words(text), _words(question)
    if name == "arabic":  # "and" is written as one with the word behind it
        words = [
            word[1:] if word[:1] == "و" and word[1:] in (*language.points, *language.weak) else word for word in words
        ]
    stop_words = BY_LANGUAGE.get(name, frozenset()) | language.weak | language.goes_on | frozenset(language.points)
    specific = [at for at, word in enumerate(words) if word not in stop_words and not _is_general(word, language)]
    begun = " ".join(words) + " "
    # What an accent tells apart is told apart here: "e" (and), "è" (is).
    if any(f"{' '.join(written).lower()} ".startswith(f"{start} ") for start in language.begins):
        yield "begins_as_follow_up"
    # After a pause, a word points at what the question named before it: "an egg, so that it stays soft".
    pauses = [len(_words(text[: match.start()])) for match in _PAUSE.finditer(text)]
    inner = next((at for at in reversed(pauses) if any(place < at for place in specific)), len(words))
    if any(word in language.points for word in words[:inner]) or _names_object(
        name, words[: specific[0] + 1] if specific else words, begun
    ):
        yield "points_back"
    # "les feuilles tombent-elles": what stands behind a verb takes up what stands before it.
    weak = [at for at in range(inner) if not (f"-{words[at]}" in text and any(place < at for place in specific))]
    said = _EXPLETIVE.sub(lambda found: "_ " * len(found[0].split()), begun).split()
    if any(_may_point(said, at, language, specific, written) for at in weak):
        yield "may_point"
    if not language.goes_on.isdisjoint(words):
        yield "goes_on"
    names = [at for at in specific if _is_name(written, at, name)]
    yield from _size_signs(len(specific), has_name=bool(names))
    if any(words[at - 1] in language.articles for at in range(1, len(words)) if at not in names and at in specific):
        yield "definite"
    if specific and any(begun.startswith(f"{start} ") for start in language.defines):
        yield "definition"
    asks = any(begun.startswith(f"{fold_accents(start)} ") for start in language.asks)
    if name == "korean":
        asks = text.strip(_PUNCTUATION + " ").endswith(language.asks) and not _ASKING.search(text)
    if asks and len(specific) <= _MOST_OPEN and not names:
        yield "leaves_open"


def _size_signs(size: int, *, has_name: bool) -> Iterator[str]:
    if not size:
        yield "nothing_specific"
    elif size == 1:
        yield "one_specific"
    elif size > _MOST_OPEN:
        yield "many_specific"
    if has_name:
        yield "proper_name"


def _unspaced_signs(text: str, language: Language) -> Iterator[str]:
    runs = _unspaced_content(text, language)
    size = (sum(len(run) for run in runs if _HAN.match(run)) + 1) // 2 + sum(not _HAN.match(run) for run in runs)
    # "And the whale?" is the whale, and what marks a topic.
    is_topic = size <= 1 and text.strip(_PUNCTUATION + " ").endswith(("は", "呢"))
    if text.startswith(language.begins) or is_topic:
        yield "begins_as_follow_up"
    if any(word in text for word in language.points):
        yield "points_back"
    elif any(word in text for word in language.weak):
        yield "may_point"
    if any(word in text for word in language.goes_on):
        yield "goes_on"
    yield from _size_signs(size, has_name=any(not _HAN.match(run) for run in runs))
    if size and any(word in text for word in language.defines):
        yield "definition"
    if size <= _MOST_OPEN and text.strip(_PUNCTUATION + " ").endswith(language.asks) and not _ASKING.search(text):
        yield "leaves_open"


def _words(text: str) -> list[str]:
    return [word for part in _SPLIT.split(text) if (word := part.strip(_PUNCTUATION))]


def _names_object(name: str, words: Sequence[str], begun: str) -> bool:
    carries, before = _CARRIES_OBJECT.get(name), _BEFORE_OBJECT.get(name)
    return (carries is not None and any(len(word) > 3 and carries.search(word) for word in words)) or (
        before is not None and before.search(begun) is not None
    )


def _may_point(
    words: Sequence[str], at: int, language: Language, specific: Sequence[int], written: Sequence[str]
) -> bool:
    """Whether a word stands for something, and is no article before a noun: "das" alone, not "das Telefon"."""
    if words[at] not in language.weak:
        return False
    behind = written[at + 1 : at + 2]
    is_noun = at + 1 in specific or any(word[:1].isupper() for word in behind)
    names_later = bool(behind) and words[at + 1] not in language.weak and any(place > at + 1 for place in specific)
    return words[at] not in language.articles or not (is_noun or names_later)


def _is_name(written: Sequence[str], at: int, name: str) -> bool:
    """Whether a word is written as a name is: with capitals (every noun is in German), or with Latin signs elsewhere."""
    word = written[at]
    if any(sign.isdigit() for sign in word) or sum(sign.isupper() for sign in word) > 1:
        return True
    return name != "german" and at > 0 and word[:1].isupper()


def _is_general(word: str, language: Language) -> bool:
    if _HANGUL.search(word) and (len(word) == 1 or word.endswith(("요", "까", "줘", "죠"))):
        return True  # a particle, or the verb that a Korean question ends with
    bare = word.removeprefix("ال") if len(word) > 4 else word
    return any(
        each.startswith(start) and len(each) <= _longest(start) for each in (word, bare) for start in language.general
    )


def _longest(start: str) -> int:
    """Return how long a word may be to be a form of what it begins with, and not another word: "photo", not more."""
    return len(start) + (1 if _HANGUL.match(start) and len(start) == 1 else max(3, len(start)))


def _unspaced_content(text: str, language: Language) -> list[str]:
    """Return what is left of a text, between the words that say little: signs of words, not endings and particles."""
    # A sign alone is a word in Chinese; in Japanese it may as well be a part of a name.
    is_japanese = _KANA.search(text) is not None
    text = _ASKING.sub(" ", text)
    for word in sorted((*language.general, *language.points, *language.weak), key=len, reverse=True):
        text = text if is_japanese and len(word) == 1 else text.replace(word, " ")
    return [
        run
        for run in _UNSPACED_CONTENT.findall(text)
        if run not in language.general and (len(run) > 1 or run.isdigit() or is_japanese)
    ]
