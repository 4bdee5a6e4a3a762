"""What the scripted model plays for the market assistant: tools called and their findings read out.

It holds nothing: what a question refers to is found in the context (`shown`, `reference`), and where that does not
reach back far enough, `earlier_lists` is called first.
"""

from threadkeep.llm.general_script import GENERAL
from threadkeep.llm.script import Call, Reply, Result, Scene, Script
from threadkeep_assistants.market.companies import FICTION
from threadkeep_assistants.market.plan import calls_for
from threadkeep_assistants.market.question import Question
from threadkeep_assistants.market.reference import has_place, needs_every_list, refers
from threadkeep_assistants.market.shown import Past, past_of

EXAMPLES = (
    "What stocks benefit from rate cuts?",
    "Tell me more about the top one",
    "What about its supply chain risk?",
    "Compare it to AAPL",
    "Which banks have the highest margins?",
)


_LIMITS = (
    "I cannot answer that. The data tells what companies do and how interest rates, supply chains, margins, revenue, "
    "earnings, prices and dividends look, and nothing else; I give no advice. Ask, for example: “What stocks benefit "
    "from rate cuts?”"
)


def tell(scene: Scene) -> Reply | None:
    """Read out what the tools found."""
    results = [result for result in scene.results if result.tool != "earlier_lists" or _asks_for_lists(scene)]
    if not results:
        return None
    return Reply(text="\n\n".join([*map(_read_out, results), f"*{FICTION}*"]))


def look_up(scene: Scene) -> Reply | None:
    """Call the tools that answer a question, or ask what it means."""
    question, past = Question(scene.question), past_of(scene)
    if question.is_talk:
        return None
    if _asks_for_lists(scene):
        return _calling(Call("earlier_lists"))
    if not past.is_whole and needs_every_list(question.text):
        return _calling(Call("earlier_lists"))
    if calls := calls_for(question, past):
        return _calling(*calls)
    if not refers(question.text) and not question.goes_on and not question.wants_more and not question.theme:
        return None
    return _calling(Call("earlier_lists")) if not past.is_whole else _ask_back(question, past)


def give_up(scene: Scene) -> Reply | None:
    """Say what the data holds where a question is about something else; small talk is left to the demo model."""
    if scene.results or Question(scene.question).is_talk or GENERAL.reply(scene) is not None:
        return None
    return Reply(text=f"{_LIMITS}\n\n*{FICTION}*")


SCRIPT = Script(rules=(tell, look_up, give_up), examples=EXAMPLES)


def _calling(*calls: Call) -> Reply:
    return Reply(calls=calls)


def _asks_for_lists(scene: Scene) -> bool:
    return Question(scene.question).wants_history


def _read_out(result: Result) -> str:
    if result.error:
        return result.error
    return str(result.value["summary"]) if isinstance(result.value, dict) else result.content


def _ask_back(question: Question, past: Past) -> Reply:
    """Ask what was meant, with what would be understood."""
    if past.lists and has_place(question.text):
        newest = past.lists[-1].companies
        text = f"That is not in the list: {', '.join(map(str, newest))}. Which one do you mean?"
    else:
        text = f"I cannot tell which company or list you mean. Name one, or begin with: “{EXAMPLES[0]}”"
    return Reply(text=f"{text}\n\n*{FICTION}*")
