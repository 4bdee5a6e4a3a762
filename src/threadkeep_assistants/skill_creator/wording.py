"""How people word what they want: a message is read as an intent from its words alone. What is none was `Said`."""

import re

from threadkeep_assistants.skill_creator.fields import FIELDS
from threadkeep_assistants.skill_creator.intents import (
    Asks,
    Change,
    Clear,
    Intent,
    No,
    Nothing,
    Said,
    Skip,
    Wish,
    Yes,
    YouDecide,
)
from threadkeep_assistants.skill_creator.phrasing import is_text

LONGEST_SHORT = 100
LONGEST_CHANGE = 2_000
LONGEST_QUESTION = 300
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
    r"(?: you (?:think|like|want)(?: is best)?)?|(?:i )?(?:don'?t|do not) (?:know|care|mind)|no idea|(?:i'?m )?not sure"
    r"|surprise me|anything|(?:suggest|propose)(?: something| one| some)?|what (?:do|would) you (?:suggest|think)"
    r"|dunno|idk|as you (?:like|wish|think)|use (?:your|the) (?:judgement|judgment|defaults?)|defaults?(?: is fine)?"
)
_ALL = r" (?:on |about |for )?(?:everything(?: else)?|all(?: of it| of them| the rest)?|the rest|the others|them all)"
_WISHES = {
    "status": r"/?status|where are we|what do you (?:know|have)(?: so far)?|what(?:'s| is) (?:missing|left|known)"
    r"|what have (?:we|you) (?:got|gathered)(?: so far)?|show (?:me )?(?:the )?(?:status|summary|progress)|progress"
    r"|what(?:'s| is) the status|recap|summary",
    "help": r"/?help|\?+|/\?|what can (?:you do|i (?:say|do))|how does (?:this|it) work|commands|what now",
    "back": r"/?back|(?:go|step|take me) back(?: (?:one|a) step)?|previous(?: question)?|undo|one step back",
    "cancel": r"/?cancel(?: (?:it|this|that))?|/?quit|/?exit|/?stop(?: (?:it|this|here))?|abort|never ?mind|forget it"
    r"|leave it for now|not now|later",
    "wait": r"(?:hm+,? )?(?:let me think(?: about it)?|one moment|wait(?: a (?:moment|minute|second))?|hold on"
    r"|(?:just |give me )(?:a|one) (?:moment|minute|second)|thinking)",
    "restart": r"/?restart|/?reset|(?:let'?s )?start (?:(?:all )?over(?: again)?|again|anew|from scratch|afresh)"
    r"|begin (?:again|anew)|from (?:scratch|the (?:start|beginning))|new skill|discard it|scrap (?:it|that)"
    r"|(?:discard|forget) (?:it all|everything|all|all of it)",
    "show": r"/?show|show (?:me )?(?:it|the (?:skill|files?|document|result)|skill\.md)(?: again)?|preview"
    r"|let me see(?: it)?|what does it look like",
    "write": r"/?(?:write|generate|create)|(?:write|generate|create|make|build|produce) (?:it|the skill|this|one)"
    r"(?: now| already| again| anew)?|re-?(?:generate|write)(?: it)?|go(?: ahead| on)?|(?:just )?do it"
    r"|just (?:write|generate|make) it|(?:that'?s|this is) (?:all|everything|enough)|i'?m done|done|ready|proceed"
    r"|let'?s (?:go|do it)|finish(?: it)?|enough(?: questions)?|no more questions|ship it",
    "again": r"/?retry(?: it)?|try (?:it )?(?:again|once more)|again|once more|repeat",
    "template": r"/?template|with(?:out)? (?:the )?(?:template|model)|(?:just )?(?:take|use) (?:the|a) template"
    r"(?: then| instead)?",
    "shorter": r"(?:no,? )?(?:make (?:it|that) |(?:it|that)(?:'s| is) |a bit |much )*"
    r"(?:shorter|too long|more concise|briefer)",
    "continue": r"/?continue|(?:go|carry) on|let'?s continue|resume|i'?m back"
    r"|(?:many )?(?:thanks|thank you)(?: very much| a lot)?|(?:hi|hello|hey)(?: there| again)?",
}
_SHORT: tuple[tuple[re.Pattern[str], Intent], ...] = (
    *((re.compile(pattern), Wish(name)) for name, pattern in _WISHES.items()),
    (re.compile(_YES), Yes()),
    (re.compile(_NO), No()),
    (re.compile(_NONE), Skip(none=True)),
    (re.compile(_SKIP), Skip()),
    (re.compile(f"(?:{_DECIDE})(?: for me)?"), YouDecide()),
    (re.compile(f"(?:{_DECIDE}){_ALL}(?: for me)?"), YouDecide(everything=True)),
)
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
    r"|actually,? |(?:no,? )?wait,? |no,? (?=add |change |call |rename )|and |also |now |oh,? |hm+,? )*"
)
_TO = r"\s*(?:\b(?:to|into|as|should be|is now|must be)\b\s*:?|=|:)\s*(?:be )?"
_BETTER = r" (?:a bit |much |more )?(?:shorter|longer|better|clearer|simpler|different|nicer|concise|precise|specific)"
_CHANGE = re.compile(
    rf"{_ASK}(?:change|edit|update|set|fix|correct|revise|rename|redo|modify|adjust|replace|rewrite|go back to"
    rf"|back to|return to|make)"
    rf" {_THE}(?P<word>{_WORD})(?: again| please| once more|{_BETTER})*(?:{_TO}(?P<value>\S.*))?",
    re.IGNORECASE | re.DOTALL,
)
_IS = (
    r"\s*(?:\b(?:should (?:rather )?be|shall be|is now|must be)\b\s*:?|:|="
    r"|(?<=name) is\b:?|(?<=purpose) is\b:?|(?<=description) is\b:?|(?<=s) are\b:?)\s*"
)
_SHOULD = re.compile(rf"{_ASK}{_THE}(?P<word>{_WORD}){_IS}(?P<value>\S.*)", re.IGNORECASE | re.DOTALL)
_NEXT = re.compile(
    r"[\s,;.]+(?:(?:and|then|also|but)\s+)*(?:(?:change|set|make)\s+)?(?:the|its|my) "
    rf"(?P<word>{_WORD})(?:{_IS}|\s+to:?\s+)",
    re.IGNORECASE,
)
_CALL = re.compile(
    rf"{_ASK}(?:call it|name it|rename (?:it|(?:the|this) skill)(?: to\b)?|it(?:'s| is"
    rf"| should be) (?:called|named)"
    r"|call the skill|its name is|another name[:,]?|a better name(?: is|:))(?:\s+(?P<value>\S.*))?",
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
_COMPARED = re.compile(rf"(?:(?:more|less) [\w-]+|(?: ?{_BETTER.strip()}))(?: please)?", re.IGNORECASE)
_INTERJECTION = re.compile(r"^(?:(?:wait|ok(?:ay)?|hm+|um+|but|and|so|sorry|well|hey|hi|hello|please)\b[ ,.!]*)+")
_ASKING = re.compile(
    r"(?:what|why|how|who|whose|which|where|when will|is|are|am|do|does|did|should|shall|may)\b"
    rf"|(?:can|could|would|will) (?:i|you|it|we|this|that|there)\b|(?:the )?(?:{_WORD})\?"
)
_PUZZLED = re.compile(
    r"i (?:don'?t|do not) (?:understand|get (?:it|that|this))|huh|pardon|what|explain(?: (?:that|this|it))?"
    r"|what do you mean.{0,40}|what does (?:that|this|it) mean|why(?: do you ask.{0,30})?"
    r"|what (?:is|are) (?:an?|the) \w+(?: \w+)?|(?:an?|another|some) examples?"
)


def read(text: str) -> Intent:
    """Return what a message wants."""
    words = " ".join(text.replace("’", "'").replace("‘", "'").split()).strip()  # noqa: RUF001 - as phones write
    plain = words.lower().strip(' .!,;…*_`"')
    plain = (
        re.sub(r"^please (?=\w)|(?<=\w),? please$|(?<!\bno)(?<!\bno,),? (?:thanks|thank you)$", "", plain.rstrip("? "))
        or plain
    )
    if not words or not (any(letter.isalnum() for letter in words) or plain in ("👍", "✅", "👎", "?", "??", "???")):
        return Nothing()
    return (
        _short(plain)
        or _about_a_part(text.strip())
        or _longer(words)
        or (Asks(words) if _is_question(words) else None)
        or (_said(text.strip()) if is_text(text) else Nothing())
    )


def _is_question(words: str) -> bool:
    bare = _INTERJECTION.sub("", words.lower(), count=1)
    return len(words) <= LONGEST_QUESTION and (
        (words.endswith("?") and _ASKING.match(bare) is not None) or _PUZZLED.fullmatch(bare.rstrip("?!. ")) is not None
    )


def _said(text: str) -> Said:
    value, more = _parted(text) if len(text) <= LONGEST_CHANGE else (text, ())
    return Said(value, more)


def _parted(text: str) -> tuple[str, tuple[Change, ...]]:
    """Return a value, and the changes of other parts that stand behind it: "a; b, and the examples are c"."""
    found = _NEXT.search(text)
    if found is None or not found.start():
        return text, ()
    value, more = _parted(text[found.end() :])
    return text[: found.start()], (Change(_KEYS[found["word"].lower()], value), *more) if value.strip() else more


def _short(plain: str) -> Intent | None:
    """Return what a message of a few fixed words wants."""
    if len(plain) > LONGEST_SHORT:
        return None
    return next((intent for pattern, intent in _SHORT if pattern.fullmatch(plain)), None)


def _about_a_part(text: str) -> Intent | None:
    """Return what shall be changed; a long text that happens to begin so is no such wish."""
    if len(text) > LONGEST_CHANGE:
        return None
    bare = text.rstrip(" .!?")
    if found := _REMOVE.fullmatch(bare):
        return Clear(_KEYS[found["word"].lower()])
    if found := _CALL.fullmatch(bare):
        return _change("skill_name", found["value"])
    if found := _ADD.fullmatch(bare):
        return _change(_KEYS[found["word"].lower()], found["value"], adds=True)
    found = _CHANGE.fullmatch(bare) or _SHOULD.fullmatch(bare)
    return _change(_KEYS[found["word"].lower()], found["value"]) if found else None


def _change(key: str, value: str | None, *, adds: bool = False) -> Change:
    first, more = _parted(value or "")
    # "Change the description to be more friendly" tells how it should be, but not what it is.
    return Change(key, "" if _COMPARED.fullmatch(first) else first, adds, more)


def _longer(words: str) -> Intent | None:
    """Return agreement or disagreement that goes on."""
    lower = words.lower()
    if found := _NO_BUT.fullmatch(lower):
        return No(words[found.start("rest") :])
    if found := _YES_AND.fullmatch(lower):
        rest = words[found.start("rest") :]
        return Yes() if _short(rest.lower().strip(" .!")) == Yes() else Yes(rest)
    return None
