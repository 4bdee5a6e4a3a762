"""Which names a conversation may choose, and that one file is loaded once, however its path is written."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from threadkeep.errors import UnknownModel
from threadkeep.llm.loading import load_model
from threadkeep.testing.scripted_model import ScriptedModel
from threadkeep.turn import models
from threadkeep.turn.assistant import Assistant
from threadkeep.turn.models import Models

ONE = Assistant(name="one", instructions="Answer.")


@pytest.mark.parametrize("name", ["local:/dev/ptmx", "local", "openai:gpt-6.1-terra", "demo ", "DEMO"])
def test_what_is_not_offered_cannot_be_chosen(name: str) -> None:
    with pytest.raises(UnknownModel, match="not offered"):
        Models("demo", offered=("demo",))(name, ONE)


def test_what_an_assistant_has_of_its_own_needs_no_offer() -> None:
    assert Models("local", offered=())(None, Assistant(name="two", instructions="", model="demo")).name == "demo"


def test_a_model_that_was_handed_in_can_be_chosen_by_its_name() -> None:
    model = ScriptedModel([])
    assert Models(model)(model.name, ONE) is model


def test_one_file_is_loaded_once_under_45_spellings_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    (tmp_path / "link").symlink_to(tmp_path)
    spellings = [f"local:{tmp_path}{'/.' * number}/elsewhere/../model.gguf" for number in range(22)]
    spellings += [f"local:{tmp_path}{'/link' * number}/model.gguf" for number in range(23)]
    loads, all_ask = list[str](), threading.Barrier(45)

    def load(name: str, *given: object, **more: object) -> ScriptedModel:
        loads.append(name)
        return ScriptedModel([])

    def ask(name: str) -> object:
        all_ask.wait()
        return find(name, ONE)

    monkeypatch.setattr(models, "load_model", load)
    (tmp_path / "elsewhere").mkdir()
    find = Models("demo")
    with ThreadPoolExecutor(45) as threads:
        found = list(threads.map(ask, spellings))
    assert len(loads) == len(set(map(id, found))) == 1


def test_a_model_that_could_not_be_loaded_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [UnknownModel("not yet")]

    def load(*given: object, **more: object) -> ScriptedModel:
        if failures:
            raise failures.pop()
        return ScriptedModel([])

    monkeypatch.setattr(models, "load_model", load)
    find = Models("openai:one")
    with pytest.raises(UnknownModel, match="not yet"):
        find(None, ONE)
    assert find(None, ONE).name == ScriptedModel([]).name


def test_neither_devices_nor_pipes_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/ptmx", "/dev/zero", tmp_path / "pipe", tmp_path, "\x00"):
        with pytest.raises(UnknownModel, match="is no file"):
            load_model(f"local:{path}")
