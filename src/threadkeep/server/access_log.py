"""One log line for every request. What asks whether the server is alive is logged only in detail (`debug`)."""

import logging

from threadkeep.server.round_trip import RoundTrip

logger = logging.getLogger(__name__)

QUIET = ("/health/live", "/health/ready", "/metrics")


def log_trip(trip: RoundTrip) -> None:
    """Write the line: no query, no headers, no content."""
    level = logging.DEBUG if trip.route in QUIET else logging.INFO
    if not logger.isEnabledFor(level):
        return
    asker = trip.asker
    fields = {
        "method": trip.method,
        "path": trip.path,
        "route": trip.route,
        "status": trip.status,
        "duration_ms": round(trip.seconds * 1000, 1),
        "client": trip.client,
        "tenant": asker.tenant if asker else None,
        "user": asker.user if asker else None,
        "code": trip.problem,
    }
    said = (trip.method, trip.path, trip.status, trip.seconds * 1000)
    logger.log(level, "%s %s %s in %.0f ms", *said, extra={"fields": fields})
