"""The timeline's documents in the store: entries by time, lists of them by host and by run, and active conditions."""

from collections.abc import Iterator

from flyball_collector.timeline.entry import Entry, encode

EVENT = "event"
"""Every entry by its id, which sorts by time."""

OF_HOST = "event_host"
OF_RUN = "event_run"
"""The ids of the entries of a host or run: `NAME/ID`, without a body."""

CONDITION = "condition"
"""The newest entry of each active condition, by the condition's id."""

Put = tuple[str, str, bytes]
Name = tuple[str, str]


def document_names_of(entry: Entry) -> Iterator[Name]:
    """Yield the documents of an entry."""
    yield EVENT, entry.id
    if entry.host:
        yield OF_HOST, f"{host_prefix(entry.host)}{entry.id}"
    if entry.run:
        yield OF_RUN, f"{run_prefix(entry.run)}{entry.id}"


def puts_of(entry: Entry) -> list[Put]:
    """Return the documents to write for an entry, including its condition while that is active."""
    body = encode(entry)
    puts = [(kind, id_, body if kind == EVENT else b"") for kind, id_ in document_names_of(entry)]
    if entry.is_active:
        puts.append((CONDITION, entry.condition, body))
    return puts


def deletions_of(entry: Entry) -> list[Name]:
    """Return the documents to delete with an entry: its condition, if that has been cleared."""
    return [(CONDITION, entry.condition)] if entry.condition and not entry.is_active else []


def host_prefix(host: str) -> str:
    """Return the prefix of a host's documents, which are deleted with the host."""
    return f"{host}/"


def run_prefix(run: str) -> str:
    """Return the prefix of a run's documents, which differs from that of a host with the same name."""
    return f"run:{run}/"
