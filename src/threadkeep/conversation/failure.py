"""Why a turn failed: a stable code of `errors.py`, and a sentence for a person."""

from typing import Self

from threadkeep.conversation.value import Text, Value
from threadkeep.errors import ThreadkeepError


class Failure(Value):
    """What went wrong."""

    code: Text
    detail: Text

    @classmethod
    def of(cls, error: ThreadkeepError) -> Self:
        """Return an error as a value that can be stored, whatever a provider has put into its text."""
        return cls(code=error.code, detail=str(error).encode(errors="backslashreplace").decode())

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"
