"""Runs the diagnosis of one second: a view, all detectors, conditions, advice."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import structlog

from flyball_collector.advice.advisor import Advisor
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.forecast.detectors import build_forecasts
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.memory_history import MemoryHistory
from flyball_collector.diagnosis.health.catalogue import health_detectors
from flyball_collector.diagnosis.peers.catalogue import peer_detectors
from flyball_collector.diagnosis.runs.catalogue import run_detectors
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.runs.step_times import StepTimeUpdater
from flyball_collector.diagnosis.scores.detector import BottleneckDetector
from flyball_collector.diagnosis.scores.primary_bottleneck import PrimaryBottleneck
from flyball_collector.diagnosis.scores.score_table import ScoreTable, with_primaries
from flyball_collector.diagnosis.view import View, Viewer
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.engine.start_up import StartUp
from flyball_collector.fleet.fleet import Fleet

_log = structlog.get_logger(__name__)

URGENT = (MemoryExhaustion.name,)
"""Detectors that run every second even if the others cannot keep up, and report even before the windows are warm.

Memory may run out within ten seconds, and these detectors keep the history that they need. The names are those of the
detectors and of their kinds."""

YIELD_AFTER_SECONDS = 0.002
"""Seconds of work after which the event loop may run. One pass of the loop costs a few hundredths of this."""


def build_detectors(settings: DiagnosisSettings, *, shows_scores: bool = True) -> list[Detector]:
    """Build all detectors in the order in which they run."""
    runs = Runs()
    return [
        *build_forecasts(settings.forecast, runs=runs),
        *health_detectors(settings.health),
        *peer_detectors(settings.peers, runs),
        *run_detectors(settings.runs, runs),
        BottleneckDetector(settings.scores, tabulates=shows_scores),
    ]


class Diagnosis:
    """Evaluates the fleet once a second. The caller provides the time, so recordings are evaluated in the same way."""

    def __init__(
        self,
        fleet: Fleet,
        settings: DiagnosisSettings,
        detectors: Sequence[Detector] | None = None,
        *,
        events_only: bool = False,
        start_up: StartUp | None = None,
    ) -> None:
        """Build the detectors and conditions.

        With `events_only` there are no scores and no advice. Without a `start_up` nothing is held back.
        """
        self.conditions = Conditions(
            disabled=settings.disabled,
            changes_per_hour=settings.changes_per_hour,
            hosts_of_run=fleet.ranks.hosts_of,
            gpu_index_of=fleet.gpu_index_of,
        )
        self.advisor = Advisor(settings.advice, disabled=settings.disabled)
        self.view: View | None = None  # the newest
        self.scores: ScoreTable | None = None  # of the same moment as the conditions
        self._start_up = start_up or StartUp()
        self.failures: dict[str, int] = {}  # by detector
        self._worked = 0.0  # CPU seconds since the last yield
        self.seconds: dict[str, float] = {}  # CPU time of each detector's last call, and of the last second's advice
        built = build_detectors(settings, shows_scores=not events_only) if detectors is None else detectors
        self.detectors = list(built)
        self._events_only = events_only
        self._viewer = Viewer(fleet)
        self._primary = PrimaryBottleneck(
            dead_band=settings.scores.primary_dead_band, dwell_seconds=settings.scores.primary_dwell_seconds
        )

    def load_memory_history(self, history: MemoryHistory) -> None:
        """Give the memory forecasts the history from before a restart."""
        for detector in self.detectors:
            if isinstance(detector, MemoryExhaustion):
                detector.load_history(*history)

    def run_changed(self, run: str) -> None:
        """Note that a run was changed on purpose: its steps are no longer compared with those before."""
        for detector in self.detectors:
            if isinstance(detector, StepTimeUpdater):
                detector.begin_again(run)

    def step(self, now_ns: int) -> list[Event]:
        """Run one second without slices. Call it after the fleet's `advance`."""
        events: list[Event] = []
        for _ in self.slices(now_ns, events.extend):
            pass
        return events

    def urgent_slices(self, now_ns: int, report: Callable[[list[Event]], object]) -> Iterator[None]:
        """Run one second of the urgent detectors only, in slices."""
        view = self._viewer.view(now_ns)
        yield
        urgent = [detector for detector in self._with_input(view) if detector.name in URGENT]
        claims = [claim for detector in urgent for found in self._run(detector, view) for claim in found]
        yield from self._apply(claims, now_ns, report)

    def slices(self, now_ns: int, report: Callable[[list[Event]], object]) -> Iterator[None]:
        """Run one second in slices: an event loop can run between detectors, or between claims of one detector."""
        view = self.view = self._viewer.view(now_ns)
        self.seconds["advice"] = 0.0  # if there is none this second
        yield
        claims: list[Claims] = []
        self._worked = 0.0
        for detector in self._with_input(view):
            for found in self._run(detector, view):
                claims += found
                if self._worked >= YIELD_AFTER_SECONDS:
                    yield
                    self._worked = 0.0
        yield from self._apply(claims, now_ns, report)
        if self._events_only:
            return
        self.scores = with_primaries(self.detectors, self.conditions.raised, self._primary, view.now)
        if self._start_up.windows_warm:
            yield
            yield from self._advise(view)

    def _apply(self, claims: list[Claims], now_ns: int, report: Callable[[list[Event]], object]) -> Iterator[None]:
        """Turn claims into events, in slices."""
        if not self._start_up.conditions_loaded:
            return
        if not self._start_up.windows_warm:
            claims = [_entering(claim) for claim in claims if claim.kind.name in URGENT]
        for number, events in enumerate(self.conditions.batches(claims, now_ns)):
            if number:  # not before the first batch: conditions and scores must be of the same moment at each yield
                yield
            report(events)

    def _with_input(self, view: View) -> list[Detector]:
        """Return the detectors that have input: a recording of one metric needs only a few of them."""
        return [detector for detector in self.detectors if view.seen_metrics.any_of(detector.needs)]

    def _advise(self, view: View) -> Iterator[None]:
        """Update the advice. A failure here must not stop the diagnosis."""
        slices = self.advisor.slices(view, self.conditions)
        while True:
            started = time.thread_time()
            try:
                next(slices)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001  isolated like the detectors
                self._fail("advice", error)
                return
            finally:
                self.seconds["advice"] += time.thread_time() - started
            yield

    def _run(self, detector: Detector, view: View) -> Iterator[Sequence[Claims]]:
        """Yield the claims of one detector one by one, then an empty list. Its failure must not affect the others."""
        claims: Iterator[Claims] | None = None
        self.seconds[detector.name] = 0.0
        over = False
        while not over:
            started = time.thread_time()
            try:
                claims = iter(detector.observe(view)) if claims is None else claims
                found = list(islice(claims, 1))
            except Exception as error:  # noqa: BLE001  the detector is isolated, its failure is counted and logged
                self._fail(detector.name, error)
                found = []
            over = not found
            spent = time.thread_time() - started
            self.seconds[detector.name] += spent
            self._worked += spent
            yield found

    def _fail(self, name: str, error: Exception) -> None:
        if name not in self.failures:
            _log.exception("detector_failed", detector=name, error=repr(error))
        self.failures[name] = self.failures.get(name, 0) + 1


def _entering(claims: Claims) -> Claims:
    """Keep only what enters. Everything else counts as unknown, so that no restored condition is cleared yet."""
    return replace(claims, known=claims.enters if claims.known is None else claims.enters & claims.known)
