"""Dates that a text names, "in May" or "7 de mayo de 2023": recall prefers what was said then."""

import re

from threadkeep.text.stop_words import fold_accents

_MONTHS = """January|Januar|janvier|enero|gennaio|janeiro|januari|январ\\w*|يناير|जनवरी
February|Februar|fevrier|febrero|febbraio|fevereiro|februari|феврал\\w*|فبراير|फरवरी
March|Marz|mars|marzo|marco|maart|март\\w?|مارس|मार्च
April|avril|abril|aprile|апрел\\w*|أبريل|ابريل|अप्रैल
May|Mai|mayo|maggio|maio|mei|ма[йяе]|مايو|मई
June|Juni|juin|junio|giugno|junho|июн[ьяе]|يونيو|जून
July|Juli|juillet|julio|luglio|julho|июл[ьяе]|يوليو|जुलाई
August|aout|agosto|augustus|август\\w?|أغسطس|اغسطس|अगस्त
September|septembre|septiembre|settembre|setembro|сентябр\\w*|سبتمبر|सितंबर
October|Oktober|octobre|octubre|ottobre|outubro|октябр\\w*|أكتوبر|اكتوبر|अक्टूबर
November|novembre|noviembre|novembro|ноябр\\w*|نوفمبر|नवंबर
December|Dezember|decembre|diciembre|dicembre|dezembro|декабр\\w*|ديسمبر|दिसंबर"""
_NAMES = [re.compile(names, re.IGNORECASE) for names in fold_accents(_MONTHS).split("\n")]
_WORDS = {"march", "may"}
"""Months that are common words, too, unless they have a capital and do not begin the text."""
YEARS = 20
"""From how many years a date without a year may be."""
_DATE = re.compile(
    r"(?:\b(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.|º)?(?: of| de)? )?"
    rf"\b(?P<month>{'|'.join(names.pattern for names in _NAMES)})\b"
    r"(?: (?P<of>\d{1,2})(?!\d)(?:st|nd|rd|th)?)?(?:,?(?: de)? (?P<year>\d{4}))?"
    r"|(?:(?P<dense_year>\d{4})[年년] ?)?(?P<number>\d{1,2})[月월](?: ?(?P<dense_day>\d{1,2})[日일号號])?"
    r"|\b(?P<iso>\d{4}-\d\d(?:-\d\d)?)\b",
    re.IGNORECASE,
)


def named_dates(text: str, newest: int) -> list[list[str]]:
    """Return the dates that a text names, in any language, each as the ways in which it may be marked (`words.marks`):
    "7 May 2023" as 20230507, and without a year as that of each year up to the `newest`."""
    found = (match for match in _DATE.finditer(fold_accents(text)) if not _is_a_word(match))
    return [_marks(match, newest) for match in found]


def _is_a_word(match: re.Match[str]) -> bool:
    name = match["month"] or ""
    return name.lower() in _WORDS and not (name.istitle() and match.start("month"))


def _marks(match: re.Match[str], newest: int) -> list[str]:
    if match["iso"]:
        return [match["iso"].replace("-", "")]
    numbers = (number for number, names in enumerate(_NAMES, 1) if match["month"] and names.fullmatch(match["month"]))
    month = next(numbers, 0) or int(match["number"])
    day = match["day"] or match["of"] or match["dense_day"]
    year = match["year"] or match["dense_year"]
    years = [year] if year else range(newest, newest - YEARS, -1)
    return [f"{each}{month:02}{day.zfill(2) if day else ''}" for each in years]
