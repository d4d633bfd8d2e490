"""How the timeline lies in the store: entries by time, lists of them by host and by run, and what stands now."""

from collections.abc import Iterator

from flyball_collector.timeline.entry import Entry, encode

EVENT = "event"
"""Every entry, by its id, which sorts by time."""

OF_HOST = "event_host"
OF_RUN = "event_run"
"""The ids of a host's, or a run's, entries: `NAME/ID`, without a body."""

CONDITION = "condition"
"""What stands: the newest entry of each condition, by the condition's id."""

Put = tuple[str, str, bytes]
Name = tuple[str, str]


def places_of(entry: Entry) -> Iterator[Name]:
    """Every document of an entry itself."""
    yield EVENT, entry.id
    if entry.host:
        yield OF_HOST, f"{host_prefix(entry.host)}{entry.id}"
    if entry.run:
        yield OF_RUN, f"{run_prefix(entry.run)}{entry.id}"


def puts_of(entry: Entry) -> list[Put]:
    """What is written for an entry, its condition included where that stands."""
    body = encode(entry)
    puts = [(kind, id_, body if kind == EVENT else b"") for kind, id_ in places_of(entry)]
    if entry.stands:
        puts.append((CONDITION, entry.condition, body))
    return puts


def forgets_of(entry: Entry) -> list[Name]:
    """What goes with an entry: its condition, where that is over."""
    return [(CONDITION, entry.condition)] if entry.condition and not entry.stands else []


def host_prefix(host: str) -> str:
    """As everything of a host begins, so that it goes with its host."""
    return f"{host}/"


def run_prefix(run: str) -> str:
    """Told apart from the host that may have the same name."""
    return f"run:{run}/"
