"""A turn that failed, as an answer: the code of the failure, a sentence, and whose fault it is.

The question is kept, whatever went wrong. If the conversation names a model or an assistant that this server does not
have, the client can change that and have the question answered again: such a failure is a conflict, not a bad gateway.
"""

from threadkeep.conversation.failure import Failure
from threadkeep.errors import InvalidValue, UnknownModel
from threadkeep.server.problems import Problem, problem

_CONFLICTS = (UnknownModel.code, InvalidValue.code)


def is_conflict(failure: Failure) -> bool:
    """Whether a turn failed because of what its conversation names."""
    return failure.code in _CONFLICTS


def problem_of_turn(failure: Failure, **more: object) -> Problem:
    """Return the answer for a turn that failed."""
    return problem(409 if is_conflict(failure) else 502, failure.code, failure.detail, None, **more)
