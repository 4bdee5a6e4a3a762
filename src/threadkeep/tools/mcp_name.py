"""How a tool of an MCP server is named: `server__tool`, in what every provider accepts (64 letters, digits, '_', '-').

A name that has to be changed ends in a digest of the original, so that it is the same on every start and different
tools keep different names.
"""

import re
from hashlib import blake2s

_LONGEST = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def tool_name(server: str, tool: str) -> str:
    """Return the name of a server's tool as models see it."""
    plain = f"{server}__{tool}"
    if len(plain) <= _LONGEST and not _ILLEGAL.search(plain):
        return plain
    digest = blake2s(plain.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    return f"{_ILLEGAL.sub('_', plain)[: _LONGEST - 11]}_{digest}"
