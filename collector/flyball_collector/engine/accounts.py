"""What is added up beside the diagnosis: lost GPU time, when XIDs were reported, and detectors that failed."""

from collections.abc import Callable, Iterator, Sequence

import structlog

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.view import View
from flyball_collector.diagnosis.waste import WasteLedger
from flyball_collector.diagnosis.xids import XidTimes
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.own_metrics import OwnMetrics

_log = structlog.get_logger(__name__)


class Accounts:
    """Goes along with the diagnosis, second by second."""

    def __init__(self, diagnosis: Diagnosis, metrics: OwnMetrics) -> None:
        self.waste = WasteLedger()
        self.xids = XidTimes()
        self._diagnosis = diagnosis
        self._metrics = metrics
        self._failures: dict[str, int] = {}
        self._failed = False

    def slices(
        self, now_ns: int, tell: Callable[[Sequence[Event]], object], *, hurried: bool = False
    ) -> Iterator[None]:
        """One second of the diagnosis, and what follows from it, in slices; `hurried`: only what is urgent."""

        def hear(events: Sequence[Event]) -> None:
            self.waste.hear(events)
            tell(events)

        if hurried:
            yield from self._diagnosis.hurried(now_ns, hear)
            return
        yield from self._diagnosis.slices(now_ns, hear)
        yield
        view = self._diagnosis.view
        if view is not None:
            self._look(view)
        for name, failures in self._diagnosis.failures.items():
            self._metrics.detector_failures.labels(name).inc(failures - self._failures.get(name, 0))
            self._failures[name] = failures

    def _look(self, view: View) -> None:
        conditions = self._diagnosis.conditions
        try:
            self.xids.look(view.states, view.now)
            self.waste.account(view, lambda: [active.event for active in conditions.active()])
        except Exception as error:  # noqa: BLE001  as with detectors: it must not stop the diagnosis
            if not self._failed:
                _log.exception("accounts_failed", error=repr(error))
            self._failed = True
            self._metrics.detector_failures.labels("accounts").inc()
