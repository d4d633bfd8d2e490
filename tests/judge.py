"""Checks shared by the fault tests: the newest live record of a host, and whether its history is complete."""

import time
import urllib.error

from tests.processes import Agent, Collector, wait_for
from tests.stored import Stored, read_stored


def newest_live(collector: Collector, host: str) -> tuple[str, int] | None:
    """Return epoch and sequence of the newest live record, or None if there is none yet."""
    try:
        newest = collector.get(f"/api/v1/hosts/{host}/latest")
    except urllib.error.HTTPError:
        return None
    return (newest["epoch"], newest["sequence"]) if newest["sequence"] is not None else None


def last_sequence(collector: Collector, host: str) -> int:
    """Return the sequence of the newest live record, or -1 if there is none yet."""
    found = newest_live(collector, host)
    return found[1] if found else -1


def assert_pace(collector: Collector, host: str, per_second: float, *, ticks: int = 25) -> None:
    """Assert that ticks arrive at their rate: never faster, and slower only as far as a busy machine slows them."""
    first, started = last_sequence(collector, host), time.monotonic()
    wait_for("ticks go on", lambda: last_sequence(collector, host) >= first + ticks, seconds=120)
    assert time.monotonic() - started >= 0.8 * (ticks - 2) / per_second


def assert_whole(collector: Collector, agent: Agent, host: str, *, at_least: int) -> dict[bytes, Stored]:
    """Stop the agent; assert that each epoch is stored once and without gaps, except for records declared lost."""
    _wait_replayed(collector, host)
    newest = newest_live(collector, host)
    agent.stop()
    assert newest is not None

    def complete() -> dict[bytes, Stored] | None:
        stored = read_stored(collector.database, host)
        current = stored.get(bytes.fromhex(newest[0]))
        done = current is not None and max(current.rows, default=-1) >= newest[1]
        return stored if done and all(_missing(found) == 0 for found in stored.values()) else None

    stored = wait_for(f"everything of {host} is stored", complete, seconds=180, pause_seconds=0.5)
    for found in stored.values():
        assert max(found.rows.values()) == 1, "a record is stored twice"
    assert sum(len(found.rows) for found in stored.values()) >= at_least
    return stored


def _wait_replayed(collector: Collector, host: str) -> None:
    """Wait until the agent's backlog has been empty for two seconds; records in the spool would stay there."""
    quiet_since = time.monotonic()
    deadline = quiet_since + 180
    while time.monotonic() - quiet_since < 2:
        if collector.get(f"/api/v1/hosts/{host}")["host"]["backlog_bytes"]:
            quiet_since = time.monotonic()
        assert quiet_since < deadline, "the backlog is not replayed"
        time.sleep(0.1)


def _missing(found: Stored) -> int:
    last = max([*found.rows, *(following - 1 for _, following in found.lost)], default=-1)
    return sum(end - start for start, end in (found.present | found.lost | found.refused).gaps(0, last + 1))
