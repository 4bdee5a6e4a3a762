"""The conformance suite finds its own parts, so that a new one cannot be forgotten."""

import ast
from pathlib import Path

from threadkeep.testing import conformance


def test_every_class_of_tests_in_the_package_is_part_of_the_suite() -> None:
    sources = [ast.parse(path.read_text()) for path in Path(conformance.__path__[0]).glob("*.py")]
    written = {node.name for tree in sources for node in tree.body if isinstance(node, ast.ClassDef)}
    suites = {name for name in written if name.startswith("Test")}
    assert len(suites) > 20
    assert suites | {"clock", "store"} == set(conformance.__all__)
    assert all(hasattr(conformance, name) for name in suites)
