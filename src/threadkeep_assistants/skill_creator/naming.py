"""Names of skills and of their files: what is legal, and what is made of the words of a person."""

import re
import unicodedata

from threadkeep.conversation.stop_words import BY_LANGUAGE

MOST_CHARACTERS = 64
RESERVED = ("anthropic", "claude")
"""Words that no name may hold: they belong to somebody."""
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
_LEGAL = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LETTERS = str.maketrans({"'": "", "’": "", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d"})  # noqa: RUF001 - as phones write
"""Letters that are no other letter with a mark, as they are written without them."""
_DULL = re.compile(
    r"skills?|helps?|wants?|needs?|makes?|given|using|use|users?|someone|somebody|people|things?|something|into|against"
    r"|across|within|without|via|per|\w"
)
"""Words that say nothing about a skill."""


def name_error(name: str) -> str | None:
    """Return what is wrong with the name of a skill, in words that tell how to mend it."""
    if not name:
        return "A name needs at least one letter or digit."
    if len(name) > MOST_CHARACTERS:
        return f"A name has at most {MOST_CHARACTERS} characters; this one has {len(name)}."
    if not _LEGAL.fullmatch(name):
        return "A name has lower case letters, digits and single hyphens between them."
    taken = [word for word in RESERVED if word in name]
    if taken:
        return f'The word "{taken[0]}" is reserved and cannot be part of a name.'
    if name in _DEVICES:
        return f'"{name}" is the name of a device on some systems and cannot be a folder there.'
    return None


def slug(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return words as a name: lower case, hyphens between them, cut at a word."""
    folded = unicodedata.normalize("NFKD", text.lower().translate(_LETTERS))
    words = re.findall(r"[a-z0-9]+", "".join(sign for sign in folded if not unicodedata.combining(sign)))
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word
        if len(longer) > most:
            break
        name = longer
    return name or "".join(words)[:most]


def suggested_name(purpose: str) -> str:
    """Return a name made of the first words of a purpose that say something; always a legal one."""
    said = re.findall(r"[a-z0-9]+", purpose.lower())
    words = [word for word in said if word not in BY_LANGUAGE[0] and not _DULL.fullmatch(word)]
    name = slug(" ".join(words[:3]))
    return name if name and name_error(name) is None else "my-skill"


def title(name: str) -> str:
    """Return a name as a headline."""
    return " ".join(word[:1].upper() + word[1:] for word in name.split("-"))
