"""What "the second one" stands for: an item of the newest list that an answer has shown, in thirteen languages."""

import re
from collections.abc import Iterator, Sequence

from threadkeep.conversation.blocks import RankedList, SplitCompare, Table
from threadkeep.conversation.message import Message, Role
from threadkeep.text.stop_words import STOP_WORDS, fold_accents
from threadkeep.text.words import DENSE

NEWEST = 24
"""How many messages are looked at for a list."""
MOST_CHARACTERS = 400
"""How much of a question is looked at: who names a place is short."""
MAX_NAME = 120
_PLACES = (
    """first 1st former erste ersten erster erstes premier premiere primero primera primer primo prima primeiro primeira
    eerste первый первая первое первую первого первой первом الأول الأولى पहला पहली पहले""",
    """second 2nd zweite zweiten zweiter zweites zweitem deuxieme seconde segundo segunda secondo seconda tweede второй
    вторая второе вторую второго втором الثاني الثانية दूसरा दूसरी दूसरे""",
    """third 3rd dritte dritten dritter drittes troisieme tercero tercera tercer terzo terza terceiro terceira derde
    третий третья третье третью третьего третьей третьем الثالث الثالثة तीसरा तीसरी तीसरे""",
    """fourth 4th vierte vierten quatrieme cuarto cuarta quarto quarta vierde четвертый четвертая четвертую
    четвертого четвертой четвертом الرابع الرابعة चौथा चौथी चौथे""",
    """fifth 5th funfte funften cinquieme quinto quinta vijfde пятый пятая пятую пятого пятой пятом
    الخامس الخامسة पांचवां पांचवी पांचवे""",
)
_LAST = """last latter letzte letzten letzter letztes dernier derniere ultimo ultima laatste последний последняя
последнее последнюю последнего الأخير الأخيرة आखिरी अंतिम"""
_BY_WORD = {word: place for place, words in enumerate(_PLACES) for word in fold_accents(words).split()}
_BY_WORD |= dict.fromkeys(fold_accents(_LAST).split(), -1)
# A place in a list, but neither "the first time" nor "the second largest".
_DENSE = re.compile(
    "第([一二三四五]|[1-9]\\d?)(?![次世\\d])|([一二三四五]|[1-9]\\d?)[番つ]目|(첫|두|세|네|다섯|[1-9]\\d?) ?번째(?!로)"
    "|(最后|最後|마지막)"
)
_COUNTED = {
    sign: place for signs in ("一二三四五", ("첫", "두", "세", "네", "다섯")) for place, sign in enumerate(signs)
}
_WORLD = ("миров", "विश्व")
"""What makes a war, and no place in a list, of "second"."""
_ITEM = frozenset(
    "one ones item option entry result row product choice company phone model pick list table".split()  # noqa: SIM905
)
_WORD = re.compile(r"[^\W_]+(?:[\u0900-\u0963]|[^\W_])*")
_NUMBER = re.compile(
    r"(?:\b(?:number|no\.?|nr\.?|nummer|option|item|номер|numero)\s*|(?<!\S)#)(\d{1,2})\b", re.IGNORECASE
)
_LINE = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*•])[ \t]+(?P<text>\S.*)$", re.MULTILINE)
_BOLD = re.compile(r"\*\*([^*]{1,200})\*\*|`([^`]{1,200})`|\[([^][]{1,200})\]\(")
_NAME_END = re.compile(r"\s[-–—|]\s|[:;(]|,\s|\.\s|\.$")  # noqa: RUF001 - dashes that models write
_NAMES = ("name", "title", "label", "ticker", "symbol", "id")


def places(question: str) -> list[int]:
    """Return the places that a question names, from 0, the last one as -1; "the second world war" names none."""
    text = fold_accents(question[:MOST_CHARACTERS].lower())
    found = [int(number) - 1 for number in _NUMBER.findall(text) if int(number)]
    if DENSE.search(text):
        signs = ("".join(filter(None, match.groups())) for match in _DENSE.finditer(text))
        return found + [int(sign) - 1 if sign.isdigit() else _COUNTED.get(sign, -1) for sign in signs]
    words = _WORD.findall(text)
    behind = [*words, ""][1:]
    return found + [
        _BY_WORD[word]
        for word, follower in zip(words, behind, strict=True)
        if word in _BY_WORD
        and (
            not follower
            or follower in _ITEM
            or follower in STOP_WORDS
            or not (text.isascii() or follower.startswith(_WORLD))
        )
    ]


def meant(question: str, history: Sequence[Message]) -> tuple[str, ...]:
    """Return the names of the items that a question means by their places, in the newest list that was shown."""
    named = places(question)
    if not named:
        return ()
    answers = (message for message in reversed(history[-NEWEST:]) if message.role is Role.ASSISTANT)
    shown = next((items for message in answers if len(items := list(_items(message))) > 1), [])
    return tuple(dict.fromkeys(shown[place] for place in named if -len(shown) <= place < len(shown)))


def _items(message: Message) -> Iterator[str]:
    """Yield the names of what an answer lists: in its blocks, or in numbered or dotted lines."""
    for block in message.blocks:
        match block:
            case RankedList():
                named = ([str(row[key]) for key in _NAMES if row.get(key)] for row in block.rows)
                yield from (" ".join(dict.fromkeys(names))[:MAX_NAME] for names in named if names)
                return
            case Table():
                yield from (str(row[0])[:MAX_NAME] for row in block.rows if row)
                return
            case SplitCompare():
                yield from (block.leftTitle, block.rightTitle)
                return
            case _:
                continue
    for line in _LINE.finditer(message.content):
        bold = _BOLD.search(line["text"])
        name = next(filter(None, bold.groups())) if bold else _NAME_END.split(line["text"], maxsplit=1)[0]
        yield (name.strip(" *`") or line["text"].strip())[:MAX_NAME]
