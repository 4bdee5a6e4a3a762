"""Files in memory, for tests of what is done with them."""

from threadkeep.conversation.parts import Attachment, attachment_kind
from threadkeep.conversation.scope import Scope
from threadkeep.errors import FileNotFound
from threadkeep.store.attachments import Attachments


class MemoryAttachments(Attachments):
    """Keeps files by tenant, and believes what it is told about them."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], tuple[Attachment, bytes]] = {}

    async def find(self, scope: Scope, file: str) -> Attachment:
        """Return a file of the tenant."""
        return self._found(scope, file)[0]

    async def read(self, scope: Scope, file: str) -> bytes:
        """Return its bytes."""
        return self._found(scope, file)[1]

    async def save(self, scope: Scope, name: str, media_type: str, data: bytes) -> Attachment:
        """Keep a file."""
        id = f"file-{len(self._kept) + 1}"
        kind = attachment_kind(media_type)
        kept = Attachment(type=kind, file=id, name=name, media_type=media_type, size=len(data))
        self._kept[scope.tenant, id] = (kept, data)
        return kept

    def _found(self, scope: Scope, file: str) -> tuple[Attachment, bytes]:
        try:
            return self._kept[scope.tenant, file]
        except KeyError:
            raise FileNotFound from None
