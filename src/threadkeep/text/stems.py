"""Forms of words, so that "phones" in a question and "phone" in an answer are one word.

`stem` compares words that are at hand. An index holds words as they were written, so `forms` goes the other way: it
lists what a word may look like there. A form that does not exist finds nothing and does no harm.
"""

from functools import lru_cache

from threadkeep.text.stop_words import fold_accents

_ENDINGS = {
    "english": "s es e d ed ing er ers ion ions al ment ments y ies ied",
    "german": "e en er es em n s st t te ten ung ungen ie ien isch ische ischen lich keit heit",
    "french": "s e es x er ez ee ees ait ant ent ons ie ies ique iques ion ions eur euse age ment",
    "spanish": "s es o a os as ar er ir an en ado ada ados adas ando iendo ia ias ico ica icos icas cion ciones mente",
    "italian": "o a i e are ere ire ato ata ati ate ando endo ia ie ico ica ici iche zione zioni mente",
    "portuguese": "s es o a os as ar er ir am em ado ada ados adas ando endo ia ias ico ica icos icas cao oes mente",
    "dutch": "e en s t de den te ten ie ieen isch ische ing ingen heid lijk",
    "russian": """а я ы и у ю е о ь ом ем ой ей ов ев ам ям ами ями ах ях ый ий ая ое ее ые ие ого его ому ему ым им ых
    их ать ить еть л ла ло ли ет ут ют ит ат ят ия ии ию ией ный ная ное ные ский ская ское ские ение ения ость""",
    "arabic": "ة ات ين ون ي تي تنا ته تها تك نا ه ها هم ك",
    "hindi": "ा े ी ों ें ियां ियों ना ने नी ता ते ती",
}
_ARABIC_PREFIXES = ("", "ال", "و", "ب", "ل", "وال", "بال")
_SHORT = ("s", "ed", "ing")
"""The endings of English words of three letters."""
_DOUBLED = ("ed", "ing", "er", "ers")
_COMPOUNDING = ("german", "dutch")
_LEAST_PART = 5
"""How many letters a part of a compound word has at least."""
_LEAST = {"english": 3, "russian": 3, "arabic": 3, "hindi": 2}
"""How many letters a word keeps when its ending is taken off, where it is not four."""


def _split(words: str) -> tuple[str, ...]:
    return tuple(sorted({fold_accents(word) for word in words.split()}, key=lambda word: (-len(word), word)))


_BY_LANGUAGE = {language: _split(words) for language, words in _ENDINGS.items()}


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word in lower case without an English plural or possessive ending; other words as they are."""
    word = word.lower().replace("\u2019", "'").removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@lru_cache(maxsize=4096)
def forms(word: str, language: str) -> tuple[str, ...]:
    """Return a word as it is indexed, first, and the other forms that it may have in a language."""
    core = word
    if language == "arabic":
        core = next((word[len(begin) :] for begin in _ARABIC_PREFIXES[:0:-1] if _is_begun(word, begin)), word)
        found = [begin + form for begin in _ARABIC_PREFIXES for form in _inflected(core, language)]
    else:
        found = _inflected(word, language)
    if language in _COMPOUNDING:
        # Most of these parts are no words, and find nothing.
        places = range(_LEAST_PART, len(word) - _LEAST_PART + 1)
        found += [part for at in places for part in (word[:at], word[at:])]
    return tuple(dict.fromkeys([word, *found]))


def _is_begun(word: str, begin: str) -> bool:
    return word.startswith(begin) and len(word) - len(begin) >= _LEAST["arabic"]


def _inflected(word: str, language: str) -> list[str]:
    least = _LEAST.get(language, 4)
    endings = _BY_LANGUAGE.get(language, ()) if len(word) > 3 or language != "english" else _SHORT
    if len(word) < least or (not word.isalpha() and language == "english"):
        return [word]
    fitting = (end for end in endings if word.endswith(end) and len(word) - len(end) >= least)
    base = word[: len(word) - len(next(fitting, ""))]
    bases, doubled = dict.fromkeys((base, word)), list[str]()
    if language == "english" and base[-1] not in "aeiouwxs":
        # "planned" is a form of "plan", "copied" one of "copy": a consonant at the end is doubled, a "y" is left out.
        if base[-2:-1] == base[-1] or base[-1] == "y":
            bases[base[:-1]] = None
        else:
            doubled = [base + base[-1] + end for end in _DOUBLED]
    return [*(start + end for start in bases for end in ("", *endings)), *doubled]
