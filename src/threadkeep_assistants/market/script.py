"""What the scripted model plays for the market assistant: tools called and their findings read out.

It holds nothing: what a question refers to is found in the context (`past`).
"""

from threadkeep_assistants.demo.general_script import GENERAL
from threadkeep_assistants.demo.script import Reply, Result, Scene, Script
from threadkeep_assistants.market.companies import FICTION
from threadkeep_assistants.market.past import Past, past_of
from threadkeep_assistants.market.question import Question, calls_for

EXAMPLES = (
    "What stocks benefit from rate cuts?",
    "Which banks have the highest margins?",
    "Compare NVDA to AAPL",
)

_LIMITS = (
    "I am scripted and did not understand that. The data tells what companies do and how interest rates, supply chains,"
    " margins, revenue, earnings, prices and dividends look, and nothing else; I give no advice. Ask, for example:"
    " “What stocks benefit from rate cuts?”"
)


def tell(scene: Scene) -> Reply | None:
    """Read out what the tools found."""
    return Reply(text="\n\n".join([*map(_read_out, scene.results), f"*{FICTION}*"])) if scene.results else None


def look_up(scene: Scene) -> Reply | None:
    """Call the tools that answer a question, or ask what it means."""
    asked, past = Question(scene.question), past_of(scene)
    if asked.is_talk or asked.is_beyond_data:
        return None
    if calls := calls_for(asked, past):
        return Reply(calls=tuple(calls))
    return _ask_back(asked, past) if asked.refers or asked.theme else None


def give_up(scene: Scene) -> Reply | None:
    """Say what the data holds where a question is about something else; small talk is left to the demo model."""
    if scene.results or Question(scene.question).is_talk or GENERAL.reply(scene) is not None:
        return None
    return Reply(text=f"{_LIMITS}\n\n*{FICTION}*")


SCRIPT = Script(rules=(tell, look_up, give_up), examples=EXAMPLES)


def _read_out(result: Result) -> str:
    if result.error:
        return result.error
    return str(result.value["summary"]) if isinstance(result.value, dict) else result.content


def _ask_back(asked: Question, past: Past) -> Reply:
    """Ask what was meant, with what would be understood."""
    if past.shown.several and asked.kinds:
        listed = ", ".join(map(str, past.shown.several))
        text = f"I cannot tell which one you mean. The list was: {listed}. Which one do you mean?"
    else:
        text = f"I cannot tell which company or list you mean. Name one, or begin with: “{EXAMPLES[0]}”"
    return Reply(text=f"{text}\n\n*{FICTION}*")
