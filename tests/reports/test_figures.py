"""Numbers formatted for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.interval import Interval
from flyball_reports.figures import count, duration, energy, money, percent, plural, rate, size, spread


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.00085, "850 µs"),
        (0.85, "850 ms"),
        (12, "12 s"),
        (200, "3 min 20 s"),
        (3600, "1 h"),
        (18720, "5 h 12 min"),
        (86400 * 3 + 4 * 3600, "3 days 4 h"),
        (86400, "1 day"),
        (0.9996, "1 s"),
        (0.9996e-3, "1 ms"),
        (86399, "1 day"),
        (86400 * 365.25 * 30, "30 years"),
        (86400 * 365.25 * 1e7, "1.0e+07 years"),
    ],
)
def test_durations_have_two_units_at_most(seconds: float, words: str) -> None:
    """A duration never shows more precision than two units."""
    assert duration(seconds) == words


@given(st.floats(min_value=1e-9, max_value=1e15))
def test_no_duration_shows_a_full_smaller_unit(seconds: float) -> None:
    """Rounding carries over into the larger unit."""
    words = duration(seconds)
    assert " 60 s" not in words
    assert " 60 min" not in words
    assert " 24 h" not in words


@pytest.mark.parametrize(
    ("format_amount", "value", "words"),
    [
        (size, 0, "0 B"),
        (size, 1023, "1023 B"),
        (size, 1536, "1.5 KiB"),
        (size, 200 * 2**20, "200 MiB"),
        (size, 2**60, "1024 PiB"),
        (size, 80 * 2**30, "80.0 GiB"),
        (count, 124e6, "124 M"),
        (count, 7.24e9, "7.24 B"),
        (count, 512, "512"),
        (count, 999_885_952, "1 B"),
        (count, 999.4e6, "999 M"),
        (count, 999.96e12, "1,000 T"),
        (rate, 9.996e11, "1 TFLOP/s"),
        (size, 2**30 - 1, "1.0 GiB"),
        (rate, 3.12e14, "312 TFLOP/s"),
        (energy, 0.01335, "13.4 Wh"),
        (energy, 4.73e-6, "4.73 mWh"),
        (energy, 4.73e-10, "< 0.001 mWh"),
        (money, 1.033e10, "$10.33 B"),
        (money, 9.9999e8, "$1,000 M"),
        (money, 6_234_173, "$6.234 M"),
        (energy, 229.64, "229.6 kWh"),
        (energy, 18_200, "18.2 MWh"),
        (money, 0.001, "< $0.01"),
        (money, 1234.5, "$1,234"),
        (money, 0.42, "$0.42"),
        (percent, 0.423, "42 %"),
        (percent, 0.0123, "1.2 %"),
        (percent, 0, "0 %"),
    ],
)
def test_amounts_have_a_suitable_unit(format_amount: object, value: float, words: str) -> None:
    """Amounts have about three digits and a unit."""
    assert (rate(value, "FLOP/s") if format_amount is rate else format_amount(value)) == words  # type: ignore[operator]


def test_an_interval_is_formatted_with_its_ends() -> None:
    """An exact value has no ends."""
    assert spread(Interval(900, 1000, 1200), count) == "1 K (900 … 1.2 K)"
    assert spread(Interval.exactly(1000), count) == "1 K"
    assert [plural(number, "device") for number in (0, 1, 2000)] == ["0 devices", "1 device", "2,000 devices"]
