"""The active conditions of a run: its own, and those of its hosts. Every answer about runs takes them from here."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from flyball_collector.diagnosis.health.kill_cause import concerns_only_others
from flyball_collector.fleet.runs import FleetRun, RunPhase
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.timeline.entry import Entry

_KILL_SECONDS = 60.0
"""The condition of a kill is raised within this time after it, unless the agent had no connection."""


class RunConditions(NamedTuple):
    """The active conditions of a run, the worst first."""

    own: Sequence[Entry] = ()  # of the run and its ranks
    of_hosts: Sequence[Entry] = ()  # of its hosts and of the GPUs that it holds there
    of_others: frozenset[str] = frozenset()  # conditions of its hosts that concern only other runs

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
        of_hosts = [each for host in sorted(hosts) if host in self._by_host for each in self._by_host[host]]
        others = frozenset(self._of_others(name, of_hosts))
        found = [each for each in of_hosts if each.condition not in others]
        return RunConditions(own, sorted(found, key=lambda entry: -entry.severity_level), others)

    def _of_others(self, name: str, entries: Iterable[Entry]) -> Iterator[str]:
        """Yield the conditions of GPUs that the run is known not to hold, and of kills in the groups of other jobs."""
        held: dict[str, set[str]] = {}
        for entry in entries:
            if entry.gpu and entry.host not in held:
                held[entry.host] = self._held_gpus(name, entry.host)
            if (entry.gpu and held[entry.host] and entry.gpu not in held[entry.host]) or (
                concerns_only_others(entry.kind, entry.evidence, entry.because, name) and not self._was_hit(name, entry)
            ):
                yield entry.condition

    def _was_hit(self, name: str, entry: Entry) -> bool:
        """Return True if a kill hit the run. The sentence of the condition names only the last of several kills."""
        state = self._parts.fleet.get(entry.host)
        if state is None:
            return False
        since_ns = entry.raised_ns + int(((state.clock_skew_seconds or 0.0) - _KILL_SECONDS) * 1e9)
        name_of = self._parts.fleet.runs.name_of
        kills = [event.kill for event in state.events if event.kill is not None and event.time_ns >= since_ns]
        return any(kill.run and name_of(kill.run) == name for kill in kills)

    def _held_gpus(self, name: str, host: str) -> set[str]:
        state = self._parts.fleet.get(host)
        members = state.tenancy.members if state is not None and state.tenancy is not None else ()
        name_of = self._parts.fleet.runs.name_of
        return {gpu for member in members if member.run and name_of(member.run) == name for gpu in member.gpus}
