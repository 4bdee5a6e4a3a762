"""Every backend against one simple model, in random order: branches, choices, retries, turns, drafts, deletes.

Interleavings of two writers are drawn, not raced: each step goes through one of two handles on the same data, and one
rule writes through both at once and lets the store say which came first.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.backends import opener
from tests.integration.model.log_rules import LogRules
from tests.integration.model.machine import Stage
from tests.integration.model.reading_rules import ReadingRules
from tests.integration.model.turn_rules import TurnRules


class StoreMachine(LogRules, TurnRules, ReadingRules):
    """All rules together."""


@pytest.mark.parametrize(("backend", "examples"), [("sqlite", 150), ("postgresql", 40), ("memory", 50), ("files", 30)])
def test_a_store_does_what_the_model_does(
    backend: str, examples: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    stage = Stage(opener(backend, tmp_path, request))
    machine = type("Machine", (StoreMachine,), {"stage": stage})
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=40,
                deadline=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        stage.close()
