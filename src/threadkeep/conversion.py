"""What a package around the core does with attached files: their text for models and search, smaller images for models.

Without such a package files are kept and shown as they are.
"""

from collections.abc import Hashable

LARGEST_FILE = 32 << 20
"""The largest file in bytes that is opened at all."""
IMAGE_SIDE = 1568
"""Most providers make larger images smaller themselves."""


class Converter:
    """Extracts the text of documents, and makes images smaller. This one does neither."""

    async def text(self, data: bytes, user: Hashable) -> str:
        """Return the text of a file, or its beginning; empty if no text can be read. `RateLimited` if too many files of
        this user wait already."""
        return ""

    async def image(self, id: str, data: bytes, user: Hashable) -> bytes:
        """Return the image, made smaller if that is wanted and possible. `id` always stands for the same bytes."""
        return data
