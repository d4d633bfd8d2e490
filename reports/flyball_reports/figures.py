"""Numbers formatted for people."""

from collections.abc import Callable
from typing import Protocol

_MINUTE, _HOUR, _DAY, _YEAR = 60.0, 3600.0, 86400.0, 365.25 * 86400.0
_LARGE = ((1e24, "Y"), (1e21, "Z"), (1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_COUNTS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))
THREE_DIGITS = 0.9995  # from this share of the next unit on, three digits round to it: 999.7 M is 1 B


INTERVALS = "Figures in brackets are 90 % intervals: nine of ten contain the true value."


class Estimate(Protocol):
    """A value with the two ends of its interval."""

    @property
    def low(self) -> float: ...
    @property
    def middle(self) -> float: ...
    @property
    def high(self) -> float: ...


def duration(seconds: float) -> str:
    """Format a duration in at most two units: 850 ms, 12 s, 3 min 20 s, 5 h 12 min, 3 days 4 h, 2.1 years."""
    if seconds < THREE_DIGITS * 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < THREE_DIGITS:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < _MINUTE:
        return f"{seconds:.3g} s"
    if seconds < 2 * _YEAR:
        return _two_units(seconds)
    return f"{figure(seconds / _YEAR)} years" if seconds < 1e6 * _YEAR else f"{seconds / _YEAR:.1e} years"


def _two_units(seconds: float) -> str:
    large, small, large_name, small_name = (
        (_DAY, _HOUR, "day", "h")
        if round(seconds / _MINUTE) >= 24 * 60
        else (_HOUR, _MINUTE, "h", "min")
        if round(seconds) >= _HOUR
        else (_MINUTE, 1.0, "min", "s")
    )
    whole, rest = divmod(round(seconds / small), round(large / small))
    name = "days" if large_name == "day" and whole != 1 else large_name
    return f"{whole} {name} {rest} {small_name}" if rest else f"{whole} {name}"


def size(count: float) -> str:
    """Format bytes in binary units: 1.5 KiB, 72.4 GiB."""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(value) < (1024 if unit == "B" else 1023.5) or unit == "PiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" or abs(value) >= 100 else f"{value:.1f} {unit}"


def count(number: float) -> str:
    """Format a number of parameters, tokens or samples: 124 M, 7.24 B."""
    for step, suffix in _COUNTS:
        if number >= THREE_DIGITS * step:
            return f"{_three_digits(number / step)} {suffix}" if number < 1e15 else f"{number:.2e}"
    return f"{number:,.0f}"


def rate(number: float, unit: str) -> str:
    """Format FLOP, FLOP/s or B/s with decimal prefixes: 312 TFLOP/s."""
    for step, prefix in _LARGE:
        if number >= THREE_DIGITS * step:
            return f"{_three_digits(number / step)} {prefix}{unit}" if number < 1e27 else f"{number:.2e} {unit}"
    return f"{number:.3g} {unit}"


def energy(kilowatt_hours: float) -> str:
    """Format an energy: 13.4 Wh, 229.6 kWh, 18.2 MWh."""
    for unit, prefix in ((1e6, "G"), (1e3, "M"), (1.0, "k")):
        if kilowatt_hours >= unit:
            return f"{figure(kilowatt_hours / unit)} {prefix}Wh"
    watt_hours = kilowatt_hours * 1e3
    if watt_hours >= 0.01 or not watt_hours:
        return f"{watt_hours:.3g} Wh"
    return f"{watt_hours * 1e3:.3g} mWh" if watt_hours >= 1e-6 else "< 0.001 mWh"


def money(dollars: float) -> str:
    """Format an amount in dollars: $0.42, $1,230."""
    if 0 < dollars < 0.01:
        return "< $0.01"
    if dollars < 1e6:
        return f"${dollars:,.2f}" if dollars < 100 else f"${dollars:,.0f}"
    return f"${figure(dollars / 1e6)} M" if dollars < 1e9 else f"${figure(dollars / 1e9)} B"


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 * THREE_DIGITS else f"{value:.3g}"


def figure(number: float) -> str:
    """Format a number with four digits and without powers of ten: 180,235; 87.98."""
    return f"{number:,.0f}" if number >= 999.95 else f"{number:.4g}"


def percent(ratio: float) -> str:
    """Format a ratio as a percentage: 0.423 becomes 42 %."""
    if 0 < ratio < 0.001:
        return "< 0.1 %"
    return f"{ratio * 100:.0f} %" if ratio >= 0.0995 or ratio == 0 else f"{ratio * 100:.2g} %"


def spread(estimate: Estimate, formatted: Callable[[float], str]) -> str:
    """Format the middle of an interval with its ends: 61 GiB (55 … 68)."""
    if estimate.low == estimate.high:
        return formatted(estimate.middle)
    return f"{formatted(estimate.middle)} ({formatted(estimate.low)} … {formatted(estimate.high)})"


def plural(number: float, one: str) -> str:
    """Format a number with its noun: 1 device, 8 devices."""
    return f"{number:,.0f} {one}" if number == 1 else f"{number:,.0f} {one}s"
