"""What the trace of an answer tells about looking something up."""

from threadkeep.turn.lookup import LookedUp, Passage, Rewrite

REWRITE = Rewrite(
    question="and its price?", text="price of the camera", words=("camera",), by="model", why="it asks on"
)


def test_without_a_search_only_the_way_is_told() -> None:
    item = LookedUp(route="respond", why="small talk", rewrite=REWRITE).item
    assert item == {"kind": "query", "route": "respond", "route_why": "small talk", "question": "and its price?"}


def test_a_search_tells_what_was_looked_for_and_which_passages_were_found() -> None:
    found = (Passage(id="p-1", text="secret"), Passage(id="p-2", text="secret"))
    item = LookedUp(route="retrieve", why="a question", rewrite=REWRITE, passages=found).item
    assert (item["rewritten"], item["words"], item["by"]) == ("price of the camera", ["camera"], "model")
    assert item["passages"] == ["p-1", "p-2"]
    assert "error" not in item
    assert "secret" not in str(item)


def test_a_search_that_failed_says_why() -> None:
    item = LookedUp(route="retrieve", why="", rewrite=REWRITE, error="the index is away").item
    assert (item["error"], item["passages"]) == ("the index is away", [])
