"""The conformance suite on every backend of ours."""

from threadkeep.testing.conformance import *  # noqa: F403
