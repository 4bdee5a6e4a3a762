"""Which assistants there are, and the counter of tokens that a person names."""

import sys
from pathlib import Path

import pytest

from threadkeep.assistants import found_assistants, load_assistant, load_counter, missing_assistants
from threadkeep.context.tokens import count_tokens
from threadkeep.errors import InvalidValue
from threadkeep.runtime import open_conversations
from threadkeep.settings import AssistantSettings, Settings


def test_without_a_setting_tokens_are_estimated() -> None:
    assert load_counter(None) is count_tokens


def test_a_counter_is_a_function_of_a_module() -> None:
    assert load_counter("threadkeep.context.tokens:count_tokens") is count_tokens


@pytest.mark.parametrize("name", ["nowhere:count", "json:nothing", "json", "", ":x", "threadkeep:__version__"])
def test_a_counter_that_is_none_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(InvalidValue, match="token counter"):
        load_counter(name)


def test_the_assistant_that_is_set_comes_first_and_must_be_there() -> None:
    assert next(iter(found_assistants(Settings()))) == "chat"
    found = found_assistants(Settings(default_assistant="shop"))
    assert (next(iter(found)), found.keys()) == ("shop", found_assistants(Settings()).keys())
    own = {"books": AssistantSettings(instructions="You sell books.")}
    assert next(iter(found_assistants(Settings(default_assistant="books", assistants=own)))) == "books"
    with pytest.raises(
        InvalidValue, match=r"^default_assistant: there is no assistant named nobody; there are: chat, "
    ):
        found_assistants(Settings(default_assistant="nobody"))


def test_assistants_whose_packages_are_missing_are_left_out_without_a_word_until_somebody_asks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in [name for name in sys.modules if name.startswith("threadkeep_assistants.")]:
        monkeypatch.delitem(sys.modules, name)
    for package in ("yaml", "langgraph"):
        monkeypatch.setitem(sys.modules, package, None)
    found = found_assistants(Settings())
    assert found.keys() == {"chat", "market", "skillian"}
    assert missing_assistants(found) == ["shop", "skill_creator"]
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    with pytest.raises(InvalidValue, match=r"shop needs packages .*: pip install 'threadkeep\[assistants\]'"):
        load_assistant("shop", found)


async def test_only_a_name_that_a_person_gives_brings_modules_of_the_current_folder_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assistants = found_assistants(Settings())
    async with await open_conversations("memory:", [assistants["shop"]], model="demo", pace=0) as conversations:
        assert await (await (await conversations.create()).send("Which phones are there?")).answer()
    assert "" not in sys.path
    load_counter("threadkeep.context.tokens:count_tokens")
    assert "" not in sys.path
    with pytest.raises(InvalidValue):
        load_counter("nowhere_at_all:count")
    assert sys.path[-1] == ""


def test_a_module_of_the_current_folder_stands_behind_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "colorsys.py").write_text("raise SystemExit('the folder was asked')")
    (tmp_path / "own_counter_here.py").write_text("import colorsys\n\ndef count(message):\n    return 1\n")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    assert callable(load_counter("colorsys:rgb_to_hsv"))
    monkeypatch.delitem(sys.modules, "colorsys")
    assert callable(load_counter("own_counter_here:count"))
