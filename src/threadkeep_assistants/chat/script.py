"""What the scripted demo plays for the general assistant: it tells the time, calculates, and searches what was said.

What it remembers of a conversation and how it greets is in `llm/general_script`.
"""

import re
from typing import Any

from threadkeep.conversation.message import Role
from threadkeep.llm.script import Call, Reply, Scene, Script, after, asked
from threadkeep_assistants.chat.clock import cities
from threadkeep_assistants.chat.expression import expression_in

_PLACE = r"(?P<place>[^\W\d_][\w .'-]*?)"
_NOW = r"(?:\s+(?:right now|now|today|please|at the moment|over there|there))*\W*$"
_TIMES = (
    rf"\b(?:what|how) (?:time|day|date|year|late) is it(?: today)?(?: in {_PLACE})?{_NOW}",
    r"\bwhat(?:'?s|’s| is)? (?:the )?(?:current |exact )?(?:time|date|day|year)"  # noqa: RUF001 - as phones write
    rf"(?: is it)?(?: (?:in|for) {_PLACE})?{_NOW}",
    rf"\b(?:tell me the|the current|current|today's|local) (?:time|date)(?: (?:in|for) {_PLACE})?{_NOW}",
    rf"^\W*(?:the )?(?:time|date)(?: (?:in|for) {_PLACE})?{_NOW}",
    rf"\bwhat day is (?:it )?today(?: in {_PLACE})?{_NOW}",
)
_ELSEWHERE = re.compile(
    rf"\W*(?:(?:and|what about|how about|now|same)\s+)*(?:(?:in|for)\s+)?{_PLACE}{_NOW}", re.IGNORECASE
)
_ONES_OWN = r"(?:my|our|all|the|earlier|past|other|old|previous)"
_TALKS = r"(?:conversations?|chats?|history|messages|talks?)"
_SAY = r"(?:say|said|tell (?:you|me)|told (?:you|me)|discuss(?:ed)?|talk(?:ed)?|mention(?:ed)?|decided?|agreed?|spoke)"
_AGO = (
    r"(?:last (?:time|week|month|year|night|\w+day)|yesterday|before|earlier|recently|the other day|this (?:week|month)"
    rf"|(?:\w+ )?(?:\w+ )(?:days?|weeks?|months?|years?) ago|in (?:an|the|my|our|another|some)\b.*?{_TALKS})"
)
_SEARCHES = (
    rf"\b(?:search|look) (?:in |through )?(?:{_ONES_OWN}\s+)+{_TALKS}(?: for| about)? (?P<words>.+)",
    rf"\b(?:search|look|find)(?: up| for)? (?P<words>.+?) (?:in|from|through) (?:{_ONES_OWN}\s+)+{_TALKS}",
    r"\b(?:find|where is) (?:the |my |our )?(?:conversations?|chats?|messages?)"
    r"(?: where| in which| about| with| on)+(?: we| i| you)?(?: talked| spoke| said| discussed| asked)?"
    r"(?: about)? (?P<words>.+)",
    r"\b(?:find|show me|tell me|remind me|when|where|what)(?: of)?(?: where| when| what| that)? (?:we|i) "
    rf"(?:have )?{_SAY}(?: about| on)? (?P<words>.+?)(?: {_AGO})?\W*$",
    r"\b(?:have|did) (?:we|i) (?:ever |already )?(?:talk|speak|spoken|discuss|ask|mention)(?:ed)?"
    r"(?: you)?(?: about)? (?P<words>.+)",
    rf"\bwhat (?:did|have|had) (?:i|we|you) {_SAY} (?:about|on|regarding) (?P<words>.+?) {_AGO}",
)
_ABOUT = rf"\bwhat (?:did|have|had) (?:i|we|you) {_SAY} (?:about|on|regarding) (?P<words>.+)"
_FILLING = re.compile(
    rf"\b(?:the|a|an|my|our|your|about|already|ever|please|{_AGO})\b|[^\w\s'-]",
    re.IGNORECASE,
)
_WORDS_WANTED = "What should I look for? Say for example: Search my conversations for pizza."


