"""What the demo model says without an assistant's script: it greets, remembers, and uses tools that plainly fit.

What people said about themselves is found by simple patterns in the context of each request, so facts last exactly as
long as the conversation. To any other question it says what it can answer and how to connect a real model.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from threadkeep.llm.providers import pip_line
from threadkeep_assistants.demo.fitting_tool import fitting_call
from threadkeep_assistants.demo.script import Reply, Result, Rule, Scene, Script, asked

_TITLE = r"(?:Dr|Mr|Mrs|Ms|Prof|St)"
_SENTENCE = re.compile(r"(?<=[.!?;])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)(?<!\bSt\.)\s+|\n+")
"""The gap between two sentences; the full stop of a title ends none."""
_QUESTION = re.compile(
    r"^\W*(?:(?:and|so|but|ok|hey|hi|hello)\W+)*"
    r"(?:what|who|where|when|which|why|how|whose|do|does|did|can|could|is|are|am|will|would|tell me)\b",
    re.IGNORECASE,
)
_ASKED_BEHIND = re.compile(r",\s+(?:what|who|where|when|which|why|how|can|could|do|does|is|are)\b", re.IGNORECASE)
_END = r"(?P<value>[^.!?;\n]+?(?:\.\d[^.!?;\n]*?)*)(?=,? (?:and|but) (?:my|i|i'm)\b|[.!?;\n]|$)"
# A name is read once and has at most eight words: "I'm", too, begins with a capital letter.
_PROPER = rf"(?!(?:not|never)\b)(?:{_TITLE}\. )?\w[\w'’-]*+(?: [A-Z][\w'’-]*+){{0,7}}+"  # noqa: RUF001 - as phones write
_NAME = re.compile(
    rf"\b(?:(?i:my name(?: is|['’]s)|i am called|i['’]m called) (?P<value>{_PROPER})"  # noqa: RUF001 - as above
    r"|(?i:(?<!n't )(?<!n’t )(?<!not )(?<!never )(?:call me|i go by)) (?P<nick>[A-Z][\w'’-]*))"  # noqa: RUF001 - as above
)
_CALLED = re.compile(rf"\b(?:I am|I'm|i'm) (?P<value>(?=[A-Z]){_PROPER})(?P<nick>)(?=\s*(?:[.!,;]|$|and\b))")
_MINE = re.compile(rf"\bmy (?P<subject>[a-z][\w '-]{{1,40}}?) (?P<is>is|are|was) {_END}", re.IGNORECASE)
_DOES = re.compile(
    r"\bi (?P<subject>live|work|come|study|like|love|prefer|hate|speak|own|have|need|want|play|drive|use|was born"
    rf"|am (?:from|allergic to|interested in|afraid of|good at)) {_END}",
    re.IGNORECASE,
)
_REMEMBER = re.compile(rf"\b(?:remember|note|keep in mind|don't forget)(?: that)?[ :,]+{_END}", re.IGNORECASE)

_SWAPS = {"i": "you", "me": "you", "my": "your", "mine": "yours", "am": "are", "i'm": "you're", "myself": "yourself"}
_SPELLINGS = {"favorite": "favourite", "color": "colour", "center": "centre", "called": "name", "named": "name"}
_EMPTY = re.compile(
    r"a|am|an|and|are|at|be|been|did|do|does|for|from|had|has|have|i|in|is|it|me|my|of|on|or|please|remember|said|say|tell"
    r"|that|the|there|this|to|told|was|we|were|what|when|where|which|who|will|with|you|your|about|again|know|\w"
)

_MANY = re.compile("like|love|hate|speak|own|have|need|want|play|use")
"""Verbs of which several facts are true at once."""
CONNECT = "export OPENAI_API_KEY=... && threadkeep serve --model openai:gpt-6.1-terra"
"""The line that connects a real model; other providers are in docs/howto/connect-a-model.md."""
NOTICE = "*I am the scripted demo: no language model is connected.*"
_UNKNOWN = ", and this question is not in my script."
_HELP = re.compile(r"/?help(?: me)?\W*|(?:so |and )?(?:what|how) can (?:you|i) (?:do|help|ask|say).*", re.IGNORECASE)
_SHOWN = 600
_WHAT_IS = r"\b(?:what(?:'?s|’s| is| was| are)|do you (?:know|remember)|tell me|which is)"  # noqa: RUF001 - as phones write


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a person said: `subject` is what it is about, `text` says it back to them."""

    subject: str
    value: str
    text: str


