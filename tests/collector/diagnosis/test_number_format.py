"""Formatting numbers for people."""

import pytest

from flyball_collector.diagnosis.number_format import time_left


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ((37.0, 37.0, 37.0), "37 s"),
        ((37.2, 36.9, 37.4), "37 s"),
        ((600.0, 480.0, 900.0), "10 min (8 min to 15 min)"),
        ((60.0, 30.0, float("inf")), "60 s (30 s to unknown time)"),
    ],
)
def test_an_interval_is_shown_if_its_bounds_differ(times: tuple[float, float, float], words: str) -> None:
    """Bounds that look the same are shown as one value."""
    assert time_left(*times) == words
