"""What the guide to operating says is there is there, and the other way round."""

import re
from pathlib import Path

from threadkeep.server.measures import Measures
from threadkeep.settings import Settings

GUIDE = (Path(__file__).parents[3] / "docs" / "howto" / "operate.md").read_text()
WATCHED = {"threadkeep_running_turns", "threadkeep_open_streams", "threadkeep_mcp_ready"}


def test_every_metric_is_explained() -> None:
    counted = set(re.findall(r"^# TYPE (\w+)", Measures().render(), re.MULTILINE)) - {"threadkeep_info"}
    assert set(re.findall(r"`(threadkeep_\w+)", GUIDE)) == counted | WATCHED


def test_every_setting_in_it_exists() -> None:
    named = set(re.findall(r"^(\w+) = ", GUIDE, re.MULTILINE)) | set(re.findall(r"`(\w+) = ", GUIDE))
    assert named
    assert named <= Settings.model_fields.keys()
