"""What packages around the core bring along, found by entry points: the core imports none of them, and does without.

Packages of our own (`threadkeep_*`, one wheel carries them all) and those of others are treated alike.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from threadkeep.errors import PackageMissing

PROTOCOLS = "threadkeep.protocols"
"""The entry points by which packages offer protocols: each makes a router of conversations and settings."""
EMBEDDINGS = "threadkeep.embeddings"
"""The entry points by which packages offer embeddings: `langchain` makes those of any provider from their name."""


def offered(group: str, name: str | None = None) -> list[EntryPoint]:
    """Return what installed packages offer in a group, or under one name of it, in the order of the names."""
    found = entry_points(group=group) if name is None else entry_points(group=group, name=name)
    return sorted(found)


def load(group: str, name: str, what: str) -> Any:
    """Return what a package offers under a name. PackageMissing says `what` is not there, or what its package lacks."""
    for point in offered(group, name):
        try:
            return point.load()
        except ImportError as error:
            raise PackageMissing(f"{what} cannot be loaded: {error}.") from None
    raise PackageMissing(f"No installed package offers {what} (entry point {name} in {group}).")
