"""Sliding means agree with means computed from the lines."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.engine.player import Key, Player, RecordedSample, recording

METRIC = "cpu_busy_ratio"


@given(
    gaps=st.lists(st.integers(1, 90), min_size=1, max_size=60),
    values=st.lists(st.none() | st.integers(0, 1000), min_size=60, max_size=60),
)
def test_means_over_any_gaps_match_the_lines(gaps: list[int], values: list[int | None]) -> None:
    """Whatever seconds and values are known, each horizon's mean is the mean of its lines."""
    samples, second = [], 0
    for gap, value in zip(gaps, values, strict=False):
        readings: dict[Key, float] = {("memory_used_ratio", ()): 0.5}
        if value is not None:
            readings[METRIC, ()] = value / 1000
        samples.append(RecordedSample(second, "a", readings))
        second += gap
    player = Player(recording(samples))
    for _ in player.play():
        window = player.fleet.window
        rows = window.select(METRIC).index
        for horizon in (10, 60, 300):
            _, lines = window.take(rows, horizon)
            known = lines[~np.isnan(lines)]
            means = window.means(horizon, rows)
            assert window.counts(horizon, rows).tolist() == [len(known)] * len(rows)
            if len(known):
                np.testing.assert_allclose(means, known.mean(dtype=np.float64), rtol=1e-9, atol=1e-9)
            else:
                assert np.isnan(means).all()
