"""The growth of memory, from noisy readings."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball.measuring.memory_slope import line, steady_growth

MB = 1_000_000


def test_a_leak_is_found_with_its_size() -> None:
    """Noise of the allocator, in pages, hides it only in part."""
    noise = random.Random(1)
    readings = [500 * MB + 40_000 * step + noise.randrange(8) * 4096 for step in range(50)]
    growth = steady_growth(readings)
    assert growth == pytest.approx(40_000, rel=0.05)


@pytest.mark.parametrize(
    "readings",
    [
        [500 * MB] * 50,
        [400 * MB + 20 * MB * step for step in range(5)] + [500 * MB] * 45,
        [500 * MB - 1000 * step for step in range(50)],
    ],
)
def test_no_growth_is_certain_only_without_any(readings: list[int]) -> None:
    """Growth at the start, while caches fill, does not count."""
    assert steady_growth(readings) == 0.0


@pytest.mark.parametrize(
    "readings",
    [
        [500 * MB + 40_000 * step for step in range(19)],  # too few
        [500 * MB + 40_000 * min(step, 25) for step in range(50)],  # it ends
        [500 * MB] * 45 + [510 * MB] * 5,  # one block at the end
        [500 * MB + (step % 2) * MB for step in range(50)],  # noise only
        [500 * MB + 500 * step for step in range(50)],  # less than the C library may keep
    ],
)
def test_what_is_not_certain_is_unknown(readings: list[int]) -> None:
    """Neither a leak nor none."""
    assert steady_growth(readings) is None


def test_noise_is_rarely_taken_for_a_leak() -> None:
    """Independent noise in one of 200 series at most; a plateau after growth in none."""
    noise = random.Random(7)
    found = [steady_growth([500 * MB + noise.randrange(MB) for _ in range(50)]) for _ in range(200)]
    assert sum(1 for each in found if each) <= 1
    caches = [[500 * MB + int(5 * MB * (1 - 0.8**step)) for step in range(50)] for _ in range(3)]
    assert not any(steady_growth(each) for each in caches)


@given(st.floats(-1e6, 1e6), st.floats(-1e9, 1e9), st.integers(3, 60))
def test_a_line_is_recovered_exactly(slope: float, start: float, count: int) -> None:
    """Without noise its error is zero, whatever the offset."""
    found, error = line([start + slope * index for index in range(count)])
    assert found == pytest.approx(slope, rel=1e-6, abs=1e-3)
    assert error == pytest.approx(0.0, abs=1e-3)


def test_the_error_covers_the_slope() -> None:
    """Twice the error holds the true slope in about 19 of 20 series."""
    noise = random.Random(3)
    held = 0
    for _ in range(400):
        slope, error = line([step * 7.0 + noise.gauss(0, 100) for step in range(40)])
        held += abs(slope - 7.0) <= 2 * error
    assert 360 <= held <= 396
