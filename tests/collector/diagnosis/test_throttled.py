"""Detectors that look only now and then at a large fleet."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from flyball_collector.diagnosis.cadence import FEW
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.throttled import Throttled
from flyball_collector.diagnosis.view import View
from flyball_collector.engine.engine import build_detectors
from flyball_collector.engine.settings import DiagnosisSettings


class _Watcher:
    """Claims something at each look."""

    name = "watcher"
    kinds: Sequence[EventKind] = (BY_NAME["gpu_ecc"],)
    needs: Sequence[str] = ("gpu_lost",)

    def observe(self, view: View) -> Iterable[Claims]:
        flags = np.ones(len(view.hosts), dtype=np.bool_)
        yield Claims(kind=self.kinds[0], subjects=view.hosts, enters=flags, stays=flags, confidence=np.ones(len(flags)))


@pytest.mark.parametrize(("hosts", "looks"), [(FEW // 8 + 1, 3), (4, 12)], ids=["large", "small"])
def test_a_large_fleet_is_looked_at_seldom(hosts: int, looks: int) -> None:
    """Every fourth second; a small fleet each second."""
    seldom, machines = Throttled(_Watcher(), 4, 1), Machines(hosts, gpus=8)
    claims = [len(list(seldom.observe(ArrayView(machines, 1003.0 + second)))) for second in range(12)]
    assert sum(claims) == looks


def test_it_is_known_as_the_detector_that_it_asks() -> None:
    """Its metrics, logs and kinds are the other's."""
    seldom = Throttled(_Watcher(), 4)
    assert (seldom.name, seldom.kinds, seldom.needs) == (_Watcher.name, _Watcher.kinds, _Watcher.needs)


def test_what_ends_a_training_within_seconds_is_looked_at_each_second() -> None:
    """Memory that fills, lost GPUs, XIDs and hosts that are gone wait for no turn."""
    seldom = {each.name for each in build_detectors(DiagnosisSettings()) if isinstance(each, Throttled)}
    assert not seldom & {"memory_exhaustion", "memory_pressure", "lost_gpu", "xid", "presence", "oom_kill"}
