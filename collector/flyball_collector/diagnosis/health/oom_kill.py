"""Detects processes that the kernel killed because memory ran out, on the host or in a control group."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.health.host_reports import HostReports, quoted
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.seen_metrics import ANY_AGENT, ANY_EVENT
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["oom_kill"]

_SECONDS = 300.0


class OomKillDetector:
    """Counters show that it happened. A host event, if there is one, names the process."""

    name = "oom_kill"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = (ANY_AGENT, ANY_EVENT, "oom_kills_total", "cgroup_oom_kills_total")

    def __init__(self, reports: HostReports) -> None:
        self._reports = reports
        self._host, self._group = Growth(_SECONDS), Growth(_SECONDS)
        self._kept = SubjectArrays(reported=float("-inf"))
        self._victims: dict[str, str] = {}

    def observe(self, view: View) -> Iterable[Claims]:
        """Report kills of the last five minutes."""
        self._kept.align(view.hosts)
        for state, event, seconds in self._reports.new_events(view):
            place = view.hosts.places.get(Subject(state.name))
            if event.kind == "oom_kill" and place is not None:
                self._kept["reported"][place] = max(self._kept["reported"][place], min(seconds, view.now))
                self._victims[state.name] = quoted(event.resource or event.text)
        host = self._host.add(view.hosts, view.host_count("oom_kills_total"), view.now)
        group = self._group.add(view.hosts, view.host_count("cgroup_oom_kills_total"), view.now)
        events = view.now - self._kept["reported"] <= _SECONDS
        enters = (host > 0) | (group > 0) | events

        def words(place: int) -> str:
            whose = "of the agent's control group" if group[place] >= max(host[place], 1) else "of the host"
            count = max(host[place], group[place], 1.0)
            victim = self._victims.get(view.hosts.names[place].host, "") if events[place] else ""
            processes = "1 process" if count == 1 else f"{count:.0f} processes"
            name = f": {victim}" if victim else ""
            return f"the kernel killed {processes} in 5 minutes because memory {whose} ran out{name}"

        yield Claims(
            kind=KIND,
            subjects=view.hosts,
            enters=enters,
            stays=enters,
            confidence=np.full(len(view.hosts), 0.99),
            known=enters | view.alive,
            because=words,
            evidence={"kills": host, "kills_of_the_group": group},
        )
        if len(self._victims) > 2 * len(view.hosts) + 64:
            self._victims = {name: words for name, words in self._victims.items() if Subject(name) in view.hosts.places}
