"""A figure with what it may be: the middle is the best guess, and nine times in ten the truth lies between the ends."""

from typing import Self

from msgspec import Struct


class Interval(Struct, frozen=True):
    """A 90 % interval around its most likely value."""

    low: float
    middle: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.middle <= self.high:
            raise ValueError(f"an interval must rise: {self.low} ≤ {self.middle} ≤ {self.high} does not hold")

    @classmethod
    def exactly(cls, value: float) -> Self:
        """A figure that is known."""
        return cls(value, value, value)

    @classmethod
    def around(cls, value: float, below: float, above: float) -> Self:
        """A value that may be `below` times smaller or `above` times larger, both as shares of it (0.1 is 10 %)."""
        return cls(value * (1 - below), value, value * (1 + above))

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.low + other.low, self.middle + other.middle, self.high + other.high)

    def times(self, factor: float) -> "Interval":
        """The same in other units; the factor is not negative."""
        return Interval(self.low * factor, self.middle * factor, self.high * factor)

    @property
    def width(self) -> float:
        """The whole width as a share of the middle."""
        return (self.high - self.low) / self.middle if self.middle else 0.0

    def holds(self, value: float) -> bool:
        """Whether a measured value lies within."""
        return self.low <= value <= self.high