def facts_in(said: Iterable[str]) -> dict[str, Fact]:
    """Return the facts in what a person said, by subject, in order; a later one replaces an earlier one."""
    facts: dict[str, Fact] = {}
    for text in said:
        for sentence in _SENTENCE.split(text):
            told = _without_question(sentence)
            if not told.rstrip().endswith("?") and not _QUESTION.match(told):
                for fact in _facts_of(told):
                    facts.pop(fact.subject, None)
                    facts[fact.subject] = fact
    return facts


def _without_question(sentence: str) -> str:
    """Return what comes before a question that ends the sentence: "My name is Ada, can you remember that?"."""
    text = sentence.rstrip()
    if not text.endswith("?"):
        return sentence
    asked = _ASKED_BEHIND.search(text, max(text.rfind("."), text.rfind("!")) + 1)
    return text[: asked.start()] if asked else sentence


def fact_about(question: str, facts: dict[str, Fact]) -> Fact | None:
    """Return the fact that a question asks for: the one that shares more than half of its words."""
    asked = _meaningful_words(question)
    best = max(facts.values(), key=lambda fact: len(asked & _meaningful_words(fact.text)), default=None)
    return best if best and len(asked & _meaningful_words(best.text)) * 2 > len(asked) else None


def _facts_of(sentence: str) -> Iterator[Fact]:
    """Yield the facts of one sentence. Something to remember is one fact as a whole, unless it is a personal one."""
    if match := _REMEMBER.search(sentence):
        told = _told_back(match["value"])
        yield next(_personal_facts(match["value"]), Fact(told.casefold(), told, told))
        return
    yield from _personal_facts(sentence)


def _personal_facts(sentence: str) -> Iterator[Fact]:
    """Yield names, possessions ("my ... is ...") and habits ("I live in ...")."""
    if match := _NAME.search(sentence) or _CALLED.search(sentence):
        name = match["value"] or match["nick"]
        yield Fact("name", name, f"your name is {name}")
    for match in _MINE.finditer(sentence):
        subject, value = _with_one_spelling(match["subject"]), match["value"].strip()
        if subject != "name":
            yield Fact(subject, value, f"your {match['subject']} {match['is']} {_told_back(value)}")
    for match in _DOES.finditer(sentence):
        verb, value = match["subject"].lower(), _told_back(match["value"].strip())
        spoken = re.sub("^am ", "are ", re.sub("^was ", "were ", verb))
        yield Fact(f"{verb} {value}".casefold() if _MANY.fullmatch(verb) else verb, value, f"you {spoken} {value}")


def _told_back(text: str) -> str:
    """Return a person's words as they are told back: "my" becomes "your"."""
    return re.sub(r"[\w']+", lambda word: _SWAPS.get(word[0].lower(), word[0]), text.strip())


def _with_one_spelling(text: str) -> str:
    return re.sub(r"\w+", lambda word: _SPELLINGS.get(word[0], word[0]), text.lower())


def _meaningful_words(text: str) -> set[str]:
    """Return the words that carry a meaning, without the s of a plural or a third person."""
    words = re.findall(r"\w+", _with_one_spelling(text))
    return {word.removesuffix("s") for word in words if not _EMPTY.fullmatch(word)}


