"""The active conditions of a run: its own, and those of its hosts. Every answer about runs takes them from here."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from flyball_collector.fleet.runs import FleetRun, RunPhase
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.timeline.entry import Entry


class RunConditions(NamedTuple):
    """The active conditions of a run, the worst first."""

    own: Sequence[Entry] = ()  # of the run and its ranks
    of_hosts: Sequence[Entry] = ()  # of its hosts and of the GPUs that it holds there

    @property
    def all(self) -> list[Entry]:
        """Return its own conditions, then those of its hosts."""
        return [*self.own, *self.of_hosts]

    def hosts(self) -> set[str]:
        """Return the hosts that its own conditions name."""
        return {entry.host for entry in self.own if entry.host}


class ActiveIndex:
    """The active conditions by run and by host, for one answer about many runs."""

    def __init__(self, parts: CollectorParts) -> None:
        self._parts = parts
        self._by_run: dict[str, list[Entry]] = {}
        self._by_host: dict[str, list[Entry]] = {}
        for entry in parts.timeline.active():
            if entry.run:
                self._by_run.setdefault(entry.run, []).append(entry)
            elif entry.host:
                self._by_host.setdefault(entry.host, []).append(entry)

    @property
    def runs(self) -> Collection[str]:
        """The runs with conditions of their own."""
        return self._by_run.keys()

    def of_run(self, name: str, rank_hosts: Iterable[str], seen: FleetRun | None) -> RunConditions:
        """Return the conditions of a run whose ranks and processes are on these hosts."""
        own = self._by_run.get(name, ())
        if seen is not None and seen.phase is RunPhase.ENDED:
            return RunConditions(own)  # what happens on its hosts now is no longer its own
        hosts = {*rank_hosts, *(seen.hosts if seen else ()), *(entry.host for entry in own if entry.host)}
        found = [each for host in sorted(hosts) if host in self._by_host for each in self._of_host(name, host)]
        return RunConditions(own, sorted(found, key=lambda entry: -entry.severity_level))

    def _of_host(self, name: str, host: str) -> Iterable[Entry]:
        """Return the conditions of a host, without those of GPUs that the run is known not to hold."""
        entries = self._by_host[host]
        held = self._held_gpus(name, host) if any(entry.gpu for entry in entries) else set()
        return [entry for entry in entries if not (entry.gpu and held and entry.gpu not in held)]

    def _held_gpus(self, name: str, host: str) -> set[str]:
        state = self._parts.fleet.get(host)
        members = state.tenancy.members if state is not None and state.tenancy is not None else ()
        name_of = self._parts.fleet.runs.name_of
        return {gpu for member in members if member.run and name_of(member.run) == name for gpu in member.gpus}
