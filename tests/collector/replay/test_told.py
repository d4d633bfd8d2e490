"""Events of a played file in the words of its input."""

import pytest

from flyball_collector.replay.told import as_written


@pytest.mark.parametrize(
    ("text", "value"), [("57", 57), ("0.30", 0.3), ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), ("1e3", 1000.0)]
)
def test_times_are_told_as_they_were_written(text: str, value: float | str) -> None:
    """A number stays a number, a date its text."""
    assert as_written(text) == value
