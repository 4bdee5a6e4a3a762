"""The contract of stored files: what messages attach, by id. A file belongs to a tenant; somebody else's is missing."""

from abc import ABC, abstractmethod

from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import Scope


class Attachments(ABC):
    """Keeps the bytes of files, and what is known of them. `FileNotFound` where there is no such file for a scope."""

    @abstractmethod
    async def find(self, scope: Scope, file: str) -> Attachment:
        """Return a file as a part of a message, with what was found out about it, whatever its sender said."""

    @abstractmethod
    async def read(self, scope: Scope, file: str) -> bytes:
        """Return the bytes of a file."""

    @abstractmethod
    async def save(self, scope: Scope, name: str, media_type: str, data: bytes) -> Attachment:
        """Keep a file and return it as a part of a message; durable when it returns. The type is a hint: what the bytes
        are decides. `ContentTooLarge` if it is too large."""
