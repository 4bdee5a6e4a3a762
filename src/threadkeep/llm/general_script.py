"""What the demo model says without an assistant's script: it greets, remembers, and uses tools that plainly fit.

Off its script it says what it can answer and how to connect a real model.
"""

import re

from threadkeep.llm.facts import Fact, fact_about, facts_in
from threadkeep.llm.fitting_tool import fitting_call
from threadkeep.llm.providers import pip_line
from threadkeep.llm.script import Reply, Result, Rule, Scene, Script, asked

CONNECT = "export OPENAI_API_KEY=... && threadkeep serve --model openai:gpt-6.1-terra"
"""The line that connects a real model; other providers are in docs/howto/connect-a-model.md."""

NOTICE = "*I am the scripted demo: no language model is connected.*"

_UNKNOWN = ", and this question is not in my script."
_HELP = re.compile(r"/?help(?: me)?\W*|(?:so |and )?(?:what|how) can (?:you|i) (?:do|help|ask|say).*", re.IGNORECASE)
_SHOWN = 600
_WHAT_IS = r"\b(?:what(?:'?s|’s| is| was| are)|do you (?:know|remember)|tell me|which is)"  # noqa: RUF001 - as phones write


def off_script(scene: Scene, examples: tuple[str, ...]) -> Reply:
    """Return what is said to a question that no rule answers."""
    is_help = _HELP.fullmatch(scene.question.strip())
    lines = [f"I am the scripted demo, not a language model{'.' if is_help else _UNKNOWN}", "", "Try:"]
    lines += [f"- {example}" for example in examples]
    if scene.tools:
        lines += ["", f"Tools that I can run when a question names them: {', '.join(sorted(scene.tools))}."]
    return Reply(
        text="\n".join([*lines, "", "To connect a real model:", "", f"    {pip_line('openai')}", f"    {CONNECT}"])
    )


def _tell_results(scene: Scene) -> Reply | None:
    """Read out what the tools gave back, for which no other rule had a better sentence."""
    return Reply(text="\n\n".join(map(_told, scene.results))) if scene.results else None


def _told(result: Result) -> str:
    name = result.tool or "The tool"
    if result.error:
        return f"{name} failed: {result.error}"
    text = result.value if isinstance(result.value, str) else result.content
    return f"{name} says: {text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''}"


def _take_note(scene: Scene) -> Reply | None:
    """Confirm facts told in this message. They are remembered by being in the conversation."""
    facts = {} if scene.results else facts_in([scene.question])
    if not facts:
        return None
    name = facts.pop("name", None)
    lines = [f"Nice to meet you, {name.value}!"] if name else []
    lines += [f"I will remember that {_joined(facts)}."] if facts else []
    return Reply(text=" ".join(lines))


def _known(scene: Scene) -> dict[str, Fact]:
    # A fact and a question about it may stand in one message, also when two messages were merged for the model.
    return facts_in([*scene.said, scene.question])


def _name(_match: re.Match[str], scene: Scene) -> str:
    fact = _known(scene).get("name")
    return f"Your name is {fact.value}." if fact else "You have not told me your name in this conversation."


def _everything(_match: re.Match[str], scene: Scene) -> str:
    facts = _known(scene)
    return f"You told me that {_joined(facts)}." if facts else "You have not told me anything about yourself yet."


def _mine(match: re.Match[str], scene: Scene) -> str:
    fact = fact_about(scene.question, _known(scene))
    return f"{_sentence(fact)}." if fact else f"You have not told me your {match['subject'].strip()} yet."


def _something(_match: re.Match[str], scene: Scene) -> str | None:
    fact = fact_about(scene.question, _known(scene))
    return f"You told me: {fact.text}." if fact else None


def _use_tool(scene: Scene) -> Reply | None:
    call = None if scene.results else fitting_call(scene.question, scene.request.tools)
    return Reply(calls=(call,)) if call else None


def _joined(facts: dict[str, Fact]) -> str:
    texts = [fact.text for fact in facts.values()]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _sentence(fact: Fact) -> str:
    return fact.text[:1].upper() + fact.text[1:]


_RULES: tuple[Rule, ...] = (
    _tell_results,
    asked(rf"{_WHAT_IS} my name\b|\bwho am i\b|\bhow am i called\b", _name),
    asked(
        r"\bwhat (?:do|did) (?:you (?:know|remember)|i (?:tell|say|told))\b.*\b(?:me|you|far)\b"
        r"|\b(?:do you remember|who) (?:me|i am)\b",
        _everything,
    ),
    asked(rf"{_WHAT_IS} my (?P<subject>[\w' -]+)", _mine),
    _take_note,
    asked(r"^\W*(?:\w+\W+){0,2}?(?:what|when|where|who|which|how|do|did|tell)\b", _something),
    _use_tool,
    asked(r"\b(?:who|what) are you\b|\bare you (?:real|human|an? \w+)\b", f"{NOTICE} I answer from a few fixed rules."),
    asked(r"\b(?:thanks|thank you|thx|cheers)\b", "You are welcome!"),
    asked(
        r"\b(?:bye|goodbye|see you|good night)\b", "Goodbye! This conversation is kept; come back whenever you like."
    ),
    asked(
        r"^\W*(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening))\b(?:\W+\w+){0,3}\W*$",
        "Hello! Tell me your name or something to remember, and ask me about it later.",
    ),
)

GENERAL = Script(
    rules=_RULES,
    examples=(
        "My name is Alice",
        "What's my name?",
        "Remember that the meeting is on Friday",
        "When is the meeting?",
        "What do you know about me?",
    ),
)
