"""At which rate the one queue of PostgreSQL's NOTIFY breaks: `python -m bench.notifications [--seconds 3]`.

Every instance listens, and every instance sends what it gathered. Each sending wakes all who listen, so that what
counts is sendings times listeners. Here some send without a pause and some listen; shown is how many sendings a second
there are, how many deliveries that makes, and what the database spends on one.
"""

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path

import asyncpg

from bench.report import Report
from tests.postgres_server import PostgresServer
from threadkeep_postgres.address import Address
from threadkeep_postgres.notify_channel import CHANNEL, PostgresNotifyChannel

LISTENERS = (1, 10, 30, 100)
SENDERS = 4
WORD = f"{os.urandom(8).hex()} {os.urandom(16 * 20).hex()}"
"""Twenty topics of one sender."""
TICKS = os.sysconf("SC_CLK_TCK")


async def flood(channels: list[PostgresNotifyChannel], until: float) -> int:
    """Send on all channels until a moment, and return how often that was."""

    async def send(channel: PostgresNotifyChannel) -> int:
        sent = 0
        while time.perf_counter() < until:
            await channel.send([WORD])
            sent += 1
        return sent

    return sum(await asyncio.gather(*map(send, channels)))


def spent(pids: list[int]) -> float:
    """Return the seconds of processor time of processes so far."""
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / TICKS


async def measure(url: str, listeners: int, seconds: float) -> tuple[str, ...]:
    """Flood so many listeners, and return a row."""
    heard = 0

    def hear(*_: object) -> None:
        nonlocal heard
        heard += 1

    listening = [await asyncpg.connect(url) for _ in range(listeners)]
    for each in listening:
        await each.add_listener(CHANNEL, hear)
    channels = [PostgresNotifyChannel(Address(url)) for _ in range(SENDERS)]
    for channel in channels:
        await channel.open(lambda _: None)
    pids = [row[0] for row in await listening[0].fetch("SELECT pid FROM pg_stat_activity WHERE datname IS NOT NULL")]
    before, began = spent(pids), time.perf_counter()
    sent = await flood(channels, began + seconds)
    took, cost = time.perf_counter() - began, spent(pids) - before
    while heard < sent * listeners and time.perf_counter() - began < 10 * seconds:  # noqa: ASYNC110 - heard is no event
        await asyncio.sleep(0.05)  # the last ones are on their way
    late = time.perf_counter() - began - took
    for channel in channels:
        await channel.close()
    for each in listening:
        await each.close()
    rate = sent / took
    delivered = sent * (listeners + SENDERS)
    return (
        str(listeners + SENDERS),
        f"{rate:,.0f}",
        f"{delivered / took:,.0f}",
        f"{cost / delivered * 1e6:.0f}",
        f"{late:.1f}",
    )


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    chosen = parser.parse_args()
    report = Report(sys.stdout)
    with PostgresServer.start(durable=False) as server:
        server.execute("ALTER SYSTEM SET max_connections = 200")
        server.stop()
        server.restart()
        url = server.as_admin(server.fresh_database())
        rows = [await measure(url, listeners, chosen.seconds) for listeners in LISTENERS]
    columns = ["who listen", "sendings a second", "deliveries a second", "database, us a delivery", "seconds behind"]
    report.table(f"{SENDERS} who send without a pause", columns, rows)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
