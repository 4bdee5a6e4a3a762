"""The assistant itself: what it says of itself is true, and importing it reads no data."""

import subprocess
import sys

from threadkeep.context.base import Policy, Window
from threadkeep_assistants.skillian import ASSISTANT
from threadkeep_assistants.skillian.ledger import SOURCES, ledger


def test_it_says_that_its_data_is_fictional() -> None:
    assert "fictional" in ASSISTANT.description
    assert "fictional" in ASSISTANT.instructions


def test_its_instructions_name_what_the_ledger_has() -> None:
    kept = ledger()
    for name in (*SOURCES, min(kept.companies), max(kept.companies), kept.periods[0], kept.periods[-1]):
        assert name in ASSISTANT.instructions
    assert "CC-1001" in kept.cost_centres


def test_the_model_gets_the_whole_history_and_at_most_ten_rounds_of_tools() -> None:
    assert (ASSISTANT.policy, ASSISTANT.iterations) == (Policy(window=Window.FULL), 10)


def test_importing_it_reads_no_data() -> None:
    program = (
        "import threadkeep_assistants.skillian as skillian\n"
        "from threadkeep_assistants.skillian.ledger import ledger\n"
        "assert ledger.cache_info().currsize == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
