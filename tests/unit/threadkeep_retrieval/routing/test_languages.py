"""Follow-ups in other languages: what a question points at, and whether it names something itself."""

import json
from pathlib import Path
from statistics import mean

import pytest

from threadkeep.conversation.message import Message, Role
from threadkeep_retrieval.routing.follow_up import follow_up
from threadkeep_retrieval.routing.languages import signs_in

ROOT = Path(__file__).parents[4]
TURNS = [json.loads(line) for line in (ROOT / "bench/followups/turns.jsonl").read_text("utf-8").splitlines()]
CASES = [json.loads(line) for line in (ROOT / "bench/followups/languages.jsonl").read_text("utf-8").splitlines()]


def judged(question: str, before: str, asked: str = "") -> bool:
    history = [Message(role=Role.USER, content=asked), Message(role=Role.ASSISTANT, content=before)]
    return follow_up(question, history[not asked :]).needs_context


@pytest.mark.parametrize(
    ("before", "goes_on", "stands_alone"),
    [
        ("索尼A7很好，佳能R6也值得推荐。", "它多少钱？", "法国的首都是哪里？"),
        ("ソニーA7が良いです。", "バッテリーは？", "源氏物語を書いたのは誰ですか？"),
        ("소니 A7이 좋습니다.", "다른 것도 있어요?", "프랑스의 수도는 어디예요?"),
        ("سوني A7 كاميرا جيدة.", "كم سعره؟", "ما هي عاصمة فرنسا؟"),
        ("सोनी A7 एक अच्छा कैमरा है।", "इसकी कीमत क्या है?", "फ्रांस की राजधानी क्या है?"),
        ("Sony A7 это хорошая камера.", "А сколько он стоит?", "Какая столица Австралии?"),
        ("La Sony A7 è una buona fotocamera.", "Quali sono i vantaggi?", "Chi ha scritto la Divina Commedia?"),
        ("De Sony A7 is een goede camera.", "Hoe zwaar is hij?", "Wie schilderde de Nachtwacht?"),
    ],
)
def test_a_follow_up_and_a_question_that_stands_alone_are_told_apart(
    before: str, goes_on: str, stands_alone: str
) -> None:
    assert judged(goes_on, before)
    assert not judged(stands_alone, before)


@pytest.mark.parametrize("language", sorted({case["language"] for case in CASES}))
def test_the_questions_of_a_language_are_told_apart(language: str) -> None:
    some = [case for case in CASES if case["language"] == language]
    right = {case["question"]: judged(case["question"], case["before"]) == case["needs_context"] for case in some}
    halves = [[right[case["question"]] for case in some if case["needs_context"] is needs] for needs in (True, False)]
    assert min(map(len, halves)) >= 20
    assert mean(map(mean, halves)) >= 0.8


@pytest.mark.parametrize("language", sorted({row["language"] for row in TURNS}))
def test_questions_after_a_turn_are_told_apart(language: str) -> None:
    rows = [row for row in TURNS if row["language"] == language]
    halves = [
        [judged(question, row["history"][1], row["history"][0]) == needs for row in rows for question in row[name]]
        for name, needs in (("follow_ups", True), ("alone", False))
    ]
    assert min(map(len, halves)) >= 20
    assert mean(map(mean, halves)) >= 0.8


@pytest.mark.parametrize(
    "question",
    [
        "Mein Hund bellt, wie beruhige ich ihn?",
        "ضاعت بطاقتي البنكية، كيف أوقفها؟",
        "我的手机屏幕碎了，修一下它要多少钱？",
    ],
)
def test_a_pronoun_behind_what_the_question_named_does_not_point_back(question: str) -> None:
    shown = signs_in(question, [], [])
    assert shown is not None
    assert not {"points_back", "may_point"}.intersection(shown)


def test_a_word_that_only_the_answer_had_is_taken_up_in_any_form() -> None:
    asked, answered = ["Was soll ich mitnehmen?"], ["Feste Schuhe, eine Regenjacke und Karten."]
    assert "takes_up" in (signs_in("Welche Jacke würdest du empfehlen?", asked, answered) or ())
    assert "takes_up" in (signs_in("Wo kaufe ich die Karte?", asked, answered) or ())
    assert "takes_up" not in (signs_in("Was soll ich nicht mitnehmen?", asked, answered) or ())


def test_questions_are_typed_without_accents_and_marks() -> None:
    before = "El Fiat 500e es pequeño; el Renault 5 tiene más autonomía."
    assert not judged("cuantos planetas tiene el sistema solar", before)
    assert not judged("donde esta la torre inclinada de pisa y cuanto mide", before)
    assert judged("cuanto tarda en cargar", before)


def test_what_was_said_before_outweighs_a_word_that_another_language_has() -> None:
    before = "A Amazônia é a maior floresta tropical do mundo, com muitas espécies."
    assert "may_point" in (signs_in("Que animais vivem lá?", [], [before]) or ())


@pytest.mark.parametrize(
    ("before", "goes_on", "stands_alone"),
    [
        ("Il treno parte alle otto.", "Conviene prenotarlo prima?", "È vero che i gatti vedono al buio?"),
        ("La vacuna se pone en otoño.", "¿Dónde me la puedo poner?", "¿Cómo funciona la fotosíntesis?"),
        ("Le musée ouvre à neuf heures.", "On peut y manger ?", "Pourquoi les feuilles tombent-elles en automne ?"),
        ("Das Telefon ist neu.", "Gibt es ihn auch mit Kabel?", "Wie kocht man ein Ei, damit es weich bleibt?"),
        ("ペンギンは魚を食べます。", "クジラは？", "ほうれん草に含まれるビタミンは？"),
        ("تقع البتراء في الأردن.", "من بناها؟", "لماذا لون السماء أزرق؟"),
    ],
)
def test_what_a_verb_carries_and_what_a_question_names_itself_are_seen(
    before: str, goes_on: str, stands_alone: str
) -> None:
    assert judged(goes_on, before)
    assert not judged(stands_alone, before)


def test_what_was_said_before_decides_between_languages_that_share_a_word() -> None:
    for question, before in (
        ("Quanto custa?", "A Sony A7 é uma boa câmara."),
        ("Quanto costa?", "La Sony A7 è buona."),
    ):
        assert "nothing_specific" in list(signs_in(question, [], [before]) or ())


def test_english_and_unknown_languages_are_judged_elsewhere() -> None:
    assert signs_in("How much does it weigh?", [], ["The camera is good."]) is None
    assert signs_in("ราคาเท่าไหร่", [], ["กล้องดี"]) is None


@pytest.mark.parametrize("question", ["", "？", "的", "は", "그", "و", "\x00 это"])
def test_odd_questions_are_judged_all_the_same(question: str) -> None:
    assert isinstance(judged(question, "Sony A7 это хорошая камера. 你好"), bool)
