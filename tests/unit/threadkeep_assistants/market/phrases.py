"""What people would ask the market assistant, what was said before, and the call that answers it.

The worked example of R-D7 is `LISTED`, `TOP`, `CHAIN` and `COMPARED`, in this order.
"""

from typing import Any, NamedTuple

LISTED = "What stocks benefit from rate cuts?"
TOP = "Tell me more about the top one"
CHAIN = "What about its supply chain risk?"
COMPARED = "Compare it to AAPL"

FIRST_LIST = ["DHI", "LEN", "NEE", "PLD", "AMT"]


class Phrase(NamedTuple):
    """A question, what came before it, and the call that must follow."""

    before: tuple[str, ...]
    question: str
    tool: str
    args: dict[str, Any]

    def __str__(self) -> str:
        return f"{len(self.before)} {self.question}"


def _same(before: tuple[str, ...], tool: str, args: dict[str, Any], *questions: str) -> list[Phrase]:
    return [Phrase(before, question, tool, args) for question in questions]


def _ranks(before: tuple[str, ...], question: str, theme: str, **args: Any) -> Phrase:
    return Phrase(before, question, "rank_stocks", {"theme": theme, **args})


def _tells(before: tuple[str, ...], question: str, ticker: str, tool: str = "describe_company", **args: Any) -> Phrase:
    return Phrase(before, question, tool, {"ticker": ticker, **args})


def _compares(before: tuple[str, ...], question: str, left: str, right: str) -> Phrase:
    return Phrase(before, question, "compare_companies", {"left": left, "right": right})


def _finds(before: tuple[str, ...], question: str, text: str) -> Phrase:
    return Phrase(before, question, "find_companies", {"text": text})


NOTHING: tuple[str, ...] = ()
ONE, TWO, THREE = (LISTED,), (LISTED, TOP), (LISTED, TOP, CHAIN)
FOUR = (*THREE, COMPARED)
PAIR = ("tell me about nvidia", "and amd?")
BANKS = (LISTED, "same for banks")

WORKED = [
    *_same(
        NOTHING,
        "rank_stocks",
        {"theme": "rate_cuts"},
        LISTED,
        "which stocks benefit from rate cuts",
        "What stocks would gain if the Fed cuts rates?",
        "who wins when interest rates fall?",
        "Which companies profit from lower rates",
        "best stocks for falling interest rates",
        "stocks that do well when rates drop",
        "WHAT STOCKS BENEFIT FROM RATE CUTS?",
        "What does well if the fed lowers interest rates",
        "rate cut winners",
        "Show me a list of stocks that benefit from rate cuts",
        "which names are hurt by rate hikes?",
        "What stocks benefit when the central bank eases?",
    ),
    *_same(
        ONE,
        "describe_company",
        {"ticker": "DHI"},
        TOP,
        "tell me more about the first one",
        "more about the first",
        "the top one",
        "tell me about number one",
        "more on #1",
        "Tell me more about the top stock",
        "what's the first one?",
        "describe the leader",
        "tell me more about that",
        "TELL ME MORE ABOUT THE TOP ONE",
        "details on the top one please",
        "why is it first?",
        "tell me more about dr horton",
    ),
    *_same(
        TWO,
        "supply_chain",
        {"ticker": "DHI"},
        CHAIN,
        "what about its supply chain?",
        "and the supply chain?",
        "supply chain risk?",
        "how risky is its supply chain",
        "who are its suppliers?",
        "where does it source from?",
        "is its supply chain risky?",
        "its supply chain",
        "how safe is its supply chain?",
        "what about that company's supply chain",
    ),
    *_same(
        THREE,
        "compare_companies",
        {"left": "DHI", "right": "AAPL"},
        COMPARED,
        "compare it with apple",
        "how does it compare to AAPL?",
        "it vs AAPL",
        "compare that to Apple",
        "compare with aapl",
        "Compare DHI to AAPL",
        "versus apple?",
        "how does that stack up against Apple",
        "what's the difference between it and AAPL",
        "Compare it to $AAPL",
    ),
    *_same(FOUR, "describe_company", {"ticker": "DHI"}, "tell me more about that", "tell me more about it"),
    *_same(FOUR, "describe_company", {"ticker": "AAPL"}, "what about AAPL instead?", "the latter", "the other one"),
]
"""The worked example, and how else people would say it."""

