"""Tests of periodic readings."""

import pytest

from flyball_agent.probes.periodic_reading import PeriodicReading


def test_reads_every_nth_time() -> None:
    """The first and then every third access reads; the others repeat the value."""
    values = iter(range(10))
    reading: PeriodicReading[int] = PeriodicReading(3)
    assert [reading.value(lambda: next(values)) for _ in range(7)] == [0, 0, 0, 1, 1, 1, 2]


def test_reads_again_after_a_failure() -> None:
    """An error is not repeated; the next access reads again."""
    results: list[int | OSError] = [1, OSError("gone"), 2]
    values = iter(results)

    def read() -> int:
        result = next(values)
        if isinstance(result, OSError):
            raise result
        return result

    reading: PeriodicReading[int] = PeriodicReading(2)
    assert [reading.value(read), reading.value(read)] == [1, 1]
    with pytest.raises(OSError, match="gone"):
        reading.value(read)
    assert reading.value(read) == 2