def off_script(scene: Scene, examples: tuple[str, ...]) -> Reply:
    """Return the reply to a question that no rule answers."""
    is_help = _HELP.fullmatch(scene.question.strip())
    lines = [f"I am the scripted demo, not a language model{'.' if is_help else _UNKNOWN}", "", "Try:"]
    lines += [f"- {example}" for example in examples]
    if scene.tools:
        lines += ["", f"Tools that I can run when a question names them: {', '.join(sorted(scene.tools))}."]
    return Reply(
        text="\n".join([*lines, "", "To connect a real model:", "", f"    {pip_line('openai')}", f"    {CONNECT}"])
    )


def _tell_results(scene: Scene) -> Reply | None:
    """Show the results of tools that no other rule has put into words."""
    return Reply(text="\n\n".join(map(_result_text, scene.results))) if scene.results else None


def _result_text(result: Result) -> str:
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
    lines += [f"I will remember that {_facts_as_text(facts)}."] if facts else []
    return Reply(text=" ".join(lines))


def _known_facts(scene: Scene) -> dict[str, Fact]:
    # A fact and a question about it may stand in one message, also when two messages were merged for the model.
    return facts_in([*scene.said, scene.question])


def _answer_name(_match: re.Match[str], scene: Scene) -> str:
    fact = _known_facts(scene).get("name")
    return f"Your name is {fact.value}." if fact else "You have not told me your name in this conversation."


def _answer_everything(_match: re.Match[str], scene: Scene) -> str:
    facts = _known_facts(scene)
    return (
        f"You told me that {_facts_as_text(facts)}." if facts else "You have not told me anything about yourself yet."
    )


def _answer_about_mine(match: re.Match[str], scene: Scene) -> str:
    fact = fact_about(scene.question, _known_facts(scene))
    return f"{_as_sentence(fact)}." if fact else f"You have not told me your {match['subject'].strip()} yet."


def _answer_from_facts(_match: re.Match[str], scene: Scene) -> str | None:
    fact = fact_about(scene.question, _known_facts(scene))
    return f"You told me: {fact.text}." if fact else None


def _use_tool(scene: Scene) -> Reply | None:
    call = None if scene.results else fitting_call(scene.question, scene.request.tools)
    return Reply(calls=(call,)) if call else None


def _facts_as_text(facts: dict[str, Fact]) -> str:
    texts = [fact.text for fact in facts.values()]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _as_sentence(fact: Fact) -> str:
    return fact.text[:1].upper() + fact.text[1:]


_CLAUSE = r"(?:^|[.!?,;])\W*"
"""Where something is said by itself: "Nice to see you" is no farewell."""
_RULES: tuple[Rule, ...] = (
    _tell_results,
    asked(rf"{_WHAT_IS} my name\b|\bwho am i\b|\bhow am i called\b", _answer_name),
    asked(
        r"\bwhat (?:do|did) (?:you (?:know|remember)|i (?:tell|say|told))\b.*\b(?:me|you|far)\b"
        r"|\b(?:do you remember|who) (?:me|i am)\b",
        _answer_everything,
    ),
    asked(rf"{_WHAT_IS} my (?P<subject>[\w' -]+)", _answer_about_mine),
    _take_note,
    asked(r"^\W*(?:\w+\W+){0,2}?(?:what|when|where|who|which|how|do|did|tell)\b", _answer_from_facts),
    _use_tool,
    asked(r"\b(?:who|what) are you\b|\bare you (?:real|human|an? \w+)\b", f"{NOTICE} I answer from a few fixed rules."),
    asked(rf"{_CLAUSE}(?:\w+\W+){{0,2}}?(?:thanks|thank you|thx|cheers)\b", "You are welcome!"),
    asked(
        rf"{_CLAUSE}(?:\w+\W+)?(?:bye|goodbye|see you|good night)\b(?:\W+\w+){{0,3}}\W*$",
        "Goodbye! This conversation is kept; come back whenever you like.",
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
