"""The time in any zone of the world, and one's own earlier conversations, as tools. A search sees the user who is
asking, and nobody else."""

from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from threadkeep.errors import InvalidValue
from threadkeep.tools.base import ToolContext
from threadkeep.tools.decorator import tool

MOST = 20
"""Messages that a search finds at most."""


@tool(repeatable=True)
def current_time(zone: str = "UTC") -> str:
    """The current date and time.

    Args:
        zone: A time zone such as Europe/Oslo, or the name of a large city.
    """
    # No name of a place is longer.
    zone = zone[:80]
    found = zone_named(zone)
    if found is None:
        close = get_close_matches(zone.lower(), cities(), n=3, cutoff=0.75)
        meant = f" Did you mean {' or '.join(cities()[name] for name in close)}?" if close else ""
        raise InvalidValue(f"I know no time zone {zone!r}.{meant or ' Name a large city there.'}")
    name, rules = found
    return f"{datetime.now(rules):%A, %d %B %Y, %H:%M} ({name})"


def zone_named(text: str) -> tuple[str, tzinfo] | None:
    """Return the zone of that name, or of the city of that name."""
    if text.strip().upper() in ("UTC", "GMT", ""):
        return "UTC", UTC
    wanted = text.strip().lower().replace(" ", "_")
    name = next((each for each in available_timezones() if each.lower() == wanted), None) or cities().get(wanted)
    return (name, ZoneInfo(name)) if name else None


@cache
def cities() -> dict[str, str]:
    """Return the zones by the cities that they are named after, in lower case."""
    zones = sorted(available_timezones(), key=lambda zone: (zone.count("/"), zone))
    return {zone.rpartition("/")[2].lower(): zone for zone in reversed(zones) if "/" in zone}


@tool(repeatable=True)
async def search_conversations(words: str, context: ToolContext, limit: int = 5) -> list[dict[str, str]]:
    """Find what was said in earlier conversations of this user, the best first.

    Args:
        words: A few words that the message must hold, without words such as "the" or "about".
        limit: How many messages at most.
    """
    if context.archive is None:
        raise InvalidValue("There are no earlier conversations here.")
    hits = await context.archive.search(words, limit=2 * MOST)
    others = [hit for hit in hits if hit.kind == "message" and hit.conversation != context.conversation]
    return [
        {
            "conversation": hit.conversation,
            "title": hit.title or "",
            "who": str(hit.role),
            "when": f"{hit.created_at:%Y-%m-%d}",
            "said": hit.snippet,
        }
        for hit in others[: max(1, min(limit, MOST))]
    ]
