"""Places in lists that answers have shown."""

import pytest

from threadkeep.conversation.blocks import RankedList, SplitCompare, Table
from threadkeep.conversation.message import Message, Role
from threadkeep_retrieval.ordinals import meant, places

LISTED = Message(role=Role.ASSISTANT, content="Here:\n1. **Alpha** - $4\n2. Beta: small\n3. Gamma, large\n\nEnjoy!")


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Tell me about the second one", [1]),
        ("the first and the third?", [0, 2]),
        ("And the last one?", [-1]),
        ("number 2", [1]),
        ("#3, please", [2]),
        ("Was kostet der zweite?", [1]),
        ("et le deuxième ?", [1]),
        ("¿y el tercero?", [2]),
        ("Quanto costa il secondo?", [1]),
        ("e a segunda?", [1]),
        ("hoe duur is de tweede?", [1]),
        ("Сколько стоит второй?", [1]),
        ("Расскажи о третьей", [2]),
        ("第二个多少钱？", [1]),
        ("二番目はいくら？", [1]),
        ("두 번째는 얼마예요?", [1]),
        ("2번째 건요?", [1]),
        ("第2个呢", [1]),
        ("3つ目を詳しく", [2]),
        ("마지막 거 좋아요?", [-1]),
        ("Четвёртую, пожалуйста", [3]),
        ("तीसरे के बारे में बताओ", [2]),
        ("Вторая мировая война когда началась?", []),
        ("第一次世界大战是什么时候?", []),
        ("두 번째로 큰 나라는?", []),
        ("दूसरा विश्व युद्ध कब हुआ था?", []),
        ("كم سعر الثاني؟", [1]),
        ("दूसरा कितने का है?", [1]),
        ("Why did the second world war begin?", []),
        ("What is the first name of Bach?", []),
        ("number 0", []),
        ("", []),
    ],
)
def test_places_are_read_in_many_languages(question: str, found: list[int]) -> None:
    assert places(question) == found


def test_the_newest_list_that_was_shown_is_meant() -> None:
    older = Message(role=Role.ASSISTANT, content="- Delta\n- Epsilon")
    said = [older, LISTED, Message(role=Role.ASSISTANT, content="No list: 1. is none.")]
    assert meant("the second one", said) == ("Beta",)
    assert meant("the first and the last one", said) == ("Alpha", "Gamma")
    assert meant("the fifth one", said) == ()
    assert meant("the second one", [older, LISTED][:1]) == ("Epsilon",)
    assert meant("and now?", said) == ()
    assert meant("the second one", []) == ()


@pytest.mark.parametrize(
    "block",
    [
        RankedList(rows=[{"ticker": "A"}, {"ticker": "BB", "name": "Beta"}]),
        Table(columns=["name"], rows=[["A"], ["Beta BB"], []]),
        SplitCompare(leftTitle="A", rightTitle="Beta BB"),
    ],
)
def test_blocks_are_lists_too(block: RankedList | Table | SplitCompare) -> None:
    assert meant("the second one", [Message(role=Role.ASSISTANT, blocks=(block,))]) == ("Beta BB",)
