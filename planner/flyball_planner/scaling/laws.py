"""The laws by which a run's time may grow with its size."""

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class Law(Struct, frozen=True):
    """The growth of a part of the time; another part may be constant."""

    name: str
    growth: Callable[[Numbers], Numbers]


CONSTANT = Law("O(1)", np.ones_like)
LAWS: tuple[Law, ...] = (
    CONSTANT,
    Law("O(log n)", np.log),
    Law("O(n)", lambda sizes: sizes),
    Law("O(n log n)", lambda sizes: sizes * np.log(sizes)),
    Law("O(n²)", lambda sizes: sizes**2),
    Law("O(n³)", lambda sizes: sizes**3),
)
