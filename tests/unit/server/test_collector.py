"""The collector of a server's process: tried in a process of its own, since it is one for all."""

import subprocess
import sys

SHOW = """
import gc
from threadkeep.server.collector import calm_collector
calm_collector()
print(gc.get_freeze_count() > 1000, gc.isenabled(), gc.get_threshold()[0] > 10_000)
"""


def test_what_the_start_has_made_is_not_looked_at_again_and_the_rest_still_is() -> None:
    shown = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.split() == ["True", "True", "True"]
