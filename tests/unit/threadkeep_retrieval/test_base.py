"""The parts of the contract that do something: rewriting without an event loop, and filters in Python and in SQL."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.threadkeep_retrieval.strict_retriever import StrictRetriever
from threadkeep.conversation.message import Message, Role
from threadkeep.errors import InvalidValue
from threadkeep.turn.lookup import Scalar
from threadkeep_retrieval.base import Filter, Operator, fits, rewrite_sync
from threadkeep_retrieval.sqlite.reading import condition
from threadkeep_retrieval.words_rewriter import WordsRewriter

HISTORY = (Message(role=Role.USER, content="Tell me about the Fairphone"),)
REWRITER = WordsRewriter(StrictRetriever({"fairphone": 0.9}))


def test_a_synchronous_caller_gets_the_same() -> None:
    assert rewrite_sync(REWRITER, "What does it weigh?", HISTORY).words == ("Fairphone",)


async def test_it_may_be_called_beside_a_running_event_loop() -> None:
    assert rewrite_sync(REWRITER, "What does it weigh?", HISTORY) == await REWRITER.rewrite(
        "What does it weigh?", HISTORY
    )


OPERATORS: list[Operator] = ["=", "!=", "<", "<=", ">", ">="]
SCALARS = st.one_of(
    st.sampled_from(["", "a", "b", "10", "é"]), st.integers(-2, 2), st.sampled_from([0.5, -1.0, 2.0]), st.booleans()
)


def fits_in_sql(metadata: dict[str, Scalar], each: Filter) -> bool:
    database = apsw.Connection(":memory:")
    database.execute("CREATE TABLE field (document INTEGER, name TEXT, value ANY) STRICT; CREATE TABLE row (document)")
    database.execute("INSERT INTO row VALUES (1)")
    database.executemany("INSERT INTO field VALUES (1, ?, ?)", list(metadata.items()))
    sql, bindings = condition([each])
    return bool(database.execute(f"SELECT count(*) FROM row WHERE {sql}", bindings).get)


@given(value=SCALARS, operator=st.sampled_from(OPERATORS), wanted=SCALARS)
def test_python_and_sql_agree(value: Scalar, operator: Operator, wanted: Scalar) -> None:
    each = Filter("price", operator, wanted)
    assert fits({"price": value}, [each]) is fits_in_sql({"price": value}, each)


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_document_without_the_field_never_fits(operator: Operator) -> None:
    each = Filter("price", operator, 500)
    assert not fits({"weight": 3}, [each])
    assert not fits_in_sql({"weight": 3}, each)


def test_a_text_is_neither_below_nor_above_a_number() -> None:
    assert not fits({"price": "on request"}, [Filter("price", ">", 100)])
    assert not fits({"price": "on request"}, [Filter("price", "<", 100)])
    assert fits({"price": "on request"}, [Filter("price", "!=", 100)])


def test_every_filter_must_be_met() -> None:
    metadata = {"price": 449, "brand": "Samsung"}
    assert fits(metadata, [Filter("price", "<", 500), Filter("brand", "=", "Samsung")])
    assert not fits(metadata, [Filter("price", "<", 500), Filter("brand", "=", "Google")])
    assert fits(metadata, [])


@pytest.mark.parametrize("name", ["price' OR 1=1 --", "a)b", "?", "'; DROP TABLE field; --"])
def test_names_and_values_are_never_part_of_the_statement(name: str) -> None:
    sql, bindings = condition([Filter(name, "=", name)])
    assert name not in sql.replace("?", "") or name == "?"
    assert bindings == [name, name]
    assert fits_in_sql({name: name}, Filter(name, "=", name))


def test_another_operator_is_refused() -> None:
    with pytest.raises(InvalidValue, match="LIKE"):
        condition([Filter("price", "LIKE", "x")])  # type: ignore[arg-type]
