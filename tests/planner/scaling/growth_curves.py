"""Synthetic measurements: a known law, a part that does not grow, and the noise of a machine."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from flyball_planner.scaling.fitting import Point

GROWTHS: dict[str, Callable[[float], float]] = {
    "O(1)": lambda _: 1.0,
    "O(log n)": math.log,
    "O(n)": lambda n: n,
    "O(n log n)": lambda n: n * math.log(n),
    "O(n²)": lambda n: n**2,
    "O(n³)": lambda n: n**3,
}
SIZES = ((100, 1_000, 10_000, 50_000), (1_000, 4_000, 16_000, 64_000), (500, 1_000, 2_000), (10, 100, 1_000, 10_000))
OUTLIERS = 0.05  # share of runs that something else on the machine slows down


class Curve(Struct, frozen=True):
    """A task with a known law, measured on some sizes."""

    law: str
    sizes: Sequence[int]
    fixed: float  # share of the largest run that does not grow
    noise: float

    def seconds(self, size: float) -> float:
        """Return the true time of a size; the largest measured one takes a minute."""
        growth = GROWTHS[self.law]
        return 60 * (self.fixed + (1 - self.fixed) * growth(size) / growth(self.sizes[-1]))

    def points(self, seed: int, repeats: int = 3) -> list[Point]:
        """Return measurements; a few of them take longer than the noise explains."""
        random = np.random.default_rng(seed)
        slowed = [
            random.uniform(1.1, 1.6) if random.random() < OUTLIERS else 1.0 for _ in range(repeats * len(self.sizes))
        ]
        noise = np.exp(self.noise * random.standard_normal(len(slowed)))
        sizes = [size for size in self.sizes for _ in range(repeats)]
        return [Point(size, self.seconds(size) * a * b) for size, a, b in zip(sizes, noise, slowed, strict=True)]


def drawn(seed: int) -> Curve:
    """Return a random curve: any law, any of the sizes, start-up from nothing to nearly everything, 1 to 20 % noise."""
    random = np.random.default_rng(10_000 + seed)
    law = list(GROWTHS)[int(random.integers(len(GROWTHS)))]
    sizes = SIZES[int(random.integers(len(SIZES)))]
    share = 10 ** random.uniform(-5, 0) if random.random() < 0.7 else 1 - 10 ** random.uniform(-3, -0.3)
    return Curve(law, sizes, float(share), float(10 ** random.uniform(-2, -0.7)))
