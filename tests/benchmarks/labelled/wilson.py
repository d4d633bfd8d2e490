"""Shares with their uncertainty."""

from dataclasses import dataclass
from math import sqrt

Z95 = 1.959964
"""Two-sided 95 %."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of a count, with Wilson's bounds at 95 %."""

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """The share; nothing of nothing is unknown."""
        return self.hits / self.of if self.of else None

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound; nothing of nothing may be anything."""
        if not self.of:
            return 0.0, 1.0
        share, z2 = self.hits / self.of, Z95**2
        middle = share + z2 / (2 * self.of)
        reach = Z95 * sqrt(share * (1 - share) / self.of + z2 / (4 * self.of**2))
        scale = 1 + z2 / self.of
        return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)

    @property
    def words(self) -> str:
        """For a table."""
        if not self.of:
            return "–"
        low, high = self.bounds
        return f"{self.hits / self.of:.1%} ({self.hits}/{self.of}; {low:.1%} … {high:.1%})"
