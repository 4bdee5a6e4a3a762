"""What axe-core has to say about a page: by all rules that it has, also those that are advice, nothing may be found.

The contrast of every text is decided. Axe gives up at text in a drawing and near a pseudo element; there the colour of
the text is held against the ground that it stands on, by the same formula.
"""

from pathlib import Path
from typing import Any

from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped] # it has no types
from playwright.async_api import Page

AXE = Axe.from_file(Path(__file__).parents[2] / ".venv/npm/node_modules/axe-core/axe.min.js")
"""The newest rules: those that come with the Python package are two releases behind."""
ALSO = {"target-size": {"enabled": True}}
ENOUGH = 4.5
CONTRAST = """(selector) => {
    const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const element = document.querySelector(selector);
    // What has gone since axe saw it is read by nobody.
    if (element === null) return 21;
    const grounds = [];
    for (let one = element; one; one = one.parentElement) grounds.unshift(getComputedStyle(one).backgroundColor);
    const style = getComputedStyle(element);
    const light = (colours) => {
        for (const colour of ["white", ...colours]) {
            pixel.fillStyle = colour;
            pixel.fillRect(0, 0, 1, 1);
        }
        const parts = [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255);
        const linear = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        const [red, green, blue] = parts.map(linear);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
    };
    const text = light([...grounds, element instanceof SVGElement ? style.fill : style.color]);
    const ground = light(grounds);
    return Math.max(text, ground) / Math.min(text, ground);
}"""


async def find_nothing(page: Page, what: str, *rules: str) -> None:
    """Fail with every violation on a page; `rules` are the only ones to look at, also such as are off by default."""
    options = {"resultTypes": ["violations", "incomplete"]} | (
        {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {"rules": ALSO}
    )
    found = (await AXE.run(page, options=options)).response
    undecided = [node for one in found["incomplete"] if one["id"] == "color-contrast" for node in one["nodes"]]
    wrong = [
        f"{what}: {one['id']} ({one['help']}): {node['html'][:200]}\n{node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]
    wrong += [f"{what}: contrast: {node['html'][:200]}" for node in undecided if not await _can_be_read(page, node)]
    assert not wrong, "\n\n".join(wrong)


async def _can_be_read(page: Page, node: dict[str, Any]) -> bool:
    return bool(await page.evaluate(CONTRAST, node["target"][-1]) >= ENOUGH)
