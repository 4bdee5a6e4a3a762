"""What a person wants with a message: one of a closed set, read from the words alone. What is none of it was `Said`."""

import re
from dataclasses import dataclass

from threadkeep.assistants.skill_creator.fields import FIELDS
from threadkeep.assistants.skill_creator.phrasing import is_text


@dataclass(frozen=True, slots=True)
class Yes:
    """Agreement, maybe with more behind it: "yes, but change the name"."""

    rest: str = ""


@dataclass(frozen=True, slots=True)
class No:
    """Disagreement, maybe with what is right instead."""

    rest: str = ""


@dataclass(frozen=True, slots=True)
class Skip:
    """Nobody wants to say anything about this; with `none`, there shall be nothing."""

    none: bool = False


@dataclass(frozen=True, slots=True)
class YouDecide:
    """The answer is left to us; `everything` also means all that would be asked later."""

    everything: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A part shall be changed: to `value`, with `value` added (`adds`), or asked for again if there is none."""

    key: str
    value: str = ""
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Clear:
    """A part of the skill shall go."""

    key: str


@dataclass(frozen=True, slots=True)
class Wish:
    """A command: status, help, back, cancel, restart, show, write, again, template or continue."""

    name: str


@dataclass(frozen=True, slots=True)
class Said:
    """Words that are an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing that could be an answer: empty, or no words at all."""


Intent = Yes | No | Skip | YouDecide | Change | Clear | Wish | Said | Nothing

LONGEST_SHORT = 100
LONGEST_CHANGE = 2_000
_YES = (
    r"y|ya|yes+|yep|yeah|yup|ja|oui|si|ok|okay|k|sure|fine|right|correct|exactly|perfect|great|good|agreed|true"
    r"|absolutely"
    r"|definitely|of course|all good|all right|alright|that'?s (?:right|correct|it|fine|good|perfect|great)|it is|lgtm"
    r"|(?:sounds|looks|seems) (?:good|great|right|fine|perfect|ok|okay)(?: to me)?|yes,? (?:please|it is|that'?s right)"
    r"|please do|very good|works(?: for me)?|👍|✅"
)
_NO = (
    r"n|no+|nope|nah|nein|non|wrong|incorrect|false|not (?:really|quite|right|correct|exactly|yet)"
    r"|that'?s (?:not (?:it|right)|wrong)|👎"
)
_SKIP = r"skip(?: (?:it|this|that|this one|this question))?|pass|next|leave it(?: as it is)?|keep (?:it|that|them)"
_NONE = (
    r"none|nothing|n/?a|not needed|nope,? none|no,? none|no need|no,? (?:thanks|thank you)|leave it (?:empty|out)"
    r"|(?:i )?don'?t (?:need|want|have) (?:any|it|one|that|them)|not (?:any|necessary|applicable)"
    r"|none (?:of them|needed|so far)|nothing (?:special|else|in particular)|no (?:limits?|limitations?|restrictions?)"
)
_DECIDE = (
    r"(?:you|u) (?:can )?(?:decide|choose|pick|know best)|(?:it'?s )?up to you|your (?:choice|call|decision)|whatever"
    r"(?: you (?:think|like|want)(?: is best)?)?|(?:i )?(?:don'?t|do not) (?:know|care|mind)|no idea|not sure"
    r"|surprise me|anything"
    r"|(?:suggest|propose)(?: something| one| some)?|what (?:do|would) you (?:suggest|propose|think)|i'?m not sure"
    r"|dunno|idk"
    r"|as you (?:like|wish|think)|use (?:your|the) (?:judgement|judgment|defaults?)|defaults?(?: is fine)?"
)
_ALL = (
    r"(?: (?:on |about |for )?(?:everything|all|all of it|the rest|the others|all the rest|them all"
    r"|everything else|all of them))"
)
_WISHES = {
    "status": r"/?status|where are we|what do you (?:know|have)(?: so far)?|what(?:'s| is) (?:missing|left|known"
    "|the status)"
    r"|what have (?:we|you) (?:got|gathered)(?: so far)?|show (?:me )?(?:the )?(?:status|summary|progress)|progress"
    r"|recap|summary",
    "help": r"/?help|\?+|/\?|what can (?:you do|i (?:say|do))|how does (?:this|it) work|commands|what now",
    "back": r"/?back|(?:please )?(?:go|step|take me) back(?: (?:please|one step|a step))?|previous(?: question)?"
    "|undo|one step back",
    "cancel": r"/?cancel(?: (?:it|this|that))?|/?quit|/?exit|/?stop|stop (?:it|this|here)|abort|never ?mind"
    "|forget it|leave it for now"
    r"|(?:not now|later)",
    "restart": r"/?restart|/?reset|start (?:over|again|anew|from scratch|afresh)|begin (?:again|anew)"
    "|from (?:scratch|the (?:start|beginning))"
    r"|(?:let'?s )?start (?:all )?over(?: again)?|new skill|discard (?:it|everything|all)|scrap (?:it|that)",
    "show": r"/?show|show (?:me )?(?:it|the skill|the file|the files|skill\.md|the document|the result)(?: again)?"
    "|preview"
    r"|let me see(?: it)?|what does it look like",
    "write": r"/?(?:write|generate|create)|(?:please )?(?:write|generate|create|make|build|produce) (?:it|the skill"
    "|this|one)(?: now| already| please)?"
    r"|go(?: ahead| on)?|do it|just (?:do|write|generate|make) it|(?:that'?s|this is) (?:all|everything|enough)"
    r"|i'?m done|done|ready|proceed"
    r"|let'?s (?:go|do it)|finish(?: it)?|enough(?: questions)?|no more questions|ship it|write it (?:again|anew)"
    r"|re-?(?:generate|write)(?: it)?",
    "again": r"/?retry|(?:please )?try (?:it )?(?:again|once more)|again|once more|retry(?: it)?|repeat",
    "template": r"/?template|use (?:the|a) template|with(?:out)? (?:the )?(?:template|model)|(?:just )?(?:take"
    "|use) the template(?: then| instead)?"
    r"|template(?: please)?",
    "continue": r"/?continue|(?:please )?(?:go|carry) on|continue please|let'?s continue|resume|i'?m back|hello again",
}
_MEANINGS = {name: re.compile(pattern) for name, pattern in _WISHES.items()}
_YES_FULL, _NO_FULL, _SKIP_FULL = re.compile(_YES), re.compile(_NO), re.compile(_SKIP)
_NONE_FULL = re.compile(_NONE)
_DECIDE_FULL = re.compile(f"(?:(?:please )?(?:{_DECIDE})(?P<all>{_ALL})?)(?: (?:for me|please))?")
_YES_AND = re.compile(
    rf"(?:{_YES})\s*(?:[,.;:!]\s*|\s+(?=but\b|and\b|except\b))(?:but |and |except )?(?P<rest>\S.*)", re.DOTALL
)
_NO_BUT = re.compile(
    rf"(?:{_NO})(?:\s*[,.;:!]+\s*|\s+-+\s+)(?:but |it'?s |it should be |rather |i want |make it )?(?P<rest>\S.*)",
    re.DOTALL,
)

_KEYS = {word: field.key for field in FIELDS for word in field.words}
_WORD = "|".join(re.escape(word) for word in sorted(_KEYS, key=len, reverse=True))
_THE = r"(?:the |its |my |this |our |that )?"
_ASK = (
    r"(?:please |can you |could you |can we |could we |i(?:'d| would)? (?:like|want) to |let'?s |let me "
    r"|actually,? |wait,? |and |also |now |oh,? |hm+,? )*"
)
_TO = r"\s*(?:\b(?:to|into|as|should be|is now|must be)\b\s*:?|=|:)\s*(?:be )?"
_BETTER = r" (?:a bit |much |more )?(?:shorter|longer|better|clearer|simpler|different|nicer|concise|precise|specific)"
_CHANGE = re.compile(
    rf"{_ASK}(?:change|edit|update|set|fix|correct|revise|rename|redo|modify|adjust|replace|rewrite|go back to"
    rf"|back to|return to|make)"
    rf" {_THE}(?P<word>{_WORD})(?: again| please| once more|{_BETTER})*(?:{_TO}(?P<value>\S.*))?",
    re.IGNORECASE | re.DOTALL,
)
_SHOULD = re.compile(
    rf"{_ASK}{_THE}(?P<word>{_WORD})\s*(?:\b(?:should (?:rather )?be|shall be|is now|must be)\b\s*:?|:"
    rf"|=)\s*(?P<value>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_CALL = re.compile(
    rf"{_ASK}(?:call it|name it|rename it(?: to)?|rename (?:the|this) skill(?: to)?|it(?:'s| is"
    rf"| should be) (?:called|named)"
    r"|call the skill|its name is|another name[:,]?|a better name(?: is|:))\s+(?P<value>\S.*)",
    re.IGNORECASE,
)
_ADD = re.compile(
    rf"{_ASK}(?:add|include|append|one more|another)(?: an?| another| one more| the| this| these| some"
    rf"| to the)? ?(?:more )?(?P<word>{_WORD})"
    r"(?:\s*(?::|=|\bto\b|\bthat\b|\bfor\b|\babout\b|,)\s*(?P<value>\S.*))?",
    re.IGNORECASE | re.DOTALL,
)
_REMOVE = re.compile(
    rf"{_ASK}(?:(?:remove|drop|delete|clear|discard|forget) (?:all |all of )?{_THE}|(?:it needs |i need |needs "
    rf"|there are |use )?no )(?P<word>{_WORD})"
    r"(?: (?:please|needed|required|necessary|at all|anymore|any more))*",
    re.IGNORECASE,
)


def read(text: str) -> Intent:
    """Return what a message wants."""
    words = " ".join(text.replace("’", "'").replace("‘", "'").split()).strip()  # noqa: RUF001 - as phones write
    plain = words.lower().strip(' .!,;…*_`"')
    plain = plain.rstrip("? ") or plain
    if not words or not (any(letter.isalnum() for letter in words) or plain in ("👍", "✅", "👎", "?", "??", "???")):
        return Nothing()
    return (
        _short(plain)
        or _about_a_part(text.strip())
        or _longer(words)
        or (Said(text.strip()) if is_text(text) else Nothing())
    )


def _short(plain: str) -> Intent | None:
    """Return what a message of a few fixed words wants."""
    if len(plain) > LONGEST_SHORT:
        return None
    for name, pattern in _MEANINGS.items():
        if pattern.fullmatch(plain):
            return Wish(name)
    if _YES_FULL.fullmatch(plain):
        return Yes()
    if _NO_FULL.fullmatch(plain):
        return No()
    if _SKIP_FULL.fullmatch(plain) or _NONE_FULL.fullmatch(plain):
        return Skip(none=_NONE_FULL.fullmatch(plain) is not None)
    decided = _DECIDE_FULL.fullmatch(plain)
    return YouDecide(everything=decided["all"] is not None) if decided else None


def _about_a_part(text: str) -> Intent | None:
    """Return what shall be changed; a long text that happens to begin so is no such wish."""
    if len(text) > LONGEST_CHANGE:
        return None
    bare = text.rstrip(" .!?")
    if found := _REMOVE.fullmatch(bare):
        return Clear(_KEYS[found["word"].lower()])
    if found := _CALL.fullmatch(bare):
        return Change("skill_name", found["value"])
    if found := _ADD.fullmatch(bare):
        return Change(_KEYS[found["word"].lower()], found["value"] or "", adds=True)
    found = _CHANGE.fullmatch(bare) or _SHOULD.fullmatch(bare)
    return Change(_KEYS[found["word"].lower()], found["value"] or "") if found else None


def _longer(words: str) -> Intent | None:
    """Return agreement or disagreement that goes on."""
    lower = words.lower()
    if found := _NO_BUT.fullmatch(lower):
        return No(words[found.start("rest") :])
    if found := _YES_AND.fullmatch(lower):
        rest = words[found.start("rest") :]
        return Yes() if _short(rest.lower().strip(" .!")) == Yes() else Yes(rest)
    return None
