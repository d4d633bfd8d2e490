"""Declarations of metrics. A metric is declared once; wire, store, exporter and documentation use the declaration."""

import re
from dataclasses import dataclass
from enum import IntEnum

from flyball_proto.errors import WireError

_NAME = re.compile(r"[a-z][a-z0-9_]{0,119}")
_LABEL = re.compile(r"[a-z][a-z0-9_]{0,59}")


class Kind(IntEnum):
    """The behaviour of a metric's values over time. The numbers are those of the protocol."""

    GAUGE = 0
    COUNTER = 1
    STATE = 2


@dataclass(frozen=True, slots=True)
class Metric:
    """One declared quantity.

    `name` ends in the unit (counters in `_total`) and does not have the prefix `flyball_`. `scale` sets the resolution:
    the integer on the wire is `round(value * scale)`. `labels` identify the resource (`gpu`, `device`, `core` …).
    """

    name: str
    kind: Kind
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    scale: int = 1
    states: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise WireError(f"metric name {self.name!r}: expected lower-case words joined by '_'")
        if bad := [label for label in self.labels if not _LABEL.fullmatch(label)]:
            raise WireError(f"metric {self.name}: label {bad[0]!r} is not lower-case words joined by '_'")
        if self.scale < 1:
            raise WireError(f"metric {self.name}: scale {self.scale} is not positive")


def gauge(name: str, unit: str, text: str, labels: tuple[str, ...] = (), scale: int = 1) -> Metric:
    """Declare a quantity that goes up and down."""
    return Metric(name, Kind.GAUGE, unit, text, labels, scale)


def counter(name: str, unit: str, text: str, labels: tuple[str, ...] = (), scale: int = 1) -> Metric:
    """Declare a quantity that only grows. Its readers compute rates."""
    return Metric(name, Kind.COUNTER, unit, text, labels, scale)


def state(name: str, text: str, states: tuple[str, ...], labels: tuple[str, ...] = ()) -> Metric:
    """Declare a state: value i means `states[i]`."""
    return Metric(name, Kind.STATE, "state", text, labels, 1, states)