OPENINGS = [
    _ranks(NOTHING, "top 3 stocks for rate cuts", "rate_cuts", limit=3),
    _ranks(NOTHING, "Which banks have the highest margins?", "margins", sector="banks"),
    _ranks(NOTHING, "who benefits from rate hikes", "rate_hikes"),
    _ranks(NOTHING, "Which stocks suffer from rate cuts?", "rate_hikes"),
    _ranks(NOTHING, "which utilities benefit from rate cuts", "rate_cuts", sector="utilities"),
    _ranks(NOTHING, "what are the cheapest semiconductors?", "value", sector="semiconductors"),
    _ranks(NOTHING, "fastest growing software stocks", "growth", sector="software"),
    _ranks(NOTHING, "which companies have the riskiest supply chains", "supply_chain_risk"),
    _ranks(NOTHING, "safest supply chains?", "supply_chain_safety"),
    _ranks(NOTHING, "highest dividends", "dividends"),
    _ranks(NOTHING, "which stocks have the lowest margins", "margins", reverse=True),
    _ranks(NOTHING, "most expensive stocks", "value", reverse=True),
    _ranks(NOTHING, "what's the biggest company?", "size"),
    _ranks(NOTHING, "top 5 dividend payers", "dividends", limit=5),
    _ranks(NOTHING, "which bank has the highest revenue?", "size", sector="banks"),
    _ranks(NOTHING, "stocks with dividends above 5%", "dividends", bounds={"above": 5.0}),
    _ranks(NOTHING, "stocks with a P/E under 10", "value", bounds={"below": 10.0}),
    _compares(NOTHING, "is apple cheaper than microsoft?", "AAPL", "MSFT"),
    _tells(NOTHING, "AAPL", "AAPL"),
    _tells(NOTHING, "what is nvda", "NVDA"),
    _tells(NOTHING, "what do you know about J.P. Morgan?", "JPM"),
    _tells(NOTHING, "how about johnson and johnson", "JNJ"),
    _tells(NOTHING, "tell me about AT&T", "T"),
    _tells(NOTHING, "what does Lowe's do?", "LOW"),
    _tells(NOTHING, "is costco expensive?", "COST"),
    _tells(NOTHING, "should I buy tesla?", "TSLA"),
    _finds(NOTHING, "tell me about XYZQ", "xyzq"),
    _tells(NOTHING, "supply chain of tesla", "TSLA", "supply_chain"),
    _tells(NOTHING, "Who supplies Nike?", "NKE", "supply_chain"),
    _tells(NOTHING, "nvidia's margins", "NVDA"),
    _tells(NOTHING, "revenue of amazon", "AMZN"),
    _compares(NOTHING, "compare apple and microsoft", "AAPL", "MSFT"),
    _compares(NOTHING, "AAPL vs MSFT", "AAPL", "MSFT"),
    _compares(NOTHING, "which is better, Coke or Pepsi?", "KO", "PEP"),
    _compares(NOTHING, "how does visa compare to mastercard", "V", "MA"),
    _finds(NOTHING, "what sectors do you have?", ""),
    _finds(NOTHING, "Which companies do you know?", ""),
    _finds(NOTHING, "which banks do you know", "banks"),
    _finds(NOTHING, "tell me about zorbo corporation", "zorbo corporation"),
    _finds(NOTHING, "tell me about mircosoft", "mircosoft"),
]
"""Questions that stand alone."""

