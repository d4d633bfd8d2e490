"""The runs that a condition concerns, with their users, in words."""

from collections.abc import Iterable, Iterator

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.timeline.entry import Entry

MOST = 3
"""Runs that are named. A shared host may have dozens."""


def affected_runs(fleet: Fleet, entry: Entry, now_ns: int) -> str:
    """Return "llama-7b (ada)" for the run of a condition, or for the runs on its GPU or host. Empty: none is known."""
    found = dict.fromkeys(_of_run(fleet, entry.run, now_ns) if entry.run else _of_host(fleet, entry))
    named = [f"{run} ({user})" if user else run for run, user in list(found)[:MOST]]
    more = len(found) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _of_run(fleet: Fleet, name: str, now_ns: int) -> Iterable[tuple[str, str]]:
    run = fleet.seen_runs(now_ns).get(name)
    return [(name, ", ".join(run.users) if run is not None else "")]


def _of_host(fleet: Fleet, entry: Entry) -> Iterator[tuple[str, str]]:
    state = fleet.get(entry.host)
    for member in state.tenancy.members if state is not None and state.tenancy is not None else ():
        if member.run and (not entry.gpu or entry.gpu in member.gpus):
            yield fleet.runs.name_of(member.run), member.user
