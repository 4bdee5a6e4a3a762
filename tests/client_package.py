"""The package `@threadkeep/client` as npm gets it: `python -m tests.client_package build/client` writes it.

Its JavaScript is what the page uses, as it is; the types are made of the comments in it.
"""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.contract import NODE
from tests.documents import ROOT

SOURCE = ROOT / "src" / "threadkeep_pages" / "web" / "client"
NPM = ROOT / ".venv" / "npm" / "node_modules"


def build(place: Path) -> Path:
    """Write the package into a folder."""
    shutil.copytree(SOURCE, place, ignore=shutil.ignore_patterns("*.d.ts"))
    shutil.copy(ROOT / "LICENSE", place)
    options = json.loads((ROOT / "tsconfig.json").read_text(encoding="utf-8"))["compilerOptions"]
    options |= {"noEmit": False, "declaration": True, "emitDeclarationOnly": True, "checkJs": False}
    options |= {"outDir": str(place / "types"), "rootDir": str(SOURCE), "paths": {"*": [f"{NPM}/*"]}}
    project = {"compilerOptions": options, "files": [str(SOURCE / "index.js"), str(SOURCE / "react.js")]}
    (place / "types").mkdir()
    config = place / "types" / "tsconfig.json"
    config.write_text(json.dumps(project))
    subprocess.run([NODE, NPM / "typescript-7" / "bin" / "tsc", "--project", config], check=True)
    config.unlink()
    for written in SOURCE.glob("*.d.ts"):
        shutil.copy(written, place / "types")
    return place


def size() -> int:
    """Return how many bytes all that `import "@threadkeep/client"` loads has, without comments and compressed."""
    loaded: dict[str, str] = {}

    def load(name: str) -> None:
        if name not in loaded:
            loaded[name] = (SOURCE / name).read_text(encoding="utf-8")
            for other in re.findall(r'from "\./(\w+\.js)"', loaded[name]):
                load(other)

    load("index.js")
    bare = re.sub(r"^\s*(//.*|/\*\*(?s:.)*?\*/)\n", "", "".join(loaded.values()), flags=re.MULTILINE)
    return len(gzip.compress(bare.encode(), 9))


if __name__ == "__main__":
    print(f"{build(Path(sys.argv[1]))}: {size():,} bytes, compressed")
