"""The arithmetic in a question: what people write and say ("15 % of 80", "twelve times two", "times 2" after a result)
as an expression that the tool can work out. In doubt there is none: a date, a range or a telephone number is no sum."""

import re
import unicodedata

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SPELT = re.compile(
    rf"\b(?:(?P<ten>{'|'.join(_TENS)})(?:[- ](?P<and>{'|'.join(_ONES[1:10])}))?|(?P<one>{'|'.join(_ONES)}))\b"
)
_DIGITS = r"(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?"
_N = rf"(?:{_DIGITS}|\(-{_DIGITS}\))"
_SAID = tuple(
    (re.compile(pattern), sign)
    for pattern, sign in (
        (r"(?<=\d),(?=\d{3}\b)", ""),
        (r"[−–]", "-"),  # noqa: RUF001 - as phones write
        (r"\bto the power of\b|\^", "**"),
        (r"\bsquared\b", "**2"),
        (r"\bcubed\b", "**3"),
        (rf"\b(?:add|the sum of|sum of) ({_N}) (?:and|to) ({_N})", r"\1 + \2"),
        (rf"\b(?:multiply|the product of|product of) ({_N}) (?:and|by|with) ({_N})", r"\1 * \2"),
        (rf"\bsubtract ({_N}) from ({_N})", r"\2 - \1"),
        (rf"\bdivide ({_N}) by ({_N})", r"\1 / \2"),
        (r"\b(?:multiplied by|times)\b|×|(?<=\d)\s*x\s*(?=[\d(])", " * "),  # noqa: RUF001 - as people write
        (r"\b(?:divided by|over)\b|÷", " / "),
        (r"\bplus\b", "+"),
        (r"\bminus\b", "-"),
        (r"\bmod(?:ulo)?\b", "%"),
        (rf"\b(?:the )?square root of ({_N})", r"sqrt(\1)"),
        (rf"\b(?:a )?half of ({_N})", r"\1 / 2"),
        (rf"\b(?:double|twice) ({_N})", r"\1 * 2"),
        (rf"({_N})\s*(?:%|percent\b) of ({_N})", r"\1 / 100 * \2"),
        (rf"({_N})\s*([-+])\s*({_N})\s*(?:%(?!\s*[\d(])|percent\b)", r"\1 * (1 \2 \3 / 100)"),
    )
)
_RUN = re.compile(
    rf"(?<![\w.])(?:(?:{_DIGITS}|(?:sqrt|abs|max|min|round|log|sin|cos|tan)\(|pi\b|\*\*|//|[-+*/%(),])\s*)+(?!\w)"
)
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?/\d\d?/\d{2,4}")
_TELEPHONE = re.compile(r"\d{3}-\d{4}")
_ASKED = re.compile(r"(?:\bwhat(?:'?s| is| are)|\bhow much (?:is|are|makes?)|\bcalculate|\bcompute|\bwork out)\s*$")
_RESULT = re.compile(r"\b(?:that|it|this|the (?:result|answer|total|sum))\b")
_FILLING = r"(?:and|now|then|so|ok|please|what(?:'?s| is| about)|[\s?.!=,])*"
_FURTHER = re.compile(rf"{_FILLING}(?P<what>(?:\*\*|//|[-+*/%])\s*{_N}){_FILLING}")


def expression_in(question: str, result: str | None = None) -> str | None:
    """Return the expression that a question asks for. "Times 2" goes on with the `result` of the one before."""
    text = unicodedata.normalize("NFKC", question).replace("’", "'").lower()  # noqa: RUF001 - as phones write
    text = "".join(str(unicodedata.decimal(sign, sign)) for sign in " ".join(text.split()))
    spelt = _SPELT.sub(_spelt, text)
    return _alone(_signs(spelt)) or (_further(spelt, result) if result else None)


def _signs(text: str) -> str:
    for pattern, sign in _SAID:
        text = pattern.sub(sign, text)
    return text


def _spelt(found: re.Match[str]) -> str:
    if found["one"]:
        return str(_ONES.index(found["one"]))
    return str(20 + 10 * _TENS.index(found["ten"]) + (_ONES.index(found["and"]) if found["and"] else 0))


def _alone(text: str) -> str | None:
    """Return the expression that stands in a text."""
    for found in _RUN.finditer(text):
        run = " ".join(found[0].split()).strip(" ,").rstrip("-+*/% ,")
        is_sum = re.search(r"[\di)] ?(?:\*\*|//|[-+*/%]) ?[-\w(.]|[a-z]\(", run) and not _DATE.fullmatch(run)
        # Digits with hyphens or strokes between them may be anything, unless a sum is asked for.
        is_plain = re.search(r"[^\d\s./-]", run)
        is_all = found[0].strip() == text.strip(" ?=.!") and not _TELEPHONE.fullmatch(run)
        if is_sum and (is_plain or is_all or _ASKED.search(text[: found.start()])):
            return run
    return None


def _further(text: str, result: str) -> str | None:
    """Return what is to be done with the result before, if the text says nothing else."""
    value = f"({result})" if result.startswith("-") else result
    if found := _FURTHER.fullmatch(_signs(text)):
        return " ".join(f"{value} {found['what']}".split())
    named = _signs(_RESULT.sub(value, text))
    run = _alone(named) if _RESULT.search(text) else None
    return run if run and re.fullmatch(_FILLING, named.replace(run, "", 1)) else None
