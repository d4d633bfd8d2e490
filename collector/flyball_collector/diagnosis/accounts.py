"""What is added up beside the diagnosis: lost GPU time, when XIDs were reported, and detectors that failed."""

from collections.abc import Callable, Iterator, Sequence

from flyball_collector.diagnosis.engine import Diagnosis
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.waste import WasteLedger
from flyball_collector.diagnosis.xids import XidTimes
from flyball_collector.own_metrics import OwnMetrics


class Accounts:
    """Goes along with the diagnosis, second by second."""

    def __init__(self, diagnosis: Diagnosis, metrics: OwnMetrics) -> None:
        self.waste = WasteLedger()
        self.xids = XidTimes()
        self._diagnosis = diagnosis
        self._metrics = metrics
        self._failures: dict[str, int] = {}

    def slices(self, now_ns: int, tell: Callable[[Sequence[Event]], object]) -> Iterator[None]:
        """One second of the diagnosis, and what follows from it, in slices."""

        def hear(events: Sequence[Event]) -> None:
            self.waste.hear(events)
            tell(events)

        yield from self._diagnosis.slices(now_ns, hear)
        yield
        self._look()

    def _look(self) -> None:
        view, conditions = self._diagnosis.view, self._diagnosis.conditions
        if view is not None:
            self.xids.look(view.states, view.now)
            self.waste.account(view, lambda: [standing.event for standing in conditions.standing()])
        for name, failures in self._diagnosis.failures.items():
            self._metrics.detector_failures.labels(name).inc(failures - self._failures.get(name, 0))
            self._failures[name] = failures
