"""Mathematics, footnotes and code in many languages: loaded when they are needed, and never damaged by Markdown."""

from playwright.async_api import Page, expect

from tests.browser.harness import Harness
from tests.browser.person import Api, Person
from tests.browser.server import Server

TEX = "a_1 * b_2 * c_3"
TEXT = rf"""repeat Inline ${TEX}$ and \(x^2_i\), but $5 and $10 are prices.

$$
\int_0^1 \frac{{x_1^2}}{{\sqrt{{2}}}} dx = \begin{{pmatrix}} a & b \\ c & d \end{{pmatrix}}
$$

Before
\[ \sum_{{i=1}}^n i^2 \quad \overline{{AB}} \xrightarrow{{f}} \underbrace{{y}}_{{z}} \]

Not TeX: $\frac{{1$ and a note[^one].

```ruby
def hello = puts "hi"
```

[^one]: The note with *stress*.
"""


async def test_formulas_are_drawn_and_what_is_none_is_left_as_it_was(person: Person, api: Api) -> None:
    await person.open(await api.begin(TEXT))
    answer = person.answers.last
    await expect(answer.locator(".katex")).to_have_count(4)
    await expect(answer.locator(".katex-display")).to_have_count(2)
    assert await answer.locator("annotation").first.text_content() == TEX
    await expect(answer).to_contain_text("but $5 and $10 are prices.")
    await expect(answer.locator("code[data-math]:not(.tk-math)")).to_have_text(["\\frac{1"])
    await expect(answer.locator(".hljs-keyword")).to_have_text(["def"])


def nested(before: str, after: str, times: int = 300) -> str:
    """Return a formula in which so many are inside of each other."""
    return f"$${before * times}x{after * times}$$"


async def test_a_formula_larger_than_anybody_writes_stays_text_and_the_tab_stays_alive(
    page: Page, stage: Server
) -> None:
    hostile = [
        nested(r"\frac{", "}{1}"),
        nested(r"\sqrt{", "}"),
        nested("x^{", "}"),
        nested(r"\left(", r"\right)"),
        nested(r"\begin{matrix}", r"\end{matrix}"),
        nested(r"\rm ", "", 900),
        "$$" + r"\def\a{" + "x" * 900 + "}" + r"\a" * 90 + "$$",
        f"$${'x+' * 3000}x$$",
    ]
    modest = nested(r"\frac{", "}{1}", 25)
    harness = Harness(page, stage.url)
    await harness.open()
    await harness.draw("Markdown", text="\n\n".join([*hostile, modest]))
    await expect(page.locator("code[data-math]")).to_have_count(len(hostile) + 1)
    await expect(page.locator("code.tk-math .katex-display")).to_have_count(1)
    await expect(page.locator("code.tk-math")).to_have_count(1)


async def test_nothing_of_it_is_loaded_before_there_is_a_formula(person: Person, api: Api) -> None:
    loaded: list[str] = []
    person.page.on("request", lambda request: loaded.append(request.url))
    await person.open(await api.begin("Say hello, for $5 or $6."))
    await expect(person.answers).to_contain_text("hello")
    assert not [url for url in loaded if "katex" in url]
    await person.say("repeat $x$")
    await expect(person.answers.last.locator(".katex")).to_have_count(1)
    assert [url for url in loaded if "katex" in url]


async def test_a_footnote_leads_to_its_note_and_back(person: Person, api: Api) -> None:
    await person.open(await api.begin(TEXT))
    answer = person.answers.last
    await answer.get_by_role("button", name="Footnote one", exact=True).click()
    back = answer.get_by_role("button", name="Back from footnote one")
    await expect(back).to_be_focused()
    await expect(answer.locator("[data-note]")).to_contain_text("The note with stress.")
    await back.click()
    await expect(answer.get_by_role("button", name="Footnote one", exact=True)).to_be_focused()


async def test_what_a_person_said_is_drawn_as_markdown_and_folded_if_it_is_long(person: Person, api: Api) -> None:
    lines = "\n".join(f"line {number}" for number in range(60))
    await person.open(await api.begin(f"Say **bold**\n{lines}"))
    bubble = person.said.locator(".bubble")
    await expect(bubble.locator("strong")).to_have_text("bold")
    await expect(bubble).to_have_attribute("data-folded", "true")
    folded = await bubble.evaluate("one => one.offsetHeight")
    await person.page.get_by_role("button", name="Show all of it").click()
    await expect(bubble).not_to_have_attribute("data-folded", "true")
    assert await bubble.evaluate("one => one.offsetHeight") > 2 * folded
    await expect(bubble.locator("br")).to_have_count(60)
