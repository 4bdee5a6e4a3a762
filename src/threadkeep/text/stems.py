"""Forms of words, so that "phones" in a question and "phone" in an answer are one word.

`stem` compares words that are at hand. An index holds words as they were written, so `forms` goes the other way: it
lists what a word may look like there. A form that does not exist finds nothing and does no harm.
"""

from functools import lru_cache

from threadkeep.text.stop_words import fold_accents

_ENDINGS = {
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
_LEAST = {"russian": 3, "arabic": 3, "hindi": 2}
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


# Verbs and a few nouns whose forms share no ending, with the nouns that are made of them.
_IRREGULAR = """be was were been|begin began begun|break broke broken|bring brought|build built|buy bought|catch caught
choose chose chosen choice|come came|cut|do did done|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten
fall fell fallen|feel felt|fight fought|find found|fly flew flown flight|forget forgot forgotten|get got gotten
give gave given gift|go went gone|grow grew grown growth|hear heard|hide hid hidden|hold held|keep kept|know knew known
leave left|lend lent|lose lost loss|make made|mean meant|meet met|pay paid|ride rode ridden|rise rose risen|run ran
say said|see saw seen|sell sold sale|send sent|shoot shot|sing sang sung song|sleep slept|speak spoke spoken speech
spend spent|steal stole stolen|swim swam swum|take took taken|teach taught|tell told|think thought|throw threw thrown
wake woke woken|wear wore worn|win won winner|write wrote written|child children|person people|man men|woman women
foot feet|tooth teeth|wife wives|life lives|die died death|marry married marriage|born birth"""
_FAMILIES = {word: family for family in map(str.split, _IRREGULAR.replace("\n", "|").split("|")) for word in family}
_SUFFIXES = (("ing", 3), ("ied", 3), ("ed", 3), ("er", 3), ("ation", 4), ("ion", 4), ("ment", 4), ("al", 4))
"""Endings that English verbs and the nouns made of them have, and how many letters must be left."""


def _english(word: str) -> list[str]:
    if len(word) < 3 or not word.isalpha():
        return [word]
    bases, whole = list[str](), stem(word)
    for ending, least in _SUFFIXES:
        if least <= len(base := whole.removesuffix(ending)) < len(whole):
            bases = [base + "y"] if ending == "ied" else [base, base + "e"]
            bases += [base[:-1]] if base[-1] == base[-2] else []
            break
    family = next((_FAMILIES[base] for base in (word, whole, *bases) if base in _FAMILIES), [])
    found = [form for base in [*(bases or [whole]), *family[:1]] for form in _english_forms(base)]
    return [word, whole, whole + "s", *found, *family]


def _english_forms(base: str) -> list[str]:
    if base.endswith("e"):
        nouns = [base[:-1] + "ion", base[:-1] + "al", base + "ment"]
        return [base, base + "s", base + "d", base[:-1] + "ing", base + "r", base + "rs", *nouns]
    if base.endswith("y"):
        return [base, base + "s", base[:-1] + "ies", base[:-1] + "ied", base + "ing", base[:-1] + "ier"]
    doubled = base + base[-1] if len(base) <= 5 and base[-1] not in "aeiouwxys" else base
    endings = ("ed", "ing", "er", "ers") if len(base) > 3 else ("ed", "ing")
    nouns = [base + "ion", base + "ment"] if len(base) > 3 else []
    return [base, base + "s", base + "es", *(start + end for start in {base, doubled} for end in endings), *nouns]
