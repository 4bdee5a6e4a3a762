"""Log lines: what they hold, what they never hold, and that nobody waits for them."""

import io
import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from tests.unit.server.serving import conversation, served
from threadkeep.conversation.message import Usage
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import Failure, Lease, TurnChange, TurnState
from threadkeep.conversations import Conversations
from threadkeep.hosting import Hosting
from threadkeep.runtime import open_conversations
from threadkeep.server.logs import (
    MOST_SAME,
    MOST_WAITING,
    SAME_SECONDS,
    HumanLines,
    JsonLines,
    LineFormatter,
    LineWriter,
    RepeatFilter,
    TurnLog,
    logging_to,
)
from threadkeep.settings import McpSettings, Settings
from threadkeep.testing.scripted_model import ScriptedModel, says

logger = logging.getLogger("threadkeep.tests")


class Terminal(io.StringIO):
    """A stream for people."""

    def isatty(self) -> bool:
        return True


@contextmanager
def logged(stream: io.StringIO, **options: Any) -> Iterator[io.StringIO]:
    with logging_to(stream, **options):
        yield stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_no_line_tells_a_secret_of_the_settings_or_of_the_environment(
    kind: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "mango4orchard9")
    server = {"url": "https://tools.example", "headers": {"X-Own": "header4value9"}}
    settings = Settings(
        store="postgresql://me:word4pass9@host/db",
        audit_key=SecretStr("audit4audit9audit"),
        mcp=McpSettings.model_validate({"servers": {"far": server}}),
    )
    told = "mango4orchard9 header4value9 word4pass9 audit4audit9audit"
    with logged(kind(), secrets=settings.secrets, content=True) as stream:
        try:
            raise ValueError(told)
        except ValueError:
            logger.warning("failed: %s", told, exc_info=True, extra={"fields": {"detail": told}})
    assert "failed: [hidden] [hidden] [hidden] [hidden]" in stream.getvalue()
    assert not [secret for secret in told.split() if secret in stream.getvalue()]


def test_a_program_gets_json_and_a_person_a_line() -> None:
    with logged(io.StringIO()) as stream:
        logger.info("hello %s", "you", extra={"fields": {"status": 200}})
    (line,) = lines(stream)
    assert (line["level"], line["message"], line["status"]) == ("info", "hello you", 200)
    with logged(Terminal()) as terminal:
        logger.info("hello %s", "you")
    assert terminal.getvalue().endswith("info    hello you\n")


def test_what_another_package_says_again_and_again_is_written_a_few_times_only() -> None:
    now = 0.0
    repeats = RepeatFilter(lambda: now)

    def is_written(name: str, said: str) -> bool:
        return repeats.filter(logging.LogRecord(name, logging.ERROR, "", 0, said, (), None))

    full = "socket.accept() out of system resource\nsocket: <%s>"
    assert sum(is_written("asyncio", full % number) for number in range(1000)) == MOST_SAME
    assert is_written("asyncio", "something else")
    assert all(is_written("threadkeep.server", "mind") for _ in range(100))
    now = SAME_SECONDS
    assert is_written("asyncio", full)


def test_less_important_lines_are_left_out() -> None:
    with logged(io.StringIO(), level="warning") as stream:
        logger.info("small talk")
        logger.warning("mind")
    assert [line["message"] for line in lines(stream)] == ["mind"]


def test_other_packages_are_heard_only_when_they_warn() -> None:
    with logged(io.StringIO(), level="debug") as stream:
        logging.getLogger("httpx").info("POST https://provider.example/?key=secret")
        logging.getLogger("httpx").warning("mind")
    assert [line["message"] for line in lines(stream)] == ["mind"]


def test_a_reader_who_left_is_no_news() -> None:
    with logged(io.StringIO()) as stream:
        logging.getLogger("asyncio").warning("socket.send() raised exception.")
        logging.getLogger("asyncio").warning("Executing %s took too long", "it")
    assert [line["message"] for line in lines(stream)] == ["Executing it took too long"]


def _broken(formatter: LineFormatter) -> str:
    """The line of an error with two messages that nobody may see."""
    said = "what somebody said"
    try:
        try:
            raise KeyError(said)
        except KeyError as first:
            raise ValueError(said) from first
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "it broke", (), (ValueError, error, None))
        return formatter.format(record)


@pytest.mark.parametrize("kind", [JsonLines, HumanLines])
def test_an_exception_is_told_by_type_and_place_but_not_by_its_message(kind: type[LineFormatter]) -> None:
    told = _broken(kind())
    assert "raise ValueError(said) from first" in told
    assert "builtins.KeyError" in told
    assert told.count("somebody") == 0
    assert "ValueError: what somebody said" in _broken(kind(content=True))


