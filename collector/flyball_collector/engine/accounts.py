"""Accounts kept with the diagnosis: lost GPU time, times of XIDs, recent risks, and failures of detectors."""

from collections.abc import Callable, Iterator, Sequence

import structlog

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.view import View
from flyball_collector.diagnosis.waste import WasteLedger
from flyball_collector.diagnosis.xid_times import XidTimes
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.recent_risks import RecentRisks
from flyball_collector.own_metrics import OwnMetrics

_log = structlog.get_logger(__name__)


class Accounts:
    """Runs the diagnosis and updates the accounts, second by second."""

    def __init__(self, diagnosis: Diagnosis, metrics: OwnMetrics) -> None:
        self.waste = WasteLedger()
        self.xids = XidTimes()
        self.risks = RecentRisks()
        self._diagnosis = diagnosis
        self._metrics = metrics
        self._failures: dict[str, int] = {}
        self._failed = False

    def slices(
        self, now_ns: int, report: Callable[[Sequence[Event]], object], *, urgent_only: bool = False
    ) -> Iterator[None]:
        """Run one second of the diagnosis in slices, then update the accounts.

        `urgent_only` skips all that can wait.
        """

        def on_events(events: Sequence[Event]) -> None:
            self.waste.on_events(events)
            self.risks.on_events(events)
            report(events)

        if urgent_only:
            yield from self._diagnosis.urgent_slices(now_ns, on_events)
            return
        yield from self._diagnosis.slices(now_ns, on_events)
        yield
        view = self._diagnosis.view
        if view is not None:
            self._update(view)
        for name, failures in self._diagnosis.failures.items():
            self._metrics.detector_failures.labels(name).inc(failures - self._failures.get(name, 0))
            self._failures[name] = failures

    def _update(self, view: View) -> None:
        conditions = self._diagnosis.conditions
        try:
            self.xids.update(view.states, view.now)
            self.waste.add_second(view, lambda: [active.event for active in conditions.active() if not active.absent])
        except Exception as error:  # noqa: BLE001  it must not stop the diagnosis
            if not self._failed:
                _log.exception("accounts_failed", error=repr(error))
            self._failed = True
            self._metrics.detector_failures.labels("accounts").inc()
