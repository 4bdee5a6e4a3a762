"""Files in memory, for tests of what is done with them."""

from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.store.attachments import Attachments, FileLimits
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.sqlite.memory import MemoryStore


class MemoryAttachments(Attachments):
    """Keeps files in memory. No message is known to use one."""

    def __init__(self, limits: FileLimits | None = None, clock: Clock = utc_now) -> None:
        super().__init__(MemoryStore(clock, new_id, MAX_BYTES).files, clock, new_id, limits)
