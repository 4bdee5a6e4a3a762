"""The same programs over the conversations of a process and over those of a server: they differ in the line that opens.

What only a network can do to a client is at the end.
"""

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest

import threadkeep
from tests.documents import blocks_of
from tests.integration.serving import PATIENCE, Server, serving
from threadkeep import (
    Cursor,
    Message,
    ReadersCounted,
    Registry,
    Role,
    ToolCall,
    ToolResult,
    TurnEnded,
    TurnState,
    TurnWaiting,
    Usage,
    tool,
)
from threadkeep.conversation.parts import Raw, Reasoning
from threadkeep.errors import (
    AlreadyExists,
    ConversationNotFound,
    InvalidValue,
    KeyReused,
    NotAuthenticated,
    StaleHead,
    StaleVersion,
)
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.turn.assistant import Assistant
from threadkeep_client import ServerUnreachable, connect, connect_sync, wire
from threadkeep_client.conversation import RemoteConversation
from threadkeep_client.conversations import RemoteConversations


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as opened:
        yield opened


async def test_a_message_is_sent_and_answered(conversations: Any) -> None:
    conversation = await conversations.create(title="Names", metadata={"project": "apollo"})
    assert conversation.value.title == "Names"
    turn = await conversation.send("My name is Ada.")
    outcome = await turn.outcome()
    assert isinstance(outcome.end, TurnEnded)
    assert outcome.end.state is TurnState.COMPLETED
    assert outcome.message is not None
    assert outcome.message.content.startswith("Nice to meet you, Ada!")
    assert (await turn.answer()) == outcome.message
    assert (await conversation.turn(turn.number).open_state()) is None
    assert [message.role for message in await conversation.messages(20)] == ["user", "assistant"]
    assert (await conversation.messages(1))[0] == outcome.message


async def test_events_are_the_same_values_and_go_on_behind_each_of_them(conversations: Any, server: Server) -> None:
    conversation = await conversations.create()
    turn = await conversation.send("Tell me a story about otters.")
    events = [event async for event in turn.events()]
    inside = [
        event async for event in server.conversations.at(conversation.scope, conversation.id).turn(turn.number).events()
    ]
    assert events[-1] == inside[-1]
    for event in events[:-1]:
        rest = [later async for later in turn.events(event.cursor)]
        assert rest[-1] == events[-1]


async def test_a_conversation_is_followed_from_the_beginning_and_from_now_on(conversations: Any) -> None:
    conversation = await conversations.create()
    await (await conversation.send("Hello")).answer()
    async with asyncio.timeout(PATIENCE), aclosing(conversation.follow(Cursor())) as events:
        async for event in events:
            if isinstance(event.what, TurnEnded):
                break
    async with asyncio.timeout(PATIENCE), aclosing(conversation.follow(presence=True)) as events:
        assert isinstance((await anext(events)).what, ReadersCounted)
        await conversation.update(title="New")
        assert (await anext(events)).what.update.title == "New"


async def test_what_is_repeated_with_its_key_or_id_is_done_once(conversations: Any) -> None:
    conversation = await conversations.create(key="c-1")
    assert (await conversations.create(key="c-1")).id == conversation.id
    first = await conversation.send("Hello", key="m-1")
    assert (await conversation.send("Hello", key="m-1")).number == first.number
    with pytest.raises(KeyReused):
        await conversation.send("Something else", key="m-1")
    named = await conversation.send("Again", id="mine")
    assert (await conversation.send("Again", id="mine")).number == named.number
    await named.answer()
    assert [message.id for message in await conversation.messages(4)][2] == "mine"


async def test_ids_are_chosen_and_found(conversations: Any) -> None:
    made = await conversations.get_or_create("chat-1", title="First")
    again = await conversations.get_or_create("chat-1", title="Second")
    assert (again.id, again.value.title) == (made.id, "First")
    assert (await conversations.get("chat-1")).id == made.id
    with pytest.raises(AlreadyExists):
        await conversations.create(id="chat-1")
    with pytest.raises(ConversationNotFound):
        await conversations.get("chat-2")


async def test_lists_and_searches_tell_the_same(conversations: Any) -> None:
    for number in range(2):
        await conversations.create(title=f"Otters {number}", metadata={"number": str(number)})
    conversation = await conversations.create(title="Otters 2")
    await (await conversation.send("Do otters swim?")).answer()
    page = await conversations.list(limit=2)
    rest = await conversations.list(limit=2, after=page.next)
    assert [each.title for each in (*page.items, *rest.items)] == ["Otters 2", "Otters 1", "Otters 0"]
    (whole,) = (await conversations.list(whole=True, metadata={"number": "1"})).items
    assert whole.metadata == {"number": "1"}
    found = await conversations.search("swim")
    assert found.items[0].conversation == conversation.id
    assert "swim" in found.items[0].snippet


