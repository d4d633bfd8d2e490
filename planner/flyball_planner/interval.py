"""A value with a 90 % interval: the middle is the best guess, and nine times in ten the truth is between the ends."""

from typing import Self

from msgspec import Struct


class Interval(Struct, frozen=True):
    """A 90 % interval around the most likely value."""

    low: float
    middle: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.middle <= self.high:
            raise ValueError(
                f"the ends of an interval must be in order: {self.low} ≤ {self.middle} ≤ {self.high} is false"
            )

    @classmethod
    def exactly(cls, value: float) -> Self:
        """Return the interval of a known value."""
        return cls(value, value, value)

    @classmethod
    def around(cls, value: float, below: float, above: float) -> Self:
        """Return the interval of a value that may be smaller or larger by a share of itself (0.1 is 10 %)."""
        return cls(value * (1 - below), value, value * (1 + above))

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.low + other.low, self.middle + other.middle, self.high + other.high)

    def times(self, factor: float) -> "Interval":
        """Scale the interval by a factor that is not negative."""
        return Interval(self.low * factor, self.middle * factor, self.high * factor)

    @property
    def width(self) -> float:
        """Return the width relative to the middle."""
        return (self.high - self.low) / self.middle if self.middle else 0.0

    def holds(self, value: float) -> bool:
        """Return True if a value is inside the interval."""
        return self.low <= value <= self.high
