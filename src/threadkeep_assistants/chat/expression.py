"""The arithmetic in a question: what people write and say ("15 % of 80", "12 times 8") as an
expression that the tool can work out. A question is split into tokens once, and is a sum only if nothing else stands in
it: in doubt there is none, because a date, a range or a telephone number is no sum."""

import re
import unicodedata
from itertools import dropwhile

from threadkeep_assistants.vocabulary.scanning import word_set

MOST_CHARACTERS = 300
_TOKEN = re.compile(r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?(?:e[+-]?\d+(?!\w))?|\.\d+|\*\*|//|[a-z']+|\S")
_NO_SUM = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?/\d\d?/\d{2,4}|\d{3}-\d{4}|24/7")
_LEADS = word_set("what what's whats is are how much calculate compute and now then so please")
_TAILS = word_set("? = . ! please now")
_SIGNS = {"×": "*", "÷": "/", "^": "**", "−": "-", "–": "-", "x": "*"}  # noqa: RUF001 - as people write
_SPOKEN = (
    "to the power of=**|multiplied by=*|divided by=/|half of=0.5 *|times=*"
    "|over=/|plus=+|minus=-|mod=%|modulo=%|percent=%|squared=** 2|cubed=** 3|double=2 *|twice=2 *"
)
_SAID = {tuple(words.split()): signs.split() for words, signs in (said.split("=") for said in _SPOKEN.split("|"))}
_OPERATORS = word_set("** // + - * / %")
_FUNCTIONS = word_set("sqrt abs max min log sin cos tan")
_OTHERS = word_set("( ) , pi e")


def expression_in(question: str) -> str | None:
    """Return the expression that a question asks for; None if it is no sum."""
    text = unicodedata.normalize("NFKC", question[:MOST_CHARACTERS]).replace("’", "'").lower()  # noqa: RUF001
    tokens = _TOKEN.findall("".join(str(unicodedata.decimal(sign, sign)) for sign in text))
    while tokens and tokens[-1] in _TAILS:
        tokens.pop()
    tokens = list(dropwhile(_LEADS.__contains__, tokens))
    tokens = _spoken([_SIGNS.get(token, token.replace(",", "") or ",") for token in tokens])
    tokens = _percent(tokens)
    is_sum = not _OPERATORS.isdisjoint(tokens[1:]) or not _FUNCTIONS.isdisjoint(tokens)
    known = _OPERATORS | _FUNCTIONS | _OTHERS
    fits = all(token in known or token.strip("(-.")[:1].isdigit() for token in tokens)
    if not is_sum or not fits or len(question) > MOST_CHARACTERS or _NO_SUM.fullmatch("".join(tokens)):
        return None
    return re.sub(r"(?<=\() | (?=[),])|(?<=[a-z]) (?=\()", "", " ".join(tokens))


def _spoken(tokens: list[str]) -> list[str]:
    """Return the tokens with signs in place of the words for them."""
    found, at = list[str](), 0
    while at < len(tokens):
        length = next((size for size in (4, 3, 2, 1) if tuple(tokens[at : at + size]) in _SAID), 0)
        found += _SAID[tuple(tokens[at : at + length])] if length else [tokens[at]]
        at += length or 1
    return found


def _percent(tokens: list[str]) -> list[str]:
    """Return "15 % of 80" and "200 - 20 %" as what they mean; elsewhere % is the rest of a division."""
    match tokens:
        case [part, "%", "of", whole]:
            return [part, "/", "100", "*", whole]
        case [whole, "+" | "-" as sign, part, "%"]:
            return [whole, "*", "(", "1", sign, part, "/", "100", ")"]
        case _:
            return tokens