async def test_a_conversation_is_changed_deleted_and_brought_back(conversations: Any) -> None:
    conversation = await conversations.create()
    changed = await conversation.update(title="New", pinned=True)
    assert (changed.title, changed.pinned) == ("New", True)
    with pytest.raises(StaleVersion):
        await conversation.update(title="Newer", expected_version=changed.version - 1)
    await conversation.delete()
    with pytest.raises(ConversationNotFound):
        await conversation.read()
    assert (await conversation.restore()).title == "New"
    await (await conversation.send("Hello")).answer()
    await conversation.clear()
    assert await conversation.messages() == []


async def test_a_history_from_elsewhere_is_added_once(conversations: Any) -> None:
    conversation = await conversations.create()
    call, raw = ToolCall(id="c1", name="weather", args={"city": "Oslo"}), Raw(of="x", items=[{"a": [None]}])
    usage = Usage(input_tokens=5, output_tokens=7)
    history = [
        Message(role=Role.SYSTEM, content="Be brief."),
        Message(role=Role.USER, content="How is Oslo?", parts=(raw,)),
        Message(role=Role.ASSISTANT, parts=(Reasoning(text="Hm."), raw), tool_calls=(call,), usage=usage, model="m"),
        Message(role=Role.TOOL, content="cold", tool_result=ToolResult(tool_call_id="c1", error="cold")),
    ]
    for _ in range(2):
        await conversation.append(*history, key="run-1")
    told = await conversation.messages(None)
    shown = {"id", "role", "content", "tool_calls", "tool_result", "usage", "model"}
    assert [each.model_dump(include=shown) for each in told] == [each.model_dump(include=shown) for each in history]
    assert [[part.type for part in each.parts] for each in told] == [[], ["raw"], ["reasoning", "raw"], []]
    assert told[1].parts[0].items == raw.items
    await conversation.append(Message(role=Role.USER, content="Anew."), parent=0)
    assert [message.content for message in await conversation.messages()] == ["Anew."]


async def test_branches_are_begun_and_chosen(conversations: Any) -> None:
    conversation = await conversations.create()
    first = await (await conversation.send("My name is Ada.")).outcome()
    second = await (await conversation.send("My name is Bob.", parent=0)).outcome()
    assert (await conversation.messages(head=first.seq))[0].content == "My name is Ada."
    await conversation.choose_head(first.seq)
    assert (await conversation.read()).head == first.seq
    with pytest.raises(StaleHead) as refused:
        await conversation.send("Hm", expected_head=second.seq)
    assert refused.value.head == first.seq
    again = await (await conversation.regenerate()).outcome()
    assert again.seq != first.seq
    await conversation.give_feedback(again.seq, "up", "Good.")