def _time(match: re.Match[str], _scene: Scene) -> Reply:
    place = match.groupdict().get("place")
    return _clock(place) if place else Reply(calls=(Call("current_time"),))


def _clock(place: str) -> Reply:
    """Call the clock; a place that is no city is left to the tool, which tells what comes close."""
    said = f"_{_city(place)}_"
    city = next((city for city in sorted(cities(), key=len, reverse=True) if f"_{city}_" in said), None)
    return Reply(calls=(Call("current_time", {"zone": cities()[city] if city else place}),))


def _elsewhere(scene: Scene) -> Reply | None:
    """Tell the time in another city, right after it was told in one: "and in Oslo?"."""
    match = None if scene.results or _last_tool(scene) != "current_time" else _ELSEWHERE.fullmatch(scene.question)
    return _clock(match["place"]) if match and _city(match["place"]) in cities() else None


def _city(place: str) -> str:
    return re.sub(r"\W+", "_", place.lower())


def _last_tool(scene: Scene) -> str | None:
    """Return the tool that was called in the turn before, if any was."""
    answers = [message for message in scene.request.messages if message.role is Role.ASSISTANT]
    calls = answers[-2].tool_calls if len(answers) > 1 else ()
    return calls[0].name if calls else None


def _calculation(scene: Scene) -> Reply | None:
    """Call the tool for what looks like arithmetic, in signs or in words."""
    if scene.results:
        return None
    result = scene.found("calculate") if _last_tool(scene) == "calculate" else None
    expression = expression_in(scene.question, None if result is None else str(result))
    return Reply(calls=(Call("calculate", {"expression": expression}),)) if expression else None


def _search(match: re.Match[str], _scene: Scene) -> Reply | None:
    words = " ".join(_FILLING.sub(" ", match["words"]).split())
    return Reply(calls=(Call("search_conversations", {"words": words}),)) if words else None


def _search_elsewhere(match: re.Match[str], scene: Scene) -> Reply | None:
    """Search other conversations for what was not spoken of in this one."""
    reply = _search(match, scene)
    words = str(reply.calls[0].args["words"]).lower().split() if reply else []
    is_here = any(all(word in said.lower() for word in words) for said in scene.said)
    return None if is_here else reply


def _found(hits: Any, scene: Scene) -> str:
    words = next((result.args.get("words", "") for result in reversed(scene.results)), "")
    if not isinstance(hits, list) or not hits:
        return f"I found nothing about {words} in your earlier conversations."
    lines = [f"- {hit['when']}, {hit['title'] or 'untitled'} ({hit['who']}): {hit['said']}" for hit in hits]
    return "\n".join([f"This is what I found about {words} in your earlier conversations:", "", *dict.fromkeys(lines)])


def _value(value: Any, scene: Scene) -> str:
    expression = next((result.args.get("expression", "") for result in reversed(scene.results)), "")
    return f"{expression} = {value}"


def _failed(scene: Scene) -> Reply | None:
    """Tell why one of the tools here could not answer."""
    errors = [result.error for result in scene.results if result.error and result.tool in ("calculate", "current_time")]
    return Reply(text="\n\n".join(error.removeprefix("InvalidValue: ") for error in errors)) if errors else None


SCRIPT = Script(
    rules=(
        *(asked(pattern, _search) for pattern in _SEARCHES),
        asked(_ABOUT, _search_elsewhere),
        asked(rf"^\W*(?:please )?search (?:{_ONES_OWN}\s+)*{_TALKS}\W*$", _WORDS_WANTED),
        *(asked(pattern, _time) for pattern in _TIMES),
        _calculation,
        _elsewhere,
        after("current_time", lambda told, _: f"It is {told}."),
        after("calculate", _value),
        after("search_conversations", _found),
        _failed,
    ),
    examples=("What time is it in Tokyo?", "What is 17 * 23?", "Search my conversations for pizza"),
)
