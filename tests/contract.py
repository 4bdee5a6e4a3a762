"""The contract of the HTTP API as a file: `python -m tests.contract` writes it, `--check` compares it with the code.

It is the OpenAPI document of a server that offers everything. What a release changes of it can be read in its history.
"""

import asyncio
import json
import sys
from typing import Any

from tests.documents import ROOT
from tests.integration.serving import serving

FILE = ROOT / "docs" / "reference" / "openapi.json"


def document_of(described: dict[str, Any]) -> str:
    """Return a document as it stands in the file."""
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


async def _contract() -> str:
    async with serving(auth="keys", share=True) as server:
        return document_of(server.app.openapi())


def contract() -> str:
    """Return the document as it is now."""
    return asyncio.run(_contract())


def main(arguments: list[str]) -> int:
    if "--check" not in arguments:
        FILE.write_text(contract(), encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == contract():
        return 0
    print(f"The API is not as {FILE.relative_to(ROOT)} says. If that is meant, run: python -m tests.contract")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
