"""What the scripted demo plays for the general assistant: it tells the time, calculates, and searches what was said.

What it remembers of a conversation and how it greets is in `llm/general_script`.
"""

import re
from typing import Any

from threadkeep.assistants.chat.clock import cities
from threadkeep.llm.script import Call, Reply, Scene, Script, after, asked

_TIMES = r"\bwhat(?:'s|’s| is)? (?:the )?(?:current )?(?:time|date|day|year)\b|\bwhat day is\b|\btell me the time\b"  # noqa: RUF001 - as phones write
_SIGNS = (
    (r"\bto the power of\b|\^", "**"),
    (r"\b(?:multiplied by|times)\b|×|(?<=\d)\s*x\s*(?=\d)", "*"),  # noqa: RUF001 - as people write
    (r"\b(?:divided by|over)\b|÷", "/"),
    (r"\bplus\b", "+"),
    (r"\bminus\b", "-"),
    (r"(?<=\d),(?=\d{3}\b)", ""),
    (r"\b(?:the )?square root of (\d+(?:\.\d+)?)", r"sqrt(\1)"),
    (r"(\d+(?:\.\d+)?)\s*(?:%|percent) of (\d+(?:\.\d+)?)", r"\1/100*\2"),
)
_EXPRESSION = re.compile(
    r"(?:sqrt)?[(\d.-][\d\s().]*(?:(?:\*\*|//|[-+*/%])\s*(?:sqrt)?[\d\s().]+)+|sqrt\([\d.]+\)", re.IGNORECASE
)
_SEARCHES = (
    r"\b(?:search|look) (?:in |through )?(?:my|our|all|the|earlier|past|other|old)\b.*?"
    r"\b(?:conversations?|chats?|history|messages)\b(?: for| about)? (?P<words>.+)",
    r"\b(?:find|where is) (?:the |my |our )?(?:conversations?|chats?|messages?)"
    r"(?: where| in which| about| with| on)+(?: we| i| you)?(?: talked| spoke| said| discussed| asked)?"
    r"(?: about)? (?P<words>.+)",
    r"\b(?:have|did) (?:we|i) (?:ever |already )?(?:talk|speak|spoken|discuss|ask|mention)(?:ed)?"
    r"(?: you)?(?: about)? (?P<words>.+)",
    r"\bwhat did (?:i|we|you) (?:say|tell you|discuss|talk) about (?P<words>.+?)"
    r" (?:last time|yesterday|before|earlier|in (?:an|the|my)? ?(?:earlier|other|last|past).*)",
)
_ASKS = re.compile(r"\bwhat|\bhow much|calc|minus|=", re.IGNORECASE)
_FILLING = re.compile(
    r"\b(?:the|a|an|my|our|your|about|before|already|ever|please|last time|yesterday|earlier)\b|[^\w\s'-]",
    re.IGNORECASE,
)


def _time(_match: re.Match[str], scene: Scene) -> Reply:
    said = re.sub(r"[^\w]+", "_", scene.question.lower())
    city = next((city for city in sorted(cities(), key=len, reverse=True) if f"_{city}_" in f"_{said}_"), None)
    return Reply(calls=(Call("current_time", {"zone": cities()[city]} if city else {}),))


def _calculation(scene: Scene) -> Reply | None:
    """Call the tool for what looks like arithmetic, in signs or in words."""
    if scene.results:
        return None
    text = scene.question
    for pattern, sign in _SIGNS:
        text = re.sub(pattern, sign, text, flags=re.IGNORECASE)
    found = _EXPRESSION.search(text)
    # A telephone number, a date or a range is no sum.
    if found is None or (re.fullmatch(r"[\d\s-]+", found[0]) and not _ASKS.search(scene.question)):
        return None
    return Reply(calls=(Call("calculate", {"expression": found[0].strip(" .")}),))


def _search(match: re.Match[str], _scene: Scene) -> Reply | None:
    words = " ".join(_FILLING.sub(" ", match["words"]).split())
    return Reply(calls=(Call("search_conversations", {"words": words}),)) if words else None


def _found(hits: Any, scene: Scene) -> str:
    words = next((result.args.get("words", "") for result in reversed(scene.results)), "")
    if not isinstance(hits, list) or not hits:
        return f"I found nothing about {words} in your earlier conversations."
    lines = [f"- {hit['when']}, {hit['title'] or 'untitled'} ({hit['who']}): {hit['said']}" for hit in hits]
    return "\n".join([f"This is what I found about {words} in your earlier conversations:", "", *lines])


def _value(value: Any, scene: Scene) -> str:
    expression = next((result.args.get("expression", "") for result in reversed(scene.results)), "")
    return f"{expression} = {value}"


SCRIPT = Script(
    rules=(
        *(asked(pattern, _search) for pattern in _SEARCHES),
        asked(_TIMES, _time),
        _calculation,
        after("current_time", lambda told, _: f"It is {told}."),
        after("calculate", _value),
        after("search_conversations", _found),
    ),
    examples=("What time is it in Tokyo?", "What is 17 * 23?", "Search my conversations for pizza"),
)
