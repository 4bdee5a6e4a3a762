"""Metrics: the text that Prometheus reads, and what is counted in it."""

import asyncio
import re
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from tests.unit.server.serving import conversation, served, until
from threadkeep import __version__
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import Lease
from threadkeep.llm.base import Stopped, Text
from threadkeep.llm.prices import Price
from threadkeep.server.metrics import ServerMetrics
from threadkeep.settings import Settings
from threadkeep.testing.scripted_model import ScriptedModel, says

LEASE = Lease(scope=LOCAL, conversation="c", turn=1, owner="o", fence=1)
LINE = re.compile(r'[a-z_]+(\{[a-z_]+="(?:[^"\\\n]|\\.)*"(,[a-z_]+="(?:[^"\\\n]|\\.)*")*\})? [0-9.e+-]+')


def test_a_watched_number_is_asked_for_when_somebody_looks() -> None:
    metrics, numbers = ServerMetrics(), iter([1, 2.5])
    metrics.watch("level", "How high.", lambda: next(numbers))
    assert "\nlevel 1.0\n" in metrics.render().decode()
    assert "\nlevel 2.5\n" in metrics.render().decode()


def test_a_watched_label_has_a_number_for_each_of_its_values() -> None:
    metrics = ServerMetrics()
    metrics.watch("level", "How high.", lambda: {"a": 1, 'the "b"': 0}, "river")
    text = metrics.render().decode()
    assert '# TYPE level gauge\nlevel{river="a"} 1.0\nlevel{river="the \\"b\\""} 0.0\n' in text


def test_two_applications_of_a_process_count_apart() -> None:
    one, other = ServerMetrics(), ServerMetrics()
    one.spoke(LEASE, 0.2)
    assert "threadkeep_first_text_seconds_count 1.0" in one.render().decode()
    assert "threadkeep_first_text_seconds_count 0.0" in other.render().decode()


def test_the_release_is_told_and_nothing_that_the_guide_does_not_name() -> None:
    text = ServerMetrics().render().decode()
    assert f'threadkeep_info{{version="{__version__}"}} 1.0' in text
    assert "_created" not in text


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
    settings = Settings(store="memory:", prices={"scripted": Price(input=Decimal(1), output=Decimal(3))})
    async with served(settings, model) as client:
        path = await conversation(client)
        await client.post(f"{path}/messages", json={"content": "Hello."})
        numbers = await _numbers(client)
    assert numbers['threadkeep_cost_total{currency="USD"}'] == pytest.approx(0.000016)
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


GUIDE = (Path(__file__).parents[3] / "docs" / "howto" / "operate.md").read_text()
WATCHED = {f"threadkeep_{name}" for name in ("running_turns", "open_streams", "mcp_ready", "unreached_tenants")}
SPOOLED = {
    "threadkeep_outage_seconds",
    *(f"threadkeep_spooled_{what}" for what in ("conversations", "entries", "bytes")),
}


def test_every_metric_is_explained() -> None:
    counted = set(re.findall(r"^# TYPE (\w+)", ServerMetrics().render().decode(), re.MULTILINE)) - {"threadkeep_info"}
    assert set(re.findall(r"`(threadkeep_\w+)", GUIDE)) == counted | WATCHED | SPOOLED


def test_every_setting_in_it_exists() -> None:
    named = set(re.findall(r"^(\w+) = ", GUIDE, re.MULTILINE)) | set(re.findall(r"`(\w+) = ", GUIDE))
    assert named
    assert named <= Settings.model_fields.keys()
