"""The signs of a question in another language than English.

`languages.toml` tells which words belong to the closed classes of a language: pronouns, question words, conjunctions,
auxiliaries. What else a question has names something, and the fewer there are, the more it leaves open. Chinese and
Japanese are not written in words: the same lists are looked for in the text, and what stands between them is counted.
`bench/train_signs.py` fits what each sign weighs.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from threadkeep.text.stop_words import BY_LANGUAGE, ENGLISH, fold_accents, language_of

WEIGHTS: Mapping[str, float] = {
    "nothing_specific": 6.4,
    "takes_up": 3.0,
    "definition": -4.7,
    "asks_whether": 3.3,
    "one_specific": 3.2,
    "may_point": 2.8,
    "points_back": 2.7,
    "begins_as_follow_up": 2.4,
    "many_open": -2.3,
    "proper_name": -2.1,
    "complete": -1.8,
}
"""What `bench/train_signs.py` fits, rounded. `takes_up` is less: answers are longer than ours, and have more words."""
BIAS = -2.0

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\u3005]")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_RUN = re.compile("[a-z0-9]+|[\u30a1-\u30fa\u30fc]+|[\u3400-\u9fff\u3005]+")
_PAUSES = ",;:.!?\u2026\u060c\u061f\u061b\u0964\u3002\uff1f\uff01\u3001\uff0c"
_PUNCTUATION = _PAUSES + "\"'\u2019\u201c\u201d\u00ab\u00bb()[]\u00bf\u00a1"
_SPLIT = re.compile(r"[\s'\u2019\-/]+")
# A verb that carries what it is done to, "prenotarlo"; in Arabic a noun, too, but none that has an article.
_CARRIES_OBJECT = {
    "spanish": re.compile("(?<=..)(?:[aei]r(?:me|te|se|nos)?|ndo(?:me|te|se)?)l[aoe]s?$"),
    "italian": re.compile("(?<=..)(?:[aei]r(?:l[aoei]|ne|ci|vi|gli)|ndol[aoei])$"),
    "arabic": re.compile("(?<=...)(?:ها|هما|هم|هن|ه)$"),
}
# An object before its verb looks like an article; it is none behind another pronoun, or if no noun can follow.
_BEFORE_VERB = {
    "french": re.compile(r"\b(?:je|j|tu|on|nous|vous|me|te|se|ne|n) (?:le|la|les|l|y|en) "),
    "spanish": re.compile(
        r"\b(?:me|te|se|nos|ya|no) l[ao]s? |\blo (?!que\b|mas\b|mejor\b|de\b)"
        r"|\bl[ao]s? (?:puedo|puede|tengo|tiene|hay|he|ha|han|hago) |\b(?:como|donde|cuando|por que) l[aoe]s? \w+ $"
    ),
    "italian": re.compile(
        r"\b(?:me|te|se|ce|ve|non|mi|si|gia) l[aoei] |\bl (?:ho|hai|ha|hanno|abbiamo) |\blo (?!s[^aeiou]|z|gn|ps|x|y)"
        r"|\bl[aoi] (?:posso|puo|devo) |\b(?:come|dove|quando|perche) l[aoei] \w+ $"
    ),
    "portuguese": re.compile(r"\b(?:que|nao|onde|como|quando) [oa]s? (?:posso|pode|devo|\w+ $)"),
}
_ARABIC_ARTICLE = "ال"
_KOREAN_PARTICLES = tuple("은는이가을를에의도로와과")
_JAPANESE_PARTICLES = "はがをのにでともへやか"
MOST_CHARACTERS = 600
"""How much of a question is read: what is longer names enough by then."""
_LONGEST_ENDING = 4
_LEAST_SHARED = 2
_MANY_SPECIFIC = 3
_MANY_OPEN = 4


class Language(NamedTuple):
    """The lists of a language; what each of them holds is told where they are."""

    points: frozenset[str]
    may_point: frozenset[str]
    articles: frozenset[str]
    nothing: tuple[str, ...]
    times: tuple[str, ...]
    begins: tuple[str, ...]
    asks: frozenset[str]
    joins: frozenset[str]
    of: frozenset[str]
    defines: tuple[str, ...]
    closed: frozenset[str]
    general: tuple[str, ...]


class Reading(NamedTuple):
    """A question as it is read in its language. Places are those of words, or of signs where there are no words."""

    points: Sequence[int]
    may_point: Sequence[int]
    breaks: Sequence[int]
    open: Sequence[str]
    open_size: int
    specific: Sequence[int]
    size: int
    shown: Mapping[str, bool]


def signs_in(question: str, asked: Sequence[str], answered: Sequence[str]) -> list[str] | None:
    """Return the signs of a question, given what was asked and answered; None if its language is none of those here."""
    question = question[:MOST_CHARACTERS]
    text = fold_accents(question.lower())
    if _KANA.search(text) or _HAN.search(text):
        name = "japanese" if _KANA.search(text) else "chinese"
    else:
        before = fold_accents(" ".join((*asked[-1:], *answered[-1:])).lower())
        name = "korean" if _HANGUL.search(text) else language_of(_words(text), _words(before))
    if name == ENGLISH or name not in languages():
        return None
    is_dense = name in ("chinese", "japanese")
    reading = _read_dense(text, languages()[name]) if is_dense else _read_words(question, name, languages()[name])
    # The longer what was said, the less it means that a word was among it.
    topic, said = (fold_accents(" ".join(texts).lower()) for texts in (asked, answered[-1:]))
    is_said = _is_within if is_dense else _is_word_of
    if not is_dense:
        topic, said = (
            f" {' '.join(word.removeprefix(_ARABIC_ARTICLE) for word in _words(text))} " for text in (topic, said)
        )
    takes_up = any(is_said(word, said) and not is_said(word, topic) for word in reading.open)
    return list(_signs(reading, takes_up=takes_up))


def _signs(reading: Reading, *, takes_up: bool) -> Iterator[str]:
    first = min(reading.specific, default=0)

    def is_inner(place: int) -> bool:
        """Whether the question itself named something before, in another clause: "I have a cat, what does it eat?"."""
        return bool(reading.specific) and any(first < start <= place for start in reading.breaks)

    points_back = any(not is_inner(place) for place in reading.points)
    if points_back:
        yield "points_back"
    if any(not is_inner(place) for place in reading.may_point):
        yield "may_point"
    if takes_up:
        yield "takes_up"
    # "What is its price?" asks for no definition, and a name that is asked for next to another stands for a question.
    begins = reading.shown["begins_as_follow_up"]
    many = reading.size >= _MANY_SPECIFIC
    hidden = {
        "definition": points_back or takes_up,
        "proper_name": begins,
        "complete": begins or points_back,
        "asks_whether": many,
    }
    yield from (name for name, is_shown in reading.shown.items() if is_shown and not hidden.get(name))
    if reading.size <= 1:
        yield "one_specific" if reading.size else "nothing_specific"
    if reading.open_size >= _MANY_OPEN:
        yield "many_open"


def _read_words(question: str, name: str, language: Language) -> Reading:
    written, breaks = _clauses(question)
    words = [fold_accents(word.lower()) for word in written]
    closed = BY_LANGUAGE.get(name, frozenset()) | language.closed
    if name == "arabic":  # "and" is written as one with the word behind it
        joined = [at for at, word in enumerate(words) if word[:1] == "و" and word[1:] in closed]
        words = [word[1:] if at in joined else word for at, word in enumerate(words)]
        breaks += joined
    breaks += [at + 1 for at, word in enumerate(words) if word in language.joins]
    # A Korean syllable alone is a particle.
    open_ = [at for at, word in enumerate(words) if word not in closed and not _HANGUL.fullmatch(word)]
    names = {at for at in open_ if _is_name(written, at, name)}
    specific = [at for at in open_ if at in names or not _is_general(words[at], language)]
    spelled, begun, lower = question.lower(), " ".join(words) + " ", [word.lower() for word in written]
    nothing = _covered(words, language.nothing)
    pointing = {at for at, word in enumerate(lower) if _is_listed(word, language.points)} - nothing
    pointing |= _objects(words, begun, name, closed - language.points)
    return Reading(
        points=[at for at in pointing if not any(word.startswith(language.times) for word in words[at + 1 : at + 2])],
        may_point=[
            at
            for at, word in enumerate(lower)
            if word in language.may_point
            and at not in nothing
            # "les feuilles tombent-elles": what stands behind a verb takes up what stands before it.
            and not (f"-{word}" in spelled and any(place < at for place in specific))
            and not (word in language.articles and _is_article(at, open_, written))
        ],
        breaks=breaks,
        open=[words[at] for at in specific if at not in names],
        open_size=len(open_),
        specific=specific,
        size=len(specific),
        shown={
            "begins_as_follow_up": _begins(lower, language.begins) or (name == "arabic" and 0 in breaks),
            "definition": bool(specific) and _begins(words, language.defines),
            "proper_name": bool(names),
            "asks_whether": language.asks.isdisjoint(words)
            and not (name == "korean" and any(asking in begun for asking in language.asks)),
            "complete": any(
                word in language.of
                and any(place < at for place in open_)
                and any(at < place < at + 4 for place in specific)
                for at, word in enumerate(words)
            ),
        },
    )


def _read_dense(text: str, language: Language) -> Reading:
    is_japanese = _KANA.search(text) is not None
    listed = language.closed
    runs = list(_RUN.finditer(_without(text, listed, is_japanese)))
    named = list(_RUN.finditer(_without(text, listed.union(language.general), is_japanese)))
    open_ = [run for run in runs if run[0] not in language.closed]
    specific = [run for run in named if run[0] not in language.closed and run[0] not in language.general]
    ends, starts = {run.end() for run in open_}, {run.start() for run in open_}
    size = _size(text, open_, is_japanese)
    pointing = text
    for phrase in language.nothing:
        pointing = pointing.replace(phrase, " " * len(phrase))
    is_topic = size <= 1 and text.strip(_PUNCTUATION + " ").endswith(("は", "呢"))
    return Reading(
        points=_places(pointing, language.points),
        may_point=_places(text, language.may_point),
        breaks=[place + 1 for place in _places(text, language.joins)],
        # Words are not told apart in a run of Han signs, but two of them are mostly one.
        open=[
            run[0][at : at + 2] if _HAN.match(run[0]) else run[0]
            for run in specific
            if not run[0].isascii()
            for at in range(len(run[0]) - 1 if _HAN.match(run[0]) else 1)
        ],
        open_size=size,
        specific=[run.start() for run in specific],
        size=_size(text, specific, is_japanese),
        shown={
            "begins_as_follow_up": is_topic or text.startswith(language.begins),
            "definition": bool(specific) and any(word in text for word in language.defines),
            "proper_name": any(run[0].isascii() for run in specific),
            "asks_whether": not any(word in text for word in language.asks),
            "complete": any(place in ends and place + 1 in starts for place in _places(text, language.of)),
        },
    )


@cache
def languages() -> Mapping[str, Language]:
    """Return the lists by language."""
    listed = tomllib.loads((files(__package__) / "languages.toml").read_text(encoding="utf-8"))
    return {name: _language(lists) for name, lists in listed.items()}


def _language(lists: Mapping[str, str]) -> Language:
    def phrases(name: str) -> tuple[str, ...]:
        return tuple(" ".join(phrase.split()) for phrase in lists.get(name, "").split("|") if phrase)

    def words(name: str) -> frozenset[str]:
        return frozenset(lists.get(name, "").split())

    classes = ("points", "may_point", "articles", "asks", "joins", "of", "closed")
    found = {name: words(name) for name in classes}
    closed = {word for name in classes for word in found[name]}
    folded = {name: frozenset(map(fold_accents, found[name])) for name in ("asks", "joins", "of")}
    return Language(
        **found | folded | {"closed": frozenset((*closed, *map(fold_accents, closed)))},
        nothing=phrases("nothing"),
        times=tuple(lists.get("times", "").split()),
        begins=phrases("begins"),
        defines=phrases("defines"),
        general=tuple(fold_accents(lists["general"]).split()),
    )


def _words(text: str) -> list[str]:
    return [word for part in _SPLIT.split(text) if (word := part.strip(_PUNCTUATION))]


def _clauses(question: str) -> tuple[list[str], list[int]]:
    """Return the words of a question, and which of them stand behind a pause."""
    words, breaks = list[str](), list[int]()
    for part in _SPLIT.split(question):
        if word := part.strip(_PUNCTUATION):
            words.append(word)
        if part.endswith(tuple(_PAUSES)):
            breaks.append(len(words))
    return words, breaks


def _begins(words: Sequence[str], phrases: Sequence[str]) -> bool:
    return f"{' '.join(words)} ".startswith(tuple(f"{phrase} " for phrase in phrases))


def _covered(words: Sequence[str], phrases: Sequence[str]) -> set[int]:
    """Return the places of words that are part of one of some phrases."""
    split = [phrase.split() for phrase in phrases]
    return {
        place
        for at in range(len(words))
        for phrase in split
        if words[at : at + len(phrase)] == phrase
        for place in range(at, at + len(phrase))
    }


def _is_listed(word: str, listed: Collection[str]) -> bool:
    """Whether a word is in a list; a Korean one has particles behind it."""
    return word in listed or (
        _HANGUL.match(word) is not None and any(len(each) > 1 and word.startswith(each) for each in listed)
    )


def _objects(words: Sequence[str], begun: str, name: str, closed: Collection[str]) -> set[int]:
    """Return where a verb has an object that is a pronoun, before it or as one word with it."""
    carries, before = _CARRIES_OBJECT.get(name), _BEFORE_VERB.get(name)
    found = {
        at
        for at, word in enumerate(words)
        if carries and word not in closed and not word.startswith(_ARABIC_ARTICLE) and carries.search(word)
    }
    return found | {len(begun[: match.end()].split()) - 1 for match in (before.finditer(begun) if before else ())}


def _is_article(at: int, open_: Collection[int], written: Sequence[str]) -> bool:
    """Whether a noun follows: "das Telefon", not "das" alone."""
    return at + 1 in open_ or any(word[:1].isupper() for word in written[at + 1 : at + 2])


def _is_name(written: Sequence[str], at: int, name: str) -> bool:
    """Whether a word is written as a name is: with digits or a capital; every noun has one in German, two are a name."""
    word = written[at]
    if any(sign.isdigit() for sign in word) or sum(sign.isupper() for sign in word) > 1:
        return True
    beside = (*written[max(at - 1, 1) : at], *written[at + 1 : at + 2])
    return at > 0 and word[:1].isupper() and (name != "german" or any(each[:1].isupper() for each in beside))


def _is_general(word: str, language: Language) -> bool:
    """Whether a word is a form of one that says little: "photos", but not "photosynthesis"."""
    bare = word.removeprefix(_ARABIC_ARTICLE) if len(word) > 4 else word
    return any(
        each.startswith(start) and len(each) <= len(start) + (1 if len(start) == 1 else _LONGEST_ENDING)
        for each in (word, bare)
        for start in language.general
    )


def _is_within(word: str, text: str) -> bool:
    return word in text


def _is_word_of(word: str, text: str) -> bool:
    """Whether a word was said, in any form: forms of a word begin alike, and a compound has it as a part.

    The text has a space around each of its words.
    """
    core = word.removeprefix(_ARABIC_ARTICLE)
    if len(core) > _LEAST_SHARED and core.endswith(_KOREAN_PARTICLES):
        return f" {core[:-1]}" in text
    begin = f" {core[: max(4, len(core) - 3)]}"
    return f" {core} " in text or (len(core) > 3 and begin in text) or (len(core) > 4 and core in text)


def _places(text: str, listed: Collection[str]) -> list[int]:
    return [at for word in listed if word in text for at in range(len(text)) if text.startswith(word, at)]


def _without(text: str, listed: Collection[str], is_japanese: bool) -> str:
    """Return a text with spaces for the words of some lists; a sign alone may be a part of a Japanese name."""
    for word in sorted(listed, key=len, reverse=True):
        if len(word) > 1 or not is_japanese:
            text = text.replace(word, " " * len(word))
    return text


def _size(text: str, runs: Sequence[re.Match[str]], is_japanese: bool) -> int:
    """Return how many words some runs are about: two signs in Chinese; in Japanese a noun, or two verbs."""
    if not is_japanese:
        signs = sum(len(run[0]) for run in runs if _HAN.match(run[0]))
        return (signs + 1) // 2 + sum(not _HAN.match(run[0]) for run in runs)
    halves = 0
    for run in runs:
        behind = text[run.end() : run.end() + 1]
        is_verb = len(run[0]) == 1 and _KANA.match(behind) and behind not in _JAPANESE_PARTICLES
        halves += 1 if is_verb else 4 if len(run[0]) > 3 and _HAN.match(run[0]) else 2
    return (halves + 1) // 2
