"""The reference of the settings is exactly what the settings say of themselves.

Run this file as a program to write the table anew: `python -m tests.unit.test_settings_reference`.
"""

from pathlib import Path

from pydantic import BaseModel

from threadkeep.cli.settings_loading import PREFIX, unknown_variables
from threadkeep.settings import Settings

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def _default(value: object) -> str:
    match value:
        case None | () | "":
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case float() if value.is_integer():
            return f"`{int(value)}`"
        case _:
            return f"`{value}`"


def table() -> str:
    lines = ["| setting | variable | meaning | default |", "|---|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        variable = f"{PREFIX}{name.upper()}"
        variable = "" if unknown_variables({variable: ""}) else f"`{variable}`"
        shown = "" if isinstance(default, BaseModel | dict) else _default(default)
        lines.append(f"| `{name}` | {variable} | {field.description} | {shown} |")
    return "\n".join(lines) + "\n"


def test_the_reference_says_what_the_settings_say() -> None:
    text = REFERENCE.read_text()
    assert text.partition(BEGIN)[2].partition(END)[0] == table()


def test_every_setting_says_what_it_means() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


if __name__ == "__main__":
    before, _, rest = REFERENCE.read_text().partition(BEGIN)
    REFERENCE.write_text(before + BEGIN + table() + END + rest.partition(END)[2])
