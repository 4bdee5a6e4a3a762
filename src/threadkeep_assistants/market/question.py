"""A question as the scripted model understands it: a theme, a sector, figures, companies, and what is wanted of them.

Found by patterns; a real model needs none of this. What the question refers to without naming it is in `reference`.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from threadkeep_assistants.market.companies import Metric, Sector
from threadkeep_assistants.market.names import (
    Named,
    companies_in,
    is_refused,
    region_in,
    sectors_in,
    unknown_ticker_in,
)
from threadkeep_assistants.market.ranking import Theme

NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}

_DOWN = r"cut\w*|lower\w*|low|fall\w*|drop\w*|declin\w+|down|reduc\w+|eas(?:e|es|ing)|decreas\w+|slash\w*|sink\w*"
_UP = r"hik\w+|higher|high|ris(?:e|es|ing)|rais\w+|increas\w+|up|climb\w*|tighten\w*|jump\w*"
_RATES = r"(?:interest\W+)?rates?\b|\bthe fed\b|\bcentral bank\b|\bborrowing costs?\b"


def _moves(words: str) -> str:
    """Return the pattern of rates that move: the words for it before or behind them, at most four words away."""
    between = r"\W+(?:[\w']+\W+){0,4}?"
    return rf"\b(?:{words})\b{between}(?:{_RATES})|(?:{_RATES}){between}(?:{words})\b"


_CUTS = re.compile(_moves(_DOWN) + r"|\bmonetary easing\b|\bcheaper money\b|\bdovish\b|\brate-?cuts?\b|\bcuts\W*$")
_HIKES = re.compile(_moves(_UP) + r"|\bmonetary tightening\b|\bhawkish\b|\b(?:rate-?)?hikes?\b")
_CENTRAL_BANK = re.compile(r"\bcentral banks?\b")
_HARMED = re.compile(r"\b(?:hurt|hurts|harmed?|suffers?|lose|loses|losers?|damaged?|hit by|worst off|bad for|avoid)\b")
_CHAIN = re.compile(
    r"\bsup+l*y[ -]*chains?\b|\bsuppl(?:y|ier|iers|ies)\b|\bsourc(?:e|es|ing)\b|\bvendors?\b|\blogistics\b"
    r"|\brisk(?:s|y|ier|iest)?\b|\bfactor(?:y|ies)\b|\bmade\b|\bdepend(?:s|ent)?\b"
    r"|\bexpos(?:ed|ure)\b|\bsafe(?:r|st)?\b|\bregions?\b"
)
_RISK = re.compile(r"\brisk\w*|\bsafe\w*|\brobust\b|\bsecure\b|\bwhich\b|\bworst\b|\bbest\b|\blowest\b|\bhighest\b")
_SAFE = re.compile(r"\b(?:safe|safer|safest|lowest|least|robust|secure|low)\b")
_THEMES: tuple[tuple[Theme, re.Pattern[str]], ...] = (
    ("margins", re.compile(r"\bmargins?\b|\bprofitab(?:le|ility)\b|\bmost profitable\b")),
    (
        "value",
        re.compile(
            r"\bcheap\w*|\bundervalued\b|\bbargains?\b|\bp/?e\b|\bvaluations?\b|\bexpensive\b|\bbest value\b"
            r"|\bpric(?:e|ey|iest)\b"
        ),
    ),
    ("growth", re.compile(r"\bgrow\w*|\bfast\w* growing\b|\bexpanding\b")),
    ("dividends", re.compile(r"\bdividends?\b|\byields?\b|\bpayouts?\b")),
    (
        "size",
        re.compile(r"\b(?:bigg(?:er|est)|larg(?:er|est)|smallest|smaller)\b|\brevenues?\b|\bsales\b|\bturnover\b"),
    ),
)
_BOUND = re.compile(
    r"\b(?:(?P<above>above|over|more than|at least|higher than|greater than)"
    r"|(?P<below>below|under|less than|at most|lower than|cheaper than))\s+\$?(?P<number>\d+(?:\.\d+)?)"
)
_REVERSE = re.compile(
    r"\b(?:lowest|smaller|worst|slowest|smallest|weakest|least|(?:most|more|too) expensive|priciest)\b"
)
_METRICS: tuple[tuple[tuple[Metric, ...], re.Pattern[str]], ...] = (
    (("gross_margin",), re.compile(r"\bgross margins?\b")),
    (("operating_margin",), re.compile(r"\boperating margins?\b")),
    (("gross_margin", "operating_margin"), re.compile(r"\bmargins?\b|\bprofitab\w+")),
    (("revenue",), re.compile(r"\brevenues?\b|\bsales\b|\bturnover\b|\btop line\b|\bgrow\w*")),
    (("eps",), re.compile(r"\beps\b|\bearn\w*|\bprofits?\b|\bincome\b|\bbottom line\b")),
    (("revenue", "operating_margin"), re.compile(r"\b(?:figures?|numbers|quarter\w*|financials?|results|charts?)\b")),
)
_COMPARES = re.compile(
    r"\bcompar\w*|\bversus\b|\bvs\b|\bdifferences?\b|\bdiffers?\b|\bside by side\b|\bstacks? up\b|\bagainst\b"
    r"|\bbetter than\b|\bcontrast\b"
)
_CHOICE = re.compile(r"\bwhich (?:one )?is (?:better|riskier|safer|cheaper|bigger)\b|\bor\b")
_THAN = re.compile(r"\b(?:\w+er|more \w+|less \w+|worse) than\b(?! \$?\d)")
_EVERYBODY = re.compile(
    r"\b(?:stocks|companies|names|firms|shares|tickers|sectors|picks|winners|losers|who|whose|anything|list of|rank"
    r"|ranking|which ones?|(?:which|what) (?:other|of|\w+s)\b|top \d+|best|highest|lowest|cheapest|fastest|slowest"
    r"|riskiest|safest|priciest|biggest|most|screen)\b"
)
_TELLS = re.compile(
    r"\btell me (?:more|about|something about|what|why|how|everything)\b|^\W*tell me\W*$"
    r"|\bmore (?:about|on|info\w*|details?)\b|\bdescribe\b|\bdetails?\b|\bexplain\b|\babout\b.*\bcompany\b"
    r"|\bwhat (?:is|are|does|do)\b|\bwhat's\b|\bwho (?:is|are)\b|\bwhy\b|\binfo\w*\b|\boverview\b|\bsummar\w+"
    r"|\belaborate\b|\bgo on\b|\bcontinue\b|\bgo deeper\b|\bdig\b|\blook (?:at|into)\b|\bprofile\b|\bshould i\b|\bbuy\b"
)
_AGAIN = re.compile(
    r"^\W*(?:(?:no|ok|okay|so|well|actually|sorry)\W+)*(?:and|what about|how about|same|the same|now|only|just|but|try"
    r"|do it|or|instead)\b|\binstead\b|\bsame (?:for|with|thing)\b|\bas well\b|\btoo\b|\balso\b"
)
_MORE = re.compile(
    r"^\W*(?:show|give|list)?\W*(?:me\W+)?(?:a few |some )?more(?:\W+(?:please|of them|stocks|names|like that))?\W*$"
)
_WORST = re.compile(
    r"\b(?:the|who (?:is|are)|which (?:is|are)) (?:the )?(?:worst|losers|least)\W*$|^\W*(?:the )?(?:worst|losers)\W*$"
)
_TOP = re.compile(rf"\b(?:top|best|show|list|give)\W+(?:me\W+)?(?:the\W+)?(?P<count>\d{{1,2}}|{'|'.join(NUMBERS)})\b")
_CATALOGUE = re.compile(
    r"\b(?:what|which|list|show)\b.*\b(?:sectors|industries|do you (?:know|have|cover)|are there|are available)\b"
    r"|\bwhat (?:data|can you)\b|\ball (?:the )?(?:companies|tickers|stocks)\b"
)
_PEERS = re.compile(r"\b(?:competitors?|alternatives?|peers?|rivals?|similar (?:companies|stocks))\b")
_WITHOUT = re.compile(r"\b(?:without|except|excluding|exclude|remove|drop|leave out|other than|no more)\b")
_HISTORY = re.compile(r"\b(?:lists|rankings)\b.*\b(?:shown?|so far|had|seen)\b")


_TALK = re.compile(
    r"^\W*(?:thanks?|thank you|thx|cheers|great|nice|cool|perfect|good (?:morning|evening|night|bye)|goodbye|bye|hello"
    r"|hi|hey|remember)\b[^?]*$|\bmy (?:\w+ )?name\b|\bwho (?:am i|are you)\b|\babout me\b"
)
_UNKNOWN = re.compile(
    r"\b(?:tell me (?:more )?about|what about|how about|describe|what is|what's|who is|info(?:rmation)? (?:on|about)"
    r"|do you (?:know|have)|find|search(?: for)?|look up)\s+(?:the\s+)?(?P<name>[\w&.' -]+?)\W*$"
)


_NOBODY = ("others", "other ones", "rest", "all of them")
"""What stands where a name could, and is none."""


class Wanted(StrEnum):
    """What is wanted of a company."""

    DESCRIPTION = "describe_company"
    SUPPLY_CHAIN = "supply_chain"
    FIGURES = "quarterly_figures"
    COMPARISON = "compare_companies"


@dataclass(frozen=True)
class Question:
    """The words of a question, in small letters in `text`."""

    words: str

    @cached_property
    def text(self) -> str:
        return self.words.lower().replace("’", "'")  # noqa: RUF001 - as phones write

    @cached_property
    def companies(self) -> list[Named]:
        """The companies that it names."""
        return companies_in(self.words)

    @cached_property
    def stranger(self) -> str | None:
        """What looks like a ticker but is not known."""
        return unknown_ticker_in(self.words)

    @cached_property
    def sector(self) -> Sector | None:
        """The sector that it names; a company's name is not taken for one."""
        return next(iter(self.sectors), None)

    @cached_property
    def sectors(self) -> list[Sector]:
        """All sectors that it names."""
        return [] if self.companies else sectors_in(_CENTRAL_BANK.sub(" ", self.text))

    def place_of(self, sector: Sector) -> int:
        """Where it names a sector, for an order as people said it."""
        places = [self.text.find(word.lower()) for word in (sector.key, sector.name, *sector.also)]
        return min((place for place in places if place >= 0), default=0)

    @cached_property
    def bounds(self) -> dict[str, float | str]:
        """What companies must meet: "above 5%", "in China"."""
        found = _BOUND.search(self.text)
        number = {"above" if found["above"] else "below": float(found["number"])} if found else {}
        return number | ({"region": self.region} if self.region else {})

    @cached_property
    def region(self) -> str | None:
        """The region that it names."""
        return None if self.companies else region_in(self.text)

    @cached_property
    def asks_for_facts(self) -> bool:
        """Whether it wants to know the suppliers, and not whose supplies are at risk."""
        return self.theme == "supply_chain_risk" and not self.region and _RISK.search(self.text) is None

    @cached_property
    def is_without_sector(self) -> bool:
        """Whether the sector is to be left out: "except banks"."""
        if self.sector is None:
            return False
        return _WITHOUT.search(self.text) is not None or is_refused(self.sector, self.text)

    @cached_property
    def theme(self) -> Theme | None:
        """What stocks could be ranked by."""
        if _CUTS.search(self.text):
            return "rate_hikes" if _HARMED.search(self.text) else "rate_cuts"
        if _HIKES.search(self.text):
            return "rate_cuts" if _HARMED.search(self.text) else "rate_hikes"
        if _CHAIN.search(self.text):
            return "supply_chain_safety" if _SAFE.search(self.text) else "supply_chain_risk"
        return next((theme for theme, pattern in _THEMES if pattern.search(self.text)), None)

    @cached_property
    def is_reverse(self) -> bool:
        """Whether the worst are wanted. Themes that have two names are never turned around."""
        return (
            self.theme in ("margins", "growth", "value", "dividends", "size") and _REVERSE.search(self.text) is not None
        )

    @cached_property
    def limit(self) -> int | None:
        """How many companies are wanted."""
        match = _TOP.search(self.text)
        return min(20, NUMBERS.get(match["count"]) or int(match["count"]) or 1) if match else None

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The figures that are wanted of a company."""
        return next((metrics for metrics, pattern in _METRICS if pattern.search(self.text)), ())

    @cached_property
    def wanted(self) -> Wanted | None:
        """What is wanted of a company; None if only the conversation tells."""
        is_pair = len(self.companies) == 2 and _CHOICE.search(self.text)
        if _COMPARES.search(self.text) or is_pair or (self.companies and _THAN.search(self.text)):
            return Wanted.COMPARISON
        if _CHAIN.search(self.text):
            return Wanted.SUPPLY_CHAIN
        if self.metrics and self.theme not in ("rate_cuts", "rate_hikes", "value", "dividends"):
            return Wanted.FIGURES
        return Wanted.DESCRIPTION if self.theme or _TELLS.search(self.text) else None

    @cached_property
    def is_about_many(self) -> bool:
        """Whether it asks for a choice among many companies."""
        return _EVERYBODY.search(self.text) is not None

    @cached_property
    def goes_on(self) -> bool:
        """Whether it wants the same as before for something else: "and AAPL?", "same for banks"."""
        return _AGAIN.search(self.text) is not None

    @cached_property
    def wants_more(self) -> bool:
        """Whether it wants more of a list, and nothing else."""
        only_a_number = self.limit is not None and not self.theme and not self.wanted and not self.companies
        return _MORE.search(self.text) is not None or only_a_number

    @cached_property
    def wants_catalogue(self) -> bool:
        """Whether it asks what there is."""
        return not self.companies and _CATALOGUE.search(self.text) is not None

    @cached_property
    def wants_worst(self) -> bool:
        """Whether it wants the other end of a list, and says nothing else: "and the worst?"."""
        return self.theme is None and not self.companies and _WORST.search(self.text) is not None

    @cached_property
    def wants_peers(self) -> bool:
        """Whether it asks for companies like one."""
        return _PEERS.search(self.text) is not None

    @cached_property
    def is_talk(self) -> bool:
        """Whether it is not about stocks: "thanks, that helps", "what is my name?"."""
        return not self.companies and not self.theme and _TALK.search(self.text) is not None

    @cached_property
    def wants_history(self) -> bool:
        """Whether it asks which lists were shown."""
        return _HISTORY.search(self.text) is not None

    @cached_property
    def unknown_name(self) -> str | None:
        """What it asks about, if that is nothing in the data."""
        match = None if self.companies or self.sector else _UNKNOWN.search(self.text)
        return match["name"] if match and match["name"] not in _NOBODY else None
