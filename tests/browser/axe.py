"""What axe-core has to say about a page: by all rules that it has, also those that are advice, nothing may be found."""

from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped] # it has no types
from playwright.async_api import Page

ALSO = {"target-size": {"enabled": True}}


async def find_nothing(page: Page, what: str, *rules: str) -> None:
    """Fail with every violation on a page; `rules` are the only ones to look at, also such as are off by default."""
    options = {"resultTypes": ["violations"]} | (
        {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {"rules": ALSO}
    )
    found = await Axe().run(page, options=options)
    wrong = [
        f"{what}: {one['id']} ({one['help']}): {node['html'][:200]}\n{node['failureSummary']}"
        for one in found.response["violations"]
        for node in one["nodes"]
    ]
    assert not wrong, "\n\n".join(wrong)
