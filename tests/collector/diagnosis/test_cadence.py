"""The schedule of detectors."""

import numpy as np

from flyball_collector.diagnosis.cadence import FEW, RoundRobin
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines


def test_each_subject_is_selected_once_a_period() -> None:
    """On a large fleet, an eighth is evaluated each second; skipped seconds are made up for."""
    large, shares = Machines(FEW // 8 + 1, gpus=8), RoundRobin(8)
    assert shares.select(ArrayView(large, 100.0), 1000).all()  # the first call selects everything
    selected = np.array([shares.select(ArrayView(large, 101.0 + second), 1000) for second in range(8)])
    assert selected.sum(axis=0).tolist() == [1] * 1000
    assert selected.sum(axis=1).tolist() == [125] * 8
    assert shares.select(ArrayView(large, 111.0), 1000).sum() == 375
    assert shares.select(ArrayView(large, 500.0), 1000).all()


def test_a_small_fleet_is_always_evaluated() -> None:
    """A small fleet is not divided into shares."""
    small, shares = Machines(4, gpus=8), RoundRobin(8)
    assert all(shares.select(ArrayView(small, float(second)), 32).all() for second in range(20))
