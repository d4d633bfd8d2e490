"""Formatting numbers for people."""

import pytest

from flyball_collector.diagnosis.number_format import duration, time_left


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ((37.0, 37.0, 37.0), "37 s"),
        ((37.2, 36.9, 37.4), "37 s"),
        ((600.0, 480.0, 900.0), "10 min (8 min … 15 min)"),
        ((60.0, 30.0, float("inf")), "1 min (30 s … unknown time)"),
    ],
)
def test_an_interval_is_shown_if_its_bounds_differ(times: tuple[float, float, float], words: str) -> None:
    """Bounds that look the same are shown as one value."""
    assert time_left(*times) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (59.6, "1 min"),
        (110.0, "1 min 50 s"),
        (7199.0, "2 h"),
        (18_720.0, "5 h 12 min"),
        (100_000.0, "1 day 4 h"),
        (2e5, "2 days 8 h"),
    ],
)
def test_a_duration_has_at_most_two_units(seconds: float, words: str) -> None:
    """They are rounded to the smaller one."""
    assert duration(seconds) == words
