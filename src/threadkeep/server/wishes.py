"""What a client says about the answer it wants: `Accept`, `Accept-Encoding`, `Prefer`, as far as they matter here."""

STREAM = "text/event-stream"
JSON = "application/json"


def wants_stream(accept: str) -> bool:
    """Whether server-sent events are wanted: named, not refused by `q=0`, and no less welcome than JSON.

    A wildcard stands for JSON, so that a client without a wish gets one answer and no stream.
    """
    welcome = _weights(accept)
    return welcome.get(STREAM, 0.0) > 0 and welcome[STREAM] >= welcome.get(JSON, 0.0)


def wants_no_wait(prefer: str) -> bool:
    """Whether an answer is wanted before the work is done."""
    return any(wish.partition(";")[0].strip().lower() == "respond-async" for wish in prefer.split(","))


def takes_gzip(accept_encoding: str) -> bool:
    """Whether an answer may be packed: only where that is named and not refused."""
    return _weights(accept_encoding).get("gzip", 0.0) > 0


def _weights(header: str) -> dict[str, float]:
    return dict(map(_weighed, header.split(",")))


def _weighed(part: str) -> tuple[str, float]:
    """Return what is named and how welcome it is; a weight that is no number counts as none given."""
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    weights = [value for key, _, value in (parameter.partition("=") for parameter in parameters) if key == "q"]
    try:
        return name, float(weights[0]) if weights else 1.0
    except ValueError:
        return name, 1.0
