"""The diagnosis put together: a view a second through every detector to events."""

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
from flyball_collector.diagnosis.forecast.past import Past
from flyball_collector.diagnosis.health.catalogue import health_detectors
from flyball_collector.diagnosis.peers.catalogue import peer_detectors
from flyball_collector.diagnosis.runs.catalogue import run_detectors
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.scores.detector import BottleneckDetector
from flyball_collector.diagnosis.scores.primary import Primary
from flyball_collector.diagnosis.scores.score_table import ScoreTable, weigh_primaries
from flyball_collector.diagnosis.view import View, Viewer
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.engine.start_up import StartUp
from flyball_collector.fleet.fleet import Fleet

_log = structlog.get_logger(__name__)

URGENT = (MemoryExhaustion.name,)
"""Asked each second also while the rest is not, and told also while windows are not warm: memory may be used up within
ten seconds, and these remember themselves what they need. Names of detectors, and of their kinds."""

WORTH_A_TURN = 0.002
"""Seconds of work after which others are served: a turn of the loop costs some hundredths of this."""


def build_detectors(settings: DiagnosisSettings, *, shows_scores: bool = True) -> list[Detector]:
    """Every detector, in the order they are asked."""
    runs = Runs()
    return [
        *build_forecasts(settings.forecast, runs=runs),
        *health_detectors(settings.health),
        *peer_detectors(settings.peers, runs),
        *run_detectors(settings.runs, runs),
        BottleneckDetector(settings.scores, tabulates=shows_scores),
    ]


class Diagnosis:
    """Looks at the fleet once a second. The clock is the caller's, so recorded series go the same way."""

    def __init__(
        self,
        fleet: Fleet,
        settings: DiagnosisSettings,
        detectors: Sequence[Detector] | None = None,
        *,
        events_only: bool = False,
        start_up: StartUp | None = None,
    ) -> None:
        """Build the detectors and conditions. With `events_only` there are no scores and no advice; without a
        `start_up` nothing is held back."""
        self.conditions = Conditions(
            disabled=settings.disabled, hosts_of_run=fleet.ranks.hosts_of, gpu_index_of=fleet.gpu_index_of
        )
        self.advisor = Advisor(settings.advice, disabled=settings.disabled)
        self.view: View | None = None  # the newest
        self.scores: ScoreTable | None = None  # of the same moment as the conditions
        self._start_up = start_up or StartUp()
        self.failures: dict[str, int] = {}  # by detector
        self._worked = 0.0  # seconds of CPU since others were served
        self.seconds: dict[str, float] = {}  # CPU time of each detector's last look, and of the last second's advice
        built = build_detectors(settings, shows_scores=not events_only) if detectors is None else detectors
        self.detectors = list(built)
        self._events_only = events_only
        self._viewer = Viewer(fleet)
        self._primary = Primary(
            dead_band=settings.scores.primary_dead_band, dwell_seconds=settings.scores.primary_dwell_seconds
        )

    def recall(self, past: Past) -> None:
        """Tell those who forecast what a memory did before a restart."""
        for detector in self.detectors:
            if isinstance(detector, MemoryExhaustion):
                detector.recall(*past)

    def step(self, now_ns: int) -> list[Event]:
        """One second, whole; call it after the fleet's `advance`."""
        events: list[Event] = []
        for _ in self.slices(now_ns, events.extend):
            pass
        return events

    def hurried(self, now_ns: int, tell: Callable[[list[Event]], object]) -> Iterator[None]:
        """A second in which only what is urgent is looked at, in slices."""
        view = self._viewer.view(now_ns)
        yield
        urgent = [detector for detector in self._awake(view) if detector.name in URGENT]
        claims = [claim for detector in urgent for said in self._ask(detector, view) for claim in said]
        yield from self._conclude(claims, now_ns, tell)

    def slices(self, now_ns: int, tell: Callable[[list[Event]], object]) -> Iterator[None]:
        """The same in slices, so that an event loop may serve others between two detectors, or two of one's claims."""
        view = self.view = self._viewer.view(now_ns)
        self.seconds["advice"] = 0.0  # when it rests
        yield
        claims: list[Claims] = []
        self._worked = 0.0
        for detector in self._awake(view):
            for said in self._ask(detector, view):
                claims += said
                if self._worked >= WORTH_A_TURN:
                    yield
                    self._worked = 0.0
        yield from self._conclude(claims, now_ns, tell)
        if self._events_only:
            return
        self.scores = weigh_primaries(self.detectors, self.conditions.raised, self._primary, view.now)
        if self._start_up.windows_warm:
            yield
            yield from self._advise(view)

    def _conclude(self, claims: list[Claims], now_ns: int, tell: Callable[[list[Event]], object]) -> Iterator[None]:
        """From claims to events, in slices."""
        if not self._start_up.conditions_loaded:
            return
        if not self._start_up.windows_warm:
            claims = [_entering(claim) for claim in claims if claim.kind.name in URGENT]
        for number, events in enumerate(self.conditions.parts(claims, now_ns)):
            if number:  # else conditions and scores are of one moment for whoever is served meanwhile
                yield
            tell(events)

    def _awake(self, view: View) -> list[Detector]:
        """Those that can have anything to see: a recording of one metric is not asked for a hundred."""
        return [detector for detector in self.detectors if view.met.any_of(detector.needs)]

    def _advise(self, view: View) -> Iterator[None]:
        """What to change about what stands; a failure there must not stop the diagnosis."""
        slices = self.advisor.slices(view, self.conditions)
        while True:
            started = time.thread_time()
            try:
                next(slices)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001  as with detectors
                self._fail("advice", error)
                return
            finally:
                self.seconds["advice"] += time.thread_time() - started
            yield

    def _ask(self, detector: Detector, view: View) -> Iterator[Sequence[Claims]]:
        """What one detector says, claim by claim, and nothing at its end; its failure must not reach its neighbours."""
        claims: Iterator[Claims] | None = None
        self.seconds[detector.name] = 0.0
        over = False
        while not over:
            started = time.thread_time()
            try:
                claims = iter(detector.observe(view)) if claims is None else claims
                said = list(islice(claims, 1))
            except Exception as error:  # noqa: BLE001  the detector is isolated, its failure is counted and logged
                self._fail(detector.name, error)
                said = []
            over = not said
            spent = time.thread_time() - started
            self.seconds[detector.name] += spent
            self._worked += spent
            yield said

    def _fail(self, name: str, error: Exception) -> None:
        if name not in self.failures:
            _log.exception("detector_failed", detector=name, error=repr(error))
        self.failures[name] = self.failures.get(name, 0) + 1


def _entering(claims: Claims) -> Claims:
    """What begins alone: of the rest nothing is known yet, so that nothing that stood ends."""
    return replace(claims, known=claims.enters if claims.known is None else claims.enters & claims.known)
