"""Detects GPU drivers that do not respond or fail, so that readings are missing."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.host_reports import HostReports, quoted
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.seen_metrics import ANY_AGENT, ANY_UNAVAILABLE
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.view import View
from flyball_proto.unavailable_reading import Reason, UnavailableReading

KIND = BY_NAME["gpu_not_reporting"]

_PROBES = frozenset({"nvidia", "amd", "intel"})
_REASONS = frozenset({Reason.FAILED, Reason.TIMED_OUT})


class GpuNotReportingDetector:
    """Reports driver failures. Missing hardware or missing permissions are not the driver's fault."""

    name = "gpu_not_reporting"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = (ANY_AGENT, ANY_UNAVAILABLE)

    def __init__(self, reports: HostReports) -> None:
        self._reports = reports
        self._failed: dict[str, UnavailableReading] = {}

    def observe(self, view: View) -> Iterable[Claims]:
        """Report hosts whose accelerator probe failed or timed out as a whole."""
        for state in self._reports.unavailable_changed(view):
            all_readings = [s for s in state.unavailable if s.probe in _PROBES and not s.metric and not s.resource]
            found = [s for s in all_readings if s.reason in _REASONS]
            if found:
                self._failed[state.name] = found[0]
            else:
                self._failed.pop(state.name, None)
        enters = np.zeros(len(view.hosts), dtype=bool)
        for name in list(self._failed):
            place = view.hosts.places.get(Subject(name))
            if place is None:
                del self._failed[name]
            else:
                enters[place] = True
        failed = dict(self._failed)
        yield Claims(
            kind=KIND,
            subjects=view.hosts,
            enters=enters,
            stays=enters,
            confidence=np.full(len(view.hosts), 0.95),
            known=view.alive,
            because=lambda place: self._words(failed.get(view.hosts.names[place].host)),
        )

    @staticmethod
    def _words(failed: UnavailableReading | None) -> str:
        if failed is None:
            return "the driver responds again"
        remedy = f"; action: {quoted(failed.remedy)}" if failed.remedy else ""
        return f"probe {failed.probe} {failed.reason.word.replace('_', ' ')}: {quoted(failed.detail)}{remedy}"
