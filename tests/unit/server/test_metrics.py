"""Metrics: the text that Prometheus reads, and what is counted in it."""

import asyncio
import re

import httpx
import pytest

from tests.unit.server.serving import conversation, served, until
from threadkeep.llm.base import Stopped, Text
from threadkeep.server.metrics import Counter, Gauge, Histogram, render
from threadkeep.testing.scripted_model import ScriptedModel, says

LINE = re.compile(r'[a-z_]+(\{[a-z_]+="(?:[^"\\\n]|\\.)*"(,[a-z_]+="(?:[^"\\\n]|\\.)*")*\})? [0-9.e+-]+')


def test_a_counter_is_written_for_each_set_of_labels() -> None:
    counter = Counter("seen_total", "Things seen.", ["kind"])
    counter.add("cat")
    counter.add("cat", by=2)
    counter.add('"dog"\n\\')
    assert render([counter]) == (
        "# HELP seen_total Things seen.\n# TYPE seen_total counter\n"
        'seen_total{kind="cat"} 3\nseen_total{kind="\\"dog\\"\\n\\\\"} 1\n'
    )


def test_a_counter_without_labels_begins_at_nothing() -> None:
    assert list(Counter("seen_total", "Things seen.").lines()) == ["seen_total 0"]


def test_a_gauge_is_asked_when_somebody_looks() -> None:
    numbers = iter([1, 2.5])
    gauge = Gauge("level", "How high.", lambda: next(numbers))
    assert [*gauge.lines(), *gauge.lines()] == ["level 1", "level 2.5"]


def test_a_gauge_with_a_label_has_a_number_for_each_of_its_values() -> None:
    gauge = Gauge("level", "How high.", lambda: {"a": 1, "b": 0}, "river")
    assert list(gauge.lines()) == ['level{river="a"} 1', 'level{river="b"} 0']


def test_a_histogram_counts_what_is_below_each_bound() -> None:
    histogram = Histogram("took_seconds", "How long.", bounds=(0.1, 1))
    for seconds in (0.1, 0.5, 0.5, 7):
        histogram.observe(seconds)
    assert list(histogram.lines()) == [
        'took_seconds_bucket{le="0.1"} 1',
        'took_seconds_bucket{le="1"} 3',
        'took_seconds_bucket{le="+Inf"} 4',
        "took_seconds_sum 8.1",
        "took_seconds_count 4",
    ]


async def _numbers(client: httpx.AsyncClient) -> dict[str, float]:
    text = (await client.get("/metrics")).text
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}


async def test_every_line_can_be_read_by_prometheus() -> None:
    async with served(model="demo") as client:
        path = await conversation(client)
        await client.post(f"{path}/messages", json={"content": "Hello."})
        answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert [line for line in answer.text.splitlines() if line[0] != "#" and not LINE.fullmatch(line)] == []


async def test_turns_tokens_and_times_are_counted() -> None:
    model = ScriptedModel(says("Hello", " there"), says("A title"))
    async with served(model=model) as client:
        path = await conversation(client)
        await client.post(f"{path}/messages", json={"content": "Hello."})
        numbers = await _numbers(client)
    assert numbers['threadkeep_turns_total{state="completed"}'] == 1
    assert numbers['threadkeep_turn_seconds_count{state="completed"}'] == 1
    assert numbers['threadkeep_tokens_total{direction="input"}'] == 10
    assert numbers['threadkeep_tokens_total{direction="output"}'] == 2
    assert numbers["threadkeep_first_text_seconds_count"] == 1
    assert numbers["threadkeep_commit_seconds_count"] >= 1


async def test_requests_are_counted_by_route_and_never_by_id() -> None:
    async with served() as client:
        path = await conversation(client)
        await client.get(path)
        await client.get("/v1/conversations/unknown")
        await client.get("/anything/at/all")
        await client.request("BREW", "/")
        numbers = await _numbers(client)
    read = 'threadkeep_requests_total{{method="GET",route="/v1/conversations/{{id}}",status="{}"}}'
    assert (numbers[read.format(200)], numbers[read.format(404)]) == (1, 1)
    assert numbers['threadkeep_requests_total{method="GET",route="unmatched",status="404"}'] == 1
    assert numbers['threadkeep_errors_total{code="conversation_not_found"}'] == 1
    assert any('method="other"' in name for name in numbers)
    assert not any(path.rpartition("/")[2] in name or "anything" in name for name in numbers)


async def test_turns_that_run_are_seen() -> None:
    go_on = asyncio.Event()
    model = ScriptedModel([Text("Well"), go_on, Stopped("stop")], says("A title"))
    async with served(model=model) as client:
        path = await conversation(client)
        await client.post(f"{path}/messages", json={"content": "Hello."}, headers={"Prefer": "respond-async"})
        assert (await _numbers(client))["threadkeep_running_turns"] == 1
        go_on.set()

        async def has_ended() -> bool:
            return (await _numbers(client))["threadkeep_running_turns"] == 0

        await until(has_ended)


@pytest.mark.parametrize("host", ["evil.example", "10.0.0.1"])
async def test_they_are_not_for_other_hosts(host: str) -> None:
    async with served() as client:
        assert (await client.get("/metrics", headers={"Host": host})).status_code == 400
