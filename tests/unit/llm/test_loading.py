"""Models by name, and the switch that keeps tests away from real ones.

Loading beside everything else: once, a few at a time, and never waited for without end.
"""

import asyncio
import json
import subprocess
import sys
import threading
from importlib.metadata import EntryPoint

import pytest

from threadkeep import rings
from threadkeep.errors import ModelRefused, ModelUnavailable, UnknownModel
from threadkeep.llm.loading import MOST_LOADING, NO_REAL_MODELS, Loader, load_model
from threadkeep.testing.openai_server import Played, openai_server
from threadkeep_assistants.demo.model import DemoModel
from threadkeep_providers.provider_model import ProviderModel

FORBIDDEN = {NO_REAL_MODELS: "1"}


def test_no_vendor_is_imported_until_a_model_needs_it() -> None:
    code = "import sys, threadkeep.llm.choice, threadkeep.llm.loading; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not [
        name for name in loaded if name.partition("_")[0].partition(".")[0] in ("langchain", "aiohttp", "xllamacpp")
    ]


def test_demo_is_the_scripted_model() -> None:
    assert isinstance(load_model("demo", environment=FORBIDDEN), DemoModel)


def test_a_package_may_offer_a_model_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("parrot", "threadkeep_assistants.demo.model:load", rings.MODELS)
    monkeypatch.setattr(rings, "offered", lambda group: (point,))
    assert load_model("parrot", environment=FORBIDDEN).is_scripted


def test_without_the_package_of_the_demo_its_name_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rings, "offered", lambda group: ())
    with pytest.raises(UnknownModel, match="No installed package offers the model demo"):
        load_model("demo", environment=FORBIDDEN)


@pytest.mark.parametrize("name", ["", "gpt-5", "openai:", ":gpt-5", "demo:x"])
def test_a_name_that_is_none_is_refused_with_what_to_write(name: str) -> None:
    with pytest.raises(UnknownModel):
        load_model(name, environment={})


def test_a_model_beyond_this_machine_is_refused_where_real_models_are_forbidden() -> None:
    for name in ("openai:gpt-5", "anthropic:claude", "google_genai:gemini", "unheard:of"):
        with pytest.raises(ModelRefused, match=NO_REAL_MODELS):
            load_model(name, environment=FORBIDDEN)


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "http://192.168.1.7:8000", "http://localhost.evil.com"])
def test_a_base_url_elsewhere_is_no_loophole(url: str) -> None:
    with pytest.raises(ModelRefused, match=NO_REAL_MODELS):
        load_model("openai:gpt-5", environment={**FORBIDDEN, "OPENAI_BASE_URL": url})


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://localhost:8000/v1", "http://[::1]:8000/v1"])
def test_a_model_on_this_machine_is_allowed(url: str) -> None:
    model = load_model("openai:gpt-6.1-terra", environment={**FORBIDDEN, "OPENAI_BASE_URL": url})
    assert isinstance(model, ProviderModel)
    assert model.name == "openai:gpt-6.1-terra"


def test_an_ollama_is_on_this_machine_unless_another_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    assert load_model("ollama:llama3", environment=FORBIDDEN).window == 8192
    with pytest.raises(ModelRefused):
        load_model("ollama:llama3", environment={**FORBIDDEN, "OLLAMA_HOST": "10.0.0.2:11434"})


def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    with pytest.raises(UnknownModel, match="pip install 'threadkeep\\[langchain\\]' langchain-mistralai"):
        load_model("mistralai:mistral-medium-latest", environment={})


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("openai:gpt-5", r"pip install 'threadkeep\[openai\]'"),
        ("google_genai:gemini", r"pip install 'threadkeep\[gemini\]'"),
    ],
)
def test_a_missing_http_client_is_named_with_the_line_that_installs_it(
    name: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "threadkeep_providers.provider_model", None)
    with pytest.raises(UnknownModel, match=line):
        load_model(name, environment={})


@pytest.mark.parametrize(("name", "line"), [("local", "local"), ("ollama:llama3", "ollama"), ("cohere:x", "langchain")])
def test_where_the_ring_is_missing_a_sentence_says_so(name: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rings, "offered", lambda _: ())
    with pytest.raises(
        UnknownModel, match=rf"{name} needs a package: pip install 'threadkeep\[{line}\]'.*No installed"
    ):
        load_model(name, environment={})


def test_a_provider_that_langchain_does_not_know_is_unknown() -> None:
    with pytest.raises(UnknownModel, match="'nonsense'"):
        load_model("nonsense:model", environment={})


def test_a_missing_key_is_told_without_calling_anybody() -> None:
    with pytest.raises(ModelRefused, match="OPENAI_API_KEY"):
        load_model("openai:gpt-6.1-terra", environment={})


def test_the_window_is_the_one_of_the_model() -> None:
    assert load_model("anthropic:claude-sonnet-5-5", environment={"ANTHROPIC_API_KEY": "k"}).window == 1_000_000


async def test_a_model_that_many_wait_for_is_loaded_once() -> None:
    loader, loads = Loader(), list[str]()
    for _ in range(2):
        await asyncio.gather(
            *(loader.load("one", lambda: loads.append(threading.current_thread().name)) for _ in "abc")
        )
    assert loads == ["off-loop"]


async def test_an_error_reaches_all_who_wait_and_the_next_one_tries_again() -> None:
    loader, failures = Loader(), [UnknownModel("no")]

    def load() -> None:
        if failures:
            raise failures.pop()

    found = await asyncio.gather(*(loader.load("one", load) for _ in "ab"), return_exceptions=True)
    assert [str(error) for error in found] == ["no", "no"]
    await loader.load("one", load)


async def test_loads_that_hang_are_given_up_and_hold_up_no_shared_thread() -> None:
    loader, over = Loader(seconds=0.01), threading.Event()
    try:
        for number in range(MOST_LOADING):
            with pytest.raises(ModelUnavailable, match="still being loaded"):
                await loader.load(number, over.wait)
        with pytest.raises(ModelUnavailable, match="Too many"):
            await loader.load("one more", over.wait)
        assert await asyncio.to_thread(lambda: "here") == "here"
    finally:
        over.set()


async def test_a_load_that_took_long_is_there_for_who_comes_later() -> None:
    loader, over = Loader(seconds=0.01), threading.Event()
    with pytest.raises(ModelUnavailable):
        await loader.load("one", over.wait)
    over.set()
    async with asyncio.timeout(10):
        while True:
            try:
                await loader.load("one", pytest.fail)
                break
            except ModelUnavailable:
                continue


async def test_ollama_is_asked_what_a_model_can_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    for capabilities, accepted in ((["completion", "vision"], {"image"}), (["completion"], set())):
        shown = json.dumps({"model_info": {}, "capabilities": capabilities}).encode()
        async with openai_server(Played((shown,), headers={"Content-Type": "application/json"})) as server:
            monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
            model = await asyncio.to_thread(load_model, "ollama:llava")
            assert (server.paths, server.requests) == (["/api/show"], [{"model": "llava"}])
            assert model.accepts == accepted
