"""What `docs/howto/connect-a-model.md` says is true: its table is the code's, its examples run."""

import re
import tomllib
from pathlib import Path
from typing import Any

from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import ModelOptions, Request, Stopped, Text, ToolSpec
from threadkeep.llm.providers import PROVIDERS, pip_line, provider_named
from threadkeep.settings import Settings
from threadkeep_assistants.demo.general_script import CONNECT
from threadkeep_assistants.demo.script import Call, Scene, Script

PAGE = (Path(__file__).parents[3] / "docs/howto/connect-a-model.md").read_text(encoding="utf-8")
REQUEST = Request(messages=(Message(role=Role.USER, content="The budget of cost centre CC-1001?"),))


def examples() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, names)  # noqa: S102 - our own page
    return names


def test_the_table_of_keys_is_the_one_of_the_code() -> None:
    rows = [
        f"| {' or '.join(f'`{key}`' for key in provider.keys)} | `{pip_line(provider.name)}` "
        f"| `{provider.name}:{provider.model}` |"
        for provider in PROVIDERS
        if provider.keys
    ]
    assert "\n".join(rows) in PAGE


def test_the_table_of_options_is_the_one_of_the_code() -> None:
    rows = [f"| `{name}` | {field.description} |" for name, field in ModelOptions.model_fields.items()]
    assert "\n".join(rows) in PAGE


def test_the_options_of_the_example_can_be_set() -> None:
    (example,) = re.findall(r"```toml\n(\[assistants.*?)```", PAGE, re.DOTALL)
    clerk = Settings(**tomllib.loads(example)).assistants["clerk"]
    assert clerk.options == ModelOptions(temperature=0.2, max_tokens=1000)


def test_the_line_that_the_demo_shows_names_the_model_that_a_key_selects() -> None:
    openai = provider_named("openai")
    assert openai is not None
    assert CONNECT.endswith(f"--model openai:{openai.model}")


async def test_the_model_of_your_own_answers() -> None:
    deltas = [delta async for delta in examples()["Echo"]().stream(REQUEST)]
    assert deltas == [Text("The budget of cost centre CC-1001?"), Stopped("stop")]


def test_the_script_calls_its_tool() -> None:
    script = examples()["SCRIPT"]
    assert isinstance(script, Script)
    tool = ToolSpec(name="get_budget", description="", parameters={})
    reply = script.reply(Scene(Request(messages=REQUEST.messages, tools=(tool,))))
    assert reply is not None
    assert reply.calls == (Call("get_budget", {"cost_center": "CC-1001"}),)
