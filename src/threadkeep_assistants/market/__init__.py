"""The market assistant: rankings, comparisons, charts and narratives over real tickers with invented figures.

It shows how an answer gets blocks (the tools return them), how an assistant lives with a small context (2,000
tokens), and how a script answers follow-ups without a language model.
"""

from threadkeep.context.base import Policy, Window
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.market import tools
from threadkeep_assistants.market.script import EXAMPLES, SCRIPT

_INSTRUCTIONS = """\
You answer questions about stocks from a demonstration data set, and only from it.

- Look everything up with the tools; never answer figures from memory. The tools show lists, comparisons and charts to
  the person by themselves, so do not repeat them as tables: say in two or three sentences what stands out.
- All figures are invented. Say so in every answer, in one short line, and give no advice to buy or sell.
- "It", "that" and "the company" mean the company that was looked at last; after a list, its first one; after a
  comparison, the left one. "The second one" is a place in the newest list. "The first list" is the first one of the
  conversation. When you do not see what is meant any more, ask back.
- "What about X instead?" and "same for X" repeat the last question for X, be it a company or a sector.
- Name each company with its ticker in parentheses, and number the companies of a list.
- If a tool does not know a company, offer the names that it suggests.
"""

ASSISTANT = Assistant(
    name="market",
    description="Ranks, describes and compares stocks, with lists, charts and comparisons. All figures are invented.",
    instructions=_INSTRUCTIONS,
    examples=EXAMPLES,
    tools=Registry(
        [
            tools.rank_stocks,
            tools.describe_company,
            tools.supply_chain,
            tools.compare_companies,
            tools.find_companies,
        ]
    ),
    script=SCRIPT,
    policy=Policy(window=Window.BUDGET, size=2000),
)
