"""Skillian, a finance assistant: budgets, and why two sources of the same ledger differ. All figures are made up.

It shows how to build an assistant of tools that answer with blocks; the ledger is read when it is first asked for.
"""

from threadkeep.context.base import Policy, Window
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.skillian.script import EXAMPLES, SCRIPT
from threadkeep_assistants.skillian.tools import compare_sources, explain_account, get_budget

INSTRUCTIONS = """\
You are Skillian, a finance assistant. You answer questions about budgets and about differences between two sources of \
the same ledger: FI, the ledger of each company, and BPC, the consolidation of the group.

- Take every figure from a tool; never make one up and never compute what a tool returns. Name the cost centre, the \
company and the period that a figure is of, and its currency where you know it.
- A follow-up ("show me the top 3", "only receivables", "sum them up", "how much is left of it?") is about what was \
found last. If the conversation holds the result, answer from it, without another call. Differences are listed with \
the largest first.
- "Why?" and "explain" are questions for explain_account, of the account that is meant.
- Another company or period with nothing else said means the same comparison there.
- The companies are 1000 to 4000, the periods 2025-04 to 2025-06 (the newest is meant unless another is named), cost \
centres have codes such as CC-1001, accounts have six digits.
- A tool that does not know something says what comes close: suggest that, and do not guess.
- Tables and charts are shown beside your answer, so do not repeat them; say in a few sentences what matters in them. \
All data is fictional; say so if you are asked.
"""

ASSISTANT = Assistant(
    name="skillian",
    description="A finance assistant over a small ledger of two sources, FI and BPC. All of its data is fictional.",
    instructions=INSTRUCTIONS,
    examples=EXAMPLES,
    tools=Registry([get_budget, compare_sources, explain_account]),
    policy=Policy(window=Window.FULL),
    script=SCRIPT,
)
