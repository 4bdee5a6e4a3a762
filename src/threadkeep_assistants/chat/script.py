"""What the scripted demo plays for the general assistant: it tells the time, calculates, and searches what was said.

What it remembers of a conversation and how it greets is in `demo/general_script`. Questions are read word by word.
"""

from typing import Any

from threadkeep.text.stop_words import BY_LANGUAGE
from threadkeep_assistants.chat.expression import expression_in
from threadkeep_assistants.chat.tools import cities
from threadkeep_assistants.demo.script import Call, Reply, Scene, Script, after
from threadkeep_assistants.vocabulary.scanning import word_set
from threadkeep_assistants.vocabulary.words import Text

_CLOCK = word_set("what whats is the time date day year it how late tell me current exact local today now clock a")
_NOW = word_set("right now today please there currently at moment the")
_TALKS = word_set("conversation conversations chat chats history")
_SAID = word_set("talk talked spoke speak say said discuss discussed mention mentioned told tell decided agreed")
_SEARCHING = "search|find|look up|look through|look for|remind me|have we|did we|have i|did i|what we said|what i said"
_FILLING = BY_LANGUAGE["english"].union(
    _TALKS,
    _SAID,
    word_set(
        "search find look remind remember earlier past old previous last time week weeks month months year day days"
    ),
    word_set("yesterday ago already ever recently two three messages message"),
)


def _search(scene: Scene) -> Reply | None:
    """Search other conversations, for what was not spoken of in this one unless they are named."""
    text = Text(scene.question)
    names = {word.text for word in text.words}
    if scene.results or not text.has(_SEARCHING) or not names & (_TALKS | _SAID):
        return None
    wanted = [word.written for word in text.words if word.text not in _FILLING and word.written]
    is_here = any(all(word.lower() in said.lower() for word in wanted) for said in scene.said)
    if not wanted or (is_here and not names & _TALKS):
        return None
    return Reply(calls=(Call("search_conversations", {"words": " ".join(wanted)}),))


def _clock(scene: Scene) -> Reply | None:
    """Tell the time: "what time is it in Tokyo". A place that is no city is left to the tool, which tells what comes
    close."""
    spoken = Text(scene.question).words
    words = [word.text for word in spoken]
    while len(words) > 1 and words[-1] in _NOW:
        words.pop()
    at = next((at for at, word in enumerate(words) if word in ("in", "for")), len(words))
    asked, place = words[:at], " ".join(word.written for word in spoken[at + 1 : len(words)])
    if not scene.results and set(asked) <= _CLOCK and {"time", "date", "day", "late", "year"} & set(asked):
        zone = cities().get(place.lower().replace(" ", "_"), place)
        return Reply(calls=(Call("current_time", {"zone": zone} if zone else {}),))
    return None


def _calculation(scene: Scene) -> Reply | None:
    """Call the tool for what is arithmetic, in signs or in words."""
    if scene.results:
        return None
    expression = expression_in(scene.question)
    return Reply(calls=(Call("calculate", {"expression": expression}),)) if expression else None


def _argument(scene: Scene, name: str) -> str:
    return str(next((result.args.get(name, "") for result in reversed(scene.results)), ""))


def _found(hits: Any, scene: Scene) -> str:
    words = _argument(scene, "words")
    if not isinstance(hits, list) or not hits:
        return f"I found nothing about {words} in your earlier conversations."
    lines = [f"- {hit['when']}, {hit['title'] or 'untitled'} ({hit['who']}): {hit['said']}" for hit in hits]
    return "\n".join([f"This is what I found about {words} in your earlier conversations:", "", *dict.fromkeys(lines)])


def _failed(scene: Scene) -> Reply | None:
    """Tell why one of the tools here could not answer."""
    errors = [result.error for result in scene.results if result.error and result.tool in ("calculate", "current_time")]
    return Reply(text="\n\n".join(errors)) if errors else None


SCRIPT = Script(
    rules=(
        _search,
        _clock,
        _calculation,
        after("current_time", lambda told, _: f"It is {told}."),
        after("calculate", lambda value, scene: f"{_argument(scene, 'expression')} = {value}"),
        after("search_conversations", _found),
        _failed,
    ),
    examples=("What time is it in Tokyo?", "What is 17 * 23?", "Search my conversations for pizza"),
)
