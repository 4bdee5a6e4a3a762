"""Forms of words, so that "phones" in a question and "phone" in an answer are one word.

`stem` compares words that are at hand. An index holds words as they were written, so `forms` goes the other way: it
lists what a word may look like there. A form that does not exist finds nothing and does no harm.
"""

from functools import lru_cache

from threadkeep.text.stop_words import fold_accents

_ENDINGS = {
    "german": "e en er es em n s st t te ten ung ungen",
    "french": "s e es x er ez ee ees ait ant ent ons",
    "spanish": "s es o a os as ar er ir an en ado ada ados adas ando iendo",
    "italian": "o a i e are ere ire ato ata ati ate ando endo",
    "portuguese": "s es o a os as ar er ir am em ado ada ados adas ando endo oes",
    "dutch": "e en s t de den te ten",
    "russian": """а я ы и у ю е о ь ом ем ой ей ов ев ам ям ами ями ах ях ый ий ая ое ее ые ие ого его ому ему ым им ых
    их ать ить еть л ла ло ли ет ут ют ит ат ят""",
    "arabic": "ة ات ين ون ي",
    "hindi": "ा े ी ों ें ियां ियों ना ने नी ता ते ती",
}
_ARABIC_PREFIXES = ("", "ال", "و", "ب", "ل", "وال", "بال")
_LEAST = {"russian": 3, "arabic": 3, "hindi": 2}
"""How many letters a word keeps when its ending is taken off, where it is not four."""


def _split(words: str) -> tuple[str, ...]:
    return tuple(sorted({fold_accents(word) for word in words.split()}, key=lambda word: (-len(word), word)))


_BY_LANGUAGE = {language: _split(words) for language, words in _ENDINGS.items()}


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
    if language == "english":
        found = _english(word)
    elif language == "arabic":
        core = next((word[len(begin) :] for begin in _ARABIC_PREFIXES[:0:-1] if _is_begun(word, begin)), word)
        found = [begin + form for begin in _ARABIC_PREFIXES for form in _inflected(core, language)]
    else:
        found = _inflected(word, language)
    return tuple(dict.fromkeys([word, *found]))


def _is_begun(word: str, begin: str) -> bool:
    return word.startswith(begin) and len(word) - len(begin) >= _LEAST["arabic"]


def _inflected(word: str, language: str) -> list[str]:
    endings = _BY_LANGUAGE.get(language, ())
    least = _LEAST.get(language, 4)
    if len(word) < least:
        return [word]
    fitting = (end for end in endings if word.endswith(end) and len(word) - len(end) >= least)
    base = word[: len(word) - len(next(fitting, ""))]
    return [start + end for start in dict.fromkeys((base, word)) for end in ("", *endings)]


def _english(word: str) -> list[str]:
    if len(word) < 3 or not word.isalpha():
        return [word]
    bases = [word, stem(word)]
    ending = next((end for end in ("ing", "ied", "ed", "ers", "er") if word.endswith(end)), "")
    base = word[: len(word) - len(ending)]
    if ending and len(base) >= 3:
        bases += [base + "y"] if ending == "ied" else [base, base + "e"]
        bases += [base[:-1]] if base[-1] == base[-2] else []
    return [form for base in dict.fromkeys(bases) for form in _english_forms(base)]


def _english_forms(base: str) -> list[str]:
    if base.endswith("e"):
        return [base, base + "s", base + "d", base[:-1] + "ing", base + "r", base + "rs"]
    if base.endswith("y"):
        return [base, base + "s", base[:-1] + "ies", base[:-1] + "ied", base + "ing", base[:-1] + "ier"]
    doubled = base + base[-1] if len(base) <= 5 and base[-1] not in "aeiouwxys" else base
    endings = ("ed", "ing", "er", "ers") if len(base) > 3 else ("ed", "ing")
    return [base, base + "s", base + "es", *(start + end for start in {base, doubled} for end in endings)]
