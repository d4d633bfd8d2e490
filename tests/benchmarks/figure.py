"""One measured number, with what it should reach and what a peer needs in the same run."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """`met` is `None` where there is no bound."""

    name: str
    value: float
    unit: str
    target: str = ""
    met: bool | None = None
    note: str = ""


def at_most(name: str, value: float, bound: float, unit: str, note: str = "") -> Figure:
    """A figure that should not exceed its bound."""
    return Figure(name, value, unit, f"≤ {bound:g}", value <= bound, note)


def at_least(name: str, value: float, bound: float, unit: str, note: str = "") -> Figure:
    """A figure that should reach its bound."""
    return Figure(name, value, unit, f"≥ {bound:g}", value >= bound, note)


def plain(name: str, value: float, unit: str, note: str = "") -> Figure:
    """A figure without a bound: a peer's, or a circumstance."""
    return Figure(name, value, unit, note=note)


def report(figures: Iterable[Figure]) -> None:
    """Print figures as one line of JSON, the last line of a benchmark's output."""
    print(json.dumps([asdict(figure) for figure in figures]), flush=True)
