"""Turns of detectors."""

import numpy as np

from flyball_collector.diagnosis.cadence import FEW, Parts
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines


def test_everyone_has_a_turn_and_nobody_two() -> None:
    """Of a large fleet an eighth is looked at each second; seconds that were missed are made up for."""
    large, parts = Machines(FEW // 8 + 1, gpus=8), Parts(8)
    assert parts.turn(ArrayView(large, 100.0), 1000).all()  # nobody has been looked at yet
    turns = np.array([parts.turn(ArrayView(large, 101.0 + second), 1000) for second in range(8)])
    assert turns.sum(axis=0).tolist() == [1] * 1000
    assert turns.sum(axis=1).tolist() == [125] * 8
    assert parts.turn(ArrayView(large, 111.0), 1000).sum() == 375
    assert parts.turn(ArrayView(large, 500.0), 1000).all()


def test_few_are_always_looked_at() -> None:
    """A small fleet needs no turns."""
    small, parts = Machines(4, gpus=8), Parts(8)
    assert all(parts.turn(ArrayView(small, float(second)), 32).all() for second in range(20))
