"""The contract of the HTTP API as files: `python -m tests.contract` writes them, `--check` compares them with the code.

It is the OpenAPI document of a server that offers everything, and the types that openapi-typescript makes of it, which
the client in JavaScript has. What a release changes of it can be read in their history.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.documents import ROOT
from tests.integration.serving import serving

FILE = ROOT / "docs" / "reference" / "openapi.json"
NODE = Path(sys.executable).with_name("node")
TYPES = ROOT / "src" / "threadkeep_pages" / "web" / "client" / "api.d.ts"


def document_of(described: dict[str, Any]) -> str:
    """Return a document as it stands in the file."""
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


async def _contract() -> str:
    async with serving(auth="keys", share=True) as server:
        return document_of(server.app.openapi())


def contract() -> str:
    """Return the document as it is now."""
    return asyncio.run(_contract())


def types_of(document: Path) -> str:
    """Return the types of a document in TypeScript."""
    program = ROOT / ".venv/npm/node_modules/openapi-typescript/bin/cli.js"
    made = subprocess.run([NODE, program, document], capture_output=True, text=True, check=True)
    return made.stdout


def main(arguments: list[str]) -> int:
    if "--check" not in arguments:
        FILE.write_text(contract(), encoding="utf-8")
        TYPES.write_text(types_of(FILE), encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == contract() and TYPES.read_text(encoding="utf-8") == types_of(FILE):
        return 0
    print(f"The API is not as {FILE.relative_to(ROOT)} says. If that is meant, run: python -m tests.contract")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
