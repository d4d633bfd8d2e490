"""Detects processes that the kernel killed because memory ran out, on the host or in a control group."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.health.host_reports import HostReports
from flyball_collector.diagnosis.health.kill_cause import SURE, KillCause, cause_of, infer, sentence
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.seen_metrics import ANY_AGENT, ANY_EVENT
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View
from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.kill_details import KillDetails, KillLimit

KIND = BY_NAME["oom_kill"]

_SECONDS = 300.0
_BEFORE_SECONDS = 60

Floats = NDArray[np.float64]


class OomKillDetector:
    """Counters show that it happened. A host event, if there is one, names the process and whose memory ran out."""

    name = "oom_kill"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = (ANY_AGENT, ANY_EVENT, "oom_kills_total", "cgroup_oom_kills_total")

    def __init__(self, reports: HostReports) -> None:
        self._reports = reports
        self._host, self._group = Growth(_SECONDS), Growth(_SECONDS)
        self._scanned = Growth(_BEFORE_SECONDS)
        self._kept = SubjectArrays(reported=float("-inf"), host=0.0, group=0.0)
        self._causes: Mapping[str, KillCause] = {}

    def observe(self, view: View) -> Iterable[Claims]:
        """Report kills of the last five minutes."""
        hosts = view.hosts
        self._kept.align(hosts)
        pages = _scanned_pages(view)
        scanned = np.where(np.isnan(pages), np.nan, self._scanned.add(hosts, pages, view.now))
        host = self._host.add(hosts, view.host_count("oom_kills_total"), view.now)
        group = self._group.add(hosts, view.host_count("cgroup_oom_kills_total"), view.now)
        rose = (host > self._kept["host"]) | (group > self._kept["group"])
        self._kept["host"], self._kept["group"] = host, group
        found = self._events(view)
        places = sorted({*np.flatnonzero(rose).tolist(), *found})
        if places:
            self._note(view, places, scanned, found)
        enters = (host > 0) | (group > 0) | (view.now - self._kept["reported"] <= _SECONDS)
        yield self._claims(view, enters, host, group)
        if len(self._causes) > 2 * len(hosts) + 64:
            self._causes = {name: cause for name, cause in self._causes.items() if Subject(name) in hosts.places}

    def _events(self, view: View) -> Mapping[int, KillDetails]:
        """Return the newest details of kills that hosts reported since the last second, by place."""
        found: dict[int, KillDetails] = {}
        for state, event, seconds in self._reports.new_events(view):
            place = view.hosts.places.get(Subject(state.name))
            if event.kind == KIND.name and place is not None:
                self._kept["reported"][place] = max(self._kept["reported"][place], min(seconds, view.now))
                found[place] = event.kill or _from_name(event)
        return found

    def _note(self, view: View, places: Sequence[int], scanned: Floats, found: Mapping[int, KillDetails]) -> None:
        """Keep the causes of new kills. The readings before a kill count, not those of later seconds."""
        _, available = view.host_history("memory_available_bytes", _BEFORE_SECONDS)
        total = view.host("memory_total_bytes")
        causes = dict(self._causes)
        for place in places:
            name = view.hosts.names[place].host
            inferred = infer(available[:, place].astype(np.float64), total[place], scanned[place])
            if place in found:
                causes[name] = cause_of(found[place], inferred)
            elif not self._reported_before(view, place, causes.get(name)):
                causes[name] = inferred
        self._causes = causes

    def _reported_before(self, view: View, place: int, cause: KillCause | None) -> bool:
        """Return True if an event of the last seconds was about the kill that a counter shows now."""
        return cause is not None and not cause.inferred and view.now - self._kept["reported"][place] < _LATE_SECONDS

    def _claims(self, view: View, enters: NDArray[np.bool_], host: Floats, group: Floats) -> Claims:
        hosts, causes = view.hosts, self._causes
        of = {place: causes.get(hosts.names[place].host, _NOT_KNOWN) for place in np.flatnonzero(enters).tolist()}
        numbers = np.full((4, len(hosts)), np.nan)
        confidence = np.full(len(hosts), SURE)
        for place, cause in of.items():
            numbers[:, place] = _numbers(cause)
            confidence[place] = cause.confidence
        kills = np.maximum(known_or(0.0, host), known_or(0.0, group))

        def words(place: int) -> str:
            return sentence(of.get(place, _NOT_KNOWN), kills[place])

        return Claims(
            kind=KIND,
            subjects=hosts,
            enters=enters,
            stays=enters,
            confidence=confidence,
            known=enters | view.alive,
            because=words,
            evidence={
                "kills": host,
                "kills_of_the_group": group,
                "limit_of_a_group": numbers[0],
                "limit_bytes": numbers[1],
                "used_bytes": numbers[2],
                "memory_available_bytes": numbers[3],
            },
        )


_LATE_SECONDS = 5.0
"""A counter and the event of the same kill arrive with the same record, or with the next one."""

_NOT_KNOWN = KillCause(KillLimit.UNKNOWN, SURE)


def _scanned_pages(view: View) -> Floats:
    """Return the pages of the whole host that were scanned for reclaim. Unknown parts do not count."""
    parts = [view.host_count(f"reclaim_{name}_pages_total") for name in ("direct", "background")]
    return np.where(np.isnan(parts).all(axis=0), np.nan, known_or(0.0, parts[0]) + known_or(0.0, parts[1]))


def _from_name(event: HostEvent) -> KillDetails:
    """Return what an event without details shows: the name of the process."""
    return KillDetails(process=event.resource or event.text)


def _numbers(cause: KillCause) -> tuple[float, float, float, float]:
    """Return whether a group's limit was reached (1), that limit, its use, and the host's free memory."""
    details = cause.details
    of_group = {KillLimit.GROUP: 1.0, KillLimit.UNKNOWN: np.nan}.get(cause.limit, 0.0)
    limit, used = (np.nan if value is None else float(value) for value in (details.limit_bytes, details.used_bytes))
    return of_group, limit, used, cause.free_bytes
