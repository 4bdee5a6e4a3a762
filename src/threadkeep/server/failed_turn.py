"""A turn that failed, as an answer: the code of the failure, a sentence, and whose fault it is.

The question is kept, whatever went wrong. If the conversation names a model or an assistant that this server does not
have, the client can change that and have the question answered again: such a failure is a conflict, not a bad gateway.
"""

from threadkeep.errors import InvalidValue, UnknownModel
from threadkeep.server.problems import Problem, problem

_CONFLICTS = (UnknownModel.code, InvalidValue.code)


def failure(error: str | None) -> tuple[str, str]:
    """Return code and detail of what a failed turn says."""
    code, _, detail = (error or "").partition(": ")
    return (code, detail) if detail else ("turn_failed", error or "The turn failed.")


def is_conflict(error: str | None) -> bool:
    """Whether a turn failed because of what its conversation names."""
    return failure(error)[0] in _CONFLICTS


def problem_of_turn(error: str | None, **more: object) -> Problem:
    """Return the answer for a turn that failed."""
    code, detail = failure(error)
    return problem(409 if is_conflict(error) else 502, code, detail, None, **more)
