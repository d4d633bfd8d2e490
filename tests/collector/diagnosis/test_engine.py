"""The engine: every detector is asked, none can stop the others."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.engine import Diagnosis
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.player import Player, Sample, recording
from flyball_collector.diagnosis.settings import DiagnosisSettings
from flyball_collector.diagnosis.view import View


class Broken:
    """Fails whenever it is asked."""

    name = "broken"
    kinds: Sequence[EventKind] = ()

    def observe(self, view: View) -> Iterable[Claims]:
        raise ZeroDivisionError(f"at {view.now}")


class Busy:
    """Says that every host with a busy processor was killed for want of memory."""

    name = "busy"
    kinds = (BY_NAME["oom_kill"],)

    def observe(self, view: View) -> Iterable[Claims]:
        busy = view.host("cpu_busy_ratio") > 0.9
        yield Claims(
            kind=self.kinds[0], subjects=view.hosts, enters=busy, stays=busy, confidence=np.ones(len(view.hosts))
        )


SAMPLES = [Sample(n, "a", {("cpu_busy_ratio", ()): 1.0}) for n in range(3)]


def events_of(detectors: list[Detector], *, holds: bool = False) -> list[str]:
    player = Player(recording(SAMPLES))
    player.diagnosis = Diagnosis(player.fleet, DiagnosisSettings(), detectors)
    player.diagnosis.holds = holds
    return [event.kind.name for _, events in player.play() for event in events]


def test_a_detector_that_fails_stops_no_other() -> None:
    """What its neighbour sees is told, and the failures are counted."""
    assert events_of([Broken(), Busy()]) == ["oom_kill"]


def test_nothing_is_raised_while_the_diagnosis_holds() -> None:
    """Until the windows are loaded detectors look, and nothing is told."""
    assert events_of([Busy()], holds=True) == []