FOLLOW_UPS = [
    _tells(ONE, "the second one", "LEN"),
    _tells(ONE, "tell me about the 3rd", "NEE"),
    _tells(ONE, "the last one", "AMT"),
    _tells(ONE, "number 4", "PLD"),
    _tells(ONE, "and AAPL?", "AAPL"),
    _tells(ONE, "what about AAPL instead?", "AAPL"),
    _tells(ONE, "supply chain risk of the second one", "LEN", "supply_chain"),
    _tells(ONE, "margins of the last one", "AMT"),
    _compares(ONE, "compare the first two", "DHI", "LEN"),
    _compares(ONE, "compare the first and the third", "DHI", "NEE"),
    _compares(ONE, "compare the second one to apple", "LEN", "AAPL"),
    _compares(ONE, "compare them", "DHI", "LEN"),
    _ranks(ONE, "same for banks", "rate_cuts", sector="banks"),
    _ranks(ONE, "what about utilities?", "rate_cuts", sector="utilities"),
    _ranks(ONE, "only reits", "rate_cuts", sector="reits"),
    _ranks(ONE, "now for rate hikes", "rate_hikes"),
    _ranks(ONE, "top 10", "rate_cuts", limit=10),
    _ranks(ONE, "show me more", "rate_cuts", limit=10),
    _ranks(ONE, "show the list again", "rate_cuts"),
    _ranks(ONE, "which of them is cheapest", "value", tickers=FIRST_LIST),
    _ranks(ONE, "which one is the cheapest?", "value", tickers=FIRST_LIST),
    _ranks(ONE, "which of these has the safest supply chain?", "supply_chain_safety", tickers=FIRST_LIST),
    _ranks(ONE, "what about margins?", "margins", tickers=FIRST_LIST),
    _ranks(ONE, "which has the lowest risk in its supply chain", "supply_chain_safety", tickers=FIRST_LIST),
    _ranks(ONE, "remove the homebuilders", "rate_cuts", bounds={"without": "homebuilders"}),
    _ranks(ONE, "no banks please", "rate_cuts", bounds={"without": "banks"}),
    _ranks(ONE, "which of them pay more than 2% dividends?", "dividends", tickers=FIRST_LIST, bounds={"above": 2.0}),
    _ranks(ONE, "which of those are utilities?", "rate_cuts", sector="utilities", tickers=FIRST_LIST),
    _ranks(ONE, "which have the highest dividends?", "dividends", tickers=FIRST_LIST),
    _ranks(("stocks with margins over 40%",), "and under 10%?", "margins", bounds={"below": 10.0}),
    _compares(PAIR, "compare them", "NVDA", "AMD"),
    _compares(PAIR, "compare", "NVDA", "AMD"),
    _ranks(PAIR, "which one has better margins?", "margins", tickers=["NVDA", "AMD"]),
    _ranks(PAIR, "who grows faster?", "growth", tickers=["NVDA", "AMD"]),
    _compares(PAIR, "is it cheaper than Intel?", "AMD", "INTC"),
    _tells((LISTED, "tell me a joke", "what would you do?"), "the second one", "LEN"),
    _ranks((*FOUR, "which is the best?"), "and which grows faster?", "growth", tickers=["DHI", "AAPL"]),
    _ranks(FOUR, "which one is safer?", "supply_chain_safety", tickers=["DHI", "AAPL"]),
    _ranks(FOUR, "who has higher margins?", "margins", tickers=["DHI", "AAPL"]),
    _ranks(ONE, "give me ten", "rate_cuts", limit=10),
    _ranks(ONE, "what about hikes?", "rate_hikes"),
    _tells(ONE, "ok and the one after that", "LEN"),
    _tells(ONE, "Tell me more", "DHI"),
    _tells(ONE, "go on", "DHI"),
    _tells(TWO, "any risks?", "DHI", "supply_chain"),
    _tells(TWO, "show me the chart", "DHI"),
    _tells(TWO, "no, the second one", "LEN"),
    _tells(TWO, "and the next one?", "LEN"),
    _tells(TWO, "what about AAPL instead?", "AAPL"),
    _tells(TWO, "is it expensive?", "DHI"),
    _tells(TWO, "and its margins?", "DHI"),
    _tells(TWO, "margins?", "DHI"),
    _tells(TWO, "how did its revenue develop?", "DHI"),
    _tells(TWO, "earnings per share?", "DHI"),
    _tells(THREE, "what about AAPL instead?", "AAPL", "supply_chain"),
    _tells(THREE, "and AAPL?", "AAPL", "supply_chain"),
    _tells(THREE, "same for MSFT", "MSFT", "supply_chain"),
    _tells(THREE, "and the second one?", "LEN", "supply_chain"),
    _tells(THREE, "tell me more about that", "DHI"),
    _ranks(THREE, "same for banks", "supply_chain_risk", sector="banks"),
    _compares(THREE, "Compare it to the second one", "DHI", "LEN"),
    _compares(FOUR, "what about MSFT instead?", "DHI", "MSFT"),
    _compares(FOUR, "and microsoft?", "DHI", "MSFT"),
    _ranks(FOUR, "which of them has the higher margins", "margins", tickers=["DHI", "AAPL"]),
    _ranks(FOUR, "which is cheaper?", "value", tickers=["DHI", "AAPL"]),
    _ranks(FOUR, "so which is riskier?", "supply_chain_risk", tickers=["DHI", "AAPL"]),
    _tells(FOUR, "the third one", "NEE"),
    _ranks(FOUR, "back to the list", "rate_cuts"),
    _tells(BANKS, "the second one", "C"),
    _tells(BANKS, "the top bank", "JPM"),
    _ranks(BANKS, "which of them is cheapest", "value", tickers=["JPM", "C", "PNC", "USB", "WFC"]),
    _ranks(BANKS, "and utilities?", "rate_cuts", sector="utilities"),
    _ranks(BANKS, "same for rate hikes", "rate_hikes", sector="banks"),
    _tells(BANKS, "the second one in the first list", "LEN"),
    _tells(BANKS, "the last one of the first list", "AMT"),
    _ranks((*BANKS, "no, the first list"), "and the previous list", "rate_cuts", sector="banks"),
    *_same(
        BANKS,
        "rank_stocks",
        {"theme": "rate_cuts"},
        "no, the first list",
        "back to the first list",
        "the previous list",
        "the original list",
        "no, I meant the first list",
    ),
]
"""Questions that only what came before them explains."""
