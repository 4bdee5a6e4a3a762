"""`threadkeep serve` with a scripted model that takes its time: the first argument is seconds for each word, and the
variable `THINKS_FOR` seconds before the first one."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator

from threadkeep.cli.main import main
from threadkeep.llm.base import Delta, Request
from threadkeep_assistants.demo import model

THINKS_FOR = float(os.environ.get("THINKS_FOR", 0))


class ThinkingModel(model.DemoModel):
    """Waits before it answers."""

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        await asyncio.sleep(THINKS_FOR)
        async for delta in super().stream(request):
            yield delta


if __name__ == "__main__":
    vars(model)["PACE"] = float(sys.argv[1])
    if THINKS_FOR:
        vars(model)["DemoModel"] = ThinkingModel
    sys.exit(main(["serve", *sys.argv[2:]]))
