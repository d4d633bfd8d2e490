"""Detectors that run only every few seconds on a large fleet."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from flyball_collector.diagnosis.cadence import FEW
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.throttled_detector import ThrottledDetector
from flyball_collector.diagnosis.view import View
from flyball_collector.engine.engine import build_detectors
from flyball_collector.engine.settings import DiagnosisSettings


class _Counter:
    """Claims something each time it runs."""

    name = "watcher"
    kinds: Sequence[EventKind] = (BY_NAME["gpu_ecc"],)
    needs: Sequence[str] = ("gpu_lost",)

    def observe(self, view: View) -> Iterable[Claims]:
        flags = np.ones(len(view.hosts), dtype=np.bool_)
        yield Claims(kind=self.kinds[0], subjects=view.hosts, enters=flags, stays=flags, confidence=np.ones(len(flags)))


@pytest.mark.parametrize(("hosts", "runs"), [(FEW // 8 + 1, 3), (4, 12)], ids=["large", "small"])
def test_a_large_fleet_is_evaluated_less_often(hosts: int, runs: int) -> None:
    """It is evaluated every fourth second, a small fleet every second."""
    throttled, machines = ThrottledDetector(_Counter(), 4, 1), Machines(hosts, gpus=8)
    claims = [len(list(throttled.observe(ArrayView(machines, 1003.0 + second)))) for second in range(12)]
    assert sum(claims) == runs


def test_it_has_the_name_of_its_detector() -> None:
    """Metrics, logs and kinds are those of the other detector."""
    throttled = ThrottledDetector(_Counter(), 4)
    assert (throttled.name, throttled.kinds, throttled.needs) == (_Counter.name, _Counter.kinds, _Counter.needs)


def test_threats_within_seconds_are_evaluated_every_second() -> None:
    """Memory that fills, lost GPUs, XIDs and lost hosts are not throttled."""
    throttled = {each.name for each in build_detectors(DiagnosisSettings()) if isinstance(each, ThrottledDetector)}
    assert not throttled & {"memory_exhaustion", "memory_pressure", "lost_gpu", "xid", "presence", "oom_kill"}