async def test_files_go_with_a_message(conversations: Any, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Otters swim.")
    conversation = await conversations.create()
    await (await conversation.send("What is this?", attach=[tmp_path / "note.txt", ("more.txt", b"They do.")])).answer()
    question = (await conversation.messages())[0]
    assert question.content == "What is this?"
    assert [part.name for part in question.parts] == ["note.txt", "more.txt"]
    with pytest.raises(InvalidValue):
        await conversation.send("And this?", attach=[tmp_path / "none.txt"])


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


PAYER = Assistant(name="payer", tools=Registry([pay]))
PAYS = wants(("call_1", "pay", {"amount": 5}))


@pytest.mark.parametrize("way", ["here", "over HTTP"])
async def test_a_call_waits_for_a_person(way: str) -> None:
    model = ScriptedModel(PAYS, says("Done."))
    async with serving(model=model, assistants=[PAYER]) as server, connect(server.url) as remote:
        conversations: Any = server.conversations if way == "here" else remote
        conversation = await conversations.create()
        turn = await conversation.send("Pay 5")
        assert isinstance((await turn.outcome()).end, TurnWaiting)
        (call,) = await conversation.waiting_calls()
        assert (call.name, call.args) == ("pay", {"amount": 5})
        await conversation.approve(call.id, key="yes")
        assert isinstance((await turn.outcome()).end, TurnEnded)
        assert (await conversation.messages())[2].content == "paid 5"


def test_the_surface_is_that_of_the_process() -> None:
    """Every verb of the client is one of the service, with the same parameters; whose data it is, the key says."""
    pairs: list[tuple[type, type]] = [
        (RemoteConversations, threadkeep.Conversations),
        (RemoteConversation, threadkeep.ConversationHandle),
    ]
    for remote, here in pairs:
        for name in (name for name in vars(remote) if not name.startswith("_")):
            found = getattr(here, name)
            if callable(found):
                theirs = set(inspect.signature(getattr(remote, name)).parameters)
                assert theirs <= set(inspect.signature(found).parameters), name


# What only a network does


class Cutting(httpx.AsyncHTTPTransport):
    """A network that cuts every stream after some bytes, and loses the first answer to each request."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after
        self.cuts = 0
        self.lost: set[str] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            return httpx.Response(answer.status_code, headers=answer.headers, stream=_Cut(answer, self))
        name = f"{request.method} {request.url} {request.headers.get('idempotency-key', request.content)}"
        if name not in self.lost:
            self.lost.add(name)
            await answer.aread()
            await answer.aclose()
            raise httpx.ReadError("the network lost it", request=request)
        return answer


class _Cut(httpx.AsyncByteStream):
    def __init__(self, answer: httpx.Response, network: Cutting) -> None:
        self._answer = answer
        self._network = network

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._network.after
        async for chunk in self._answer.aiter_raw():
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                self._network.cuts += 1
                raise httpx.ReadError("the network cut it")

    async def aclose(self) -> None:
        await self._answer.aclose()


async def test_a_network_that_loses_answers_and_cuts_streams_changes_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "FIRST_PAUSE", 0.001)
    network = Cutting(after=1400)
    async with connect(server.url, transport=network) as conversations:
        conversation = await conversations.create()
        for number in range(5):
            await (await conversation.send(f"My name is Ada {number}.")).answer()
        events = await until_ended(conversation, 5)
        messages = await conversation.messages()
    assert network.cuts > 2
    assert len(network.lost) > 5
    assert len((await server.conversations.list()).items) == 1
    inside = server.conversations.at(conversation.scope, conversation.id)
    assert messages == await inside.messages()
    assert events == await until_ended(inside, 5)


async def until_ended(conversation: Any, turns: int) -> list[threadkeep.Event]:
    """Return all events of a conversation up to the end of so many turns."""
    found: list[threadkeep.Event] = []
    async with asyncio.timeout(PATIENCE), aclosing(conversation.follow(Cursor())) as events:
        async for event in events:
            found.append(event)
            turns -= isinstance(event.what, TurnEnded)
            if not turns:
                break
    return found


async def test_a_server_that_is_away_is_an_error_when_patience_ends() -> None:
    with pytest.raises(ServerUnreachable):
        async with connect("http://127.0.0.1:9", patience=0):
            pass


async def test_a_wrong_key_is_refused_with_the_error_of_the_process() -> None:
    async with serving(auth="keys") as server:
        with pytest.raises(NotAuthenticated):
            async with connect(server.url, "tk_wrong"):
                pass


async def test_a_program_without_asyncio_uses_the_same_verbs(server: Server) -> None:
    def program() -> list[str]:
        with connect_sync(server.url) as conversations:
            conversation = conversations.create(title="Names")
            turn = conversation.send("My name is Ada.")
            assert isinstance([event.what for event in turn.events()][-1], TurnEnded)
            assert turn.answer() == conversation.messages(1)[0]
            assert conversation.value.title == "Names"
            with pytest.raises(ConversationNotFound):
                conversations.get("nothing")
            return [message.content for message in conversation.messages(2)]

    assert (await asyncio.to_thread(program))[1].startswith("Nice to meet you, Ada!")


def test_the_names_are_those_of_the_package() -> None:
    assert threadkeep.connect is connect
    assert threadkeep.client.connect_sync is connect_sync


async def test_the_example_of_the_card_runs(server: Server, tmp_path: Path) -> None:
    (example,) = [block for block in blocks_of("docs/reference/python-api.md") if "# remote.py" in block.text]
    (tmp_path / "remote.py").write_text(example.text.replace("http://127.0.0.1:8000", server.url))
    program = await asyncio.create_subprocess_exec(
        sys.executable, tmp_path / "remote.py", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    said, complaints = await asyncio.wait_for(program.communicate(), PATIENCE)
    assert said.decode().startswith("Nice to meet you, Ada!"), complaints.decode()