def test_a_line_cannot_be_broken_from_outside() -> None:
    with logged(Terminal()) as terminal:
        logger.info("GET %s", "/x\nerror   all is lost\x1b[2J\u2028")
    assert terminal.getvalue().count("\n") == 1
    assert "\\n" in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()


def test_a_reader_who_is_too_slow_loses_lines_and_nobody_waits() -> None:
    read, write = os.pipe()
    with os.fdopen(read) as reader, os.fdopen(write, "w") as writer:
        log = LineWriter(writer, JsonLines())
        for number in range(MOST_WAITING * 2):
            log.emit(logging.LogRecord("x", logging.INFO, "", 0, "line %s", (number,), None))
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.extend(reader))
        thread.start()
        log.finish()
        log.emit(logging.LogRecord("x", logging.INFO, "", 0, "after the end", (), None))
        writer.close()
        thread.join()
    assert any("log lines were dropped" in line for line in found)


def test_a_line_that_cannot_be_made_is_not_the_end_of_the_log() -> None:
    stream = io.StringIO()
    writer = LineWriter(stream, JsonLines())
    for said, given in (("%d", ("no number",)), ("the next line", ())):
        writer.emit(logging.LogRecord("threadkeep.test", logging.INFO, "", 0, said, given, None))
    writer.finish()
    assert "the next line" in stream.getvalue()
    assert "1 log lines were dropped" in stream.getvalue()


async def test_a_request_is_one_line_without_its_query() -> None:
    with logged(io.StringIO()) as stream:
        async with served() as client:
            answer = await client.get("/v1/search?q=what+somebody+said")
    (line,) = [line for line in lines(stream) if line["logger"] == "threadkeep.server.logs"]
    assert (line["method"], line["path"], line["route"], line["status"]) == ("GET", "/v1/search", "/v1/search", 200)
    assert (line["tenant"], line["user"]) == ("local", "local")
    assert line["request_id"] == answer.headers["x-request-id"]
    assert line["duration_ms"] >= 0
    assert "somebody" not in stream.getvalue()


async def test_a_problem_is_logged_with_its_code() -> None:
    with logged(io.StringIO()) as stream:
        async with served() as client:
            await client.get("/v1/conversations/none")
    line = lines(stream)[-1]
    assert (line["status"], line["code"], line["route"]) == (404, "conversation_not_found", "/v1/conversations/{id}")


async def test_health_is_not_worth_a_line() -> None:
    with logged(io.StringIO()) as stream:
        async with served() as client:
            await client.get("/health/live")
            await client.get("/metrics")
    assert [line for line in lines(stream) if line["logger"] == "threadkeep.server.logs"] == []


async def test_nothing_that_was_said_gets_into_the_log() -> None:
    with logged(io.StringIO(), level="debug") as stream:
        async with served() as client:
            path = await conversation(client)
            await client.post(f"{path}/messages", json={"content": "My name is Xanthippe."})
            await client.post(f"{path}/messages", json={"content": ["Xanthippe"]})
            await client.get("/v1/search", params={"q": "Xanthippe"})
    assert "turn" in stream.getvalue()
    assert "Xanthippe" not in stream.getvalue()


LEASE = Lease(scope=LOCAL, conversation="c", turn=1, owner="o", fence=1)


async def _opened(*, content: bool) -> Conversations:
    hosting = Hosting(observers=(TurnLog(content=content),))
    return await open_conversations(
        "memory:", model=ScriptedModel(says("Hello Alice."), says("A title")), hosting=hosting
    )


@pytest.mark.parametrize("content", [False, True])
async def test_what_was_said_is_logged_only_if_asked_for(content: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "threadkeep.server.logs")
    async with await _opened(content=content) as conversations:
        turn = await (await conversations.create()).send("I am Alice.")
        await turn.answer()
    (record,) = [record for record in caplog.records if record.name == "threadkeep.server.logs"]
    fields = vars(record)["fields"]
    assert (fields["state"], fields["output_tokens"], fields["tenant"]) == ("completed", 1, "local")
    assert ("Alice" in str(fields)) is content
    assert "Alice" not in record.getMessage()


def test_what_a_provider_said_is_content_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "threadkeep.server.logs")
    change = TurnChange(
        state=TurnState.FAILED,
        failure=Failure(code="model_refused", detail="I will not talk about Alice"),
        usage=Usage(),
    )
    TurnLog().settled(LEASE, change, 1.0, ())
    assert vars(caplog.records[0])["fields"]["error"] == "model_refused"
