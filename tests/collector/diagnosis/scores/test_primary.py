"""The primary bottleneck: it does not flap."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.primary import LET_GO_SECONDS, NONE, SETTLE_SECONDS, Primary
from flyball_collector.diagnosis.subject import Subject, subjects

KINDS = tuple(BY_NAME[f"bottleneck_{name}"] for name in ("cpu", "disk", "memory", "service"))
CPU, DISK, MEMORY, SERVICE = range(4)
HOSTS = subjects([Subject("a")], [0])
DWELL = 60.0


def chosen(*weights: tuple[float, ...], every: float = 1.0) -> list[int]:
    """What is primary at each second of these weights."""
    primary = Primary(KINDS, dead_band=0.1, dwell_seconds=DWELL)
    return [int(primary.choose(HOSTS, np.array([line]), every * second)[0]) for second, line in enumerate(weights)]


def test_the_largest_becomes_primary_once_it_has_stood() -> None:
    """Not at its first second."""
    seen = chosen(*[(0.2, 0.5, 0.0, 0.0)] * 10)
    assert seen[: int(SETTLE_SECONDS)] == [NONE] * int(SETTLE_SECONDS)
    assert seen[-1] == DISK


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.3))
def test_noise_in_steady_load_changes_nothing(seed: int, noise: float) -> None:
    """Two that are about as large: at most one change in ten minutes."""
    jitter = np.random.default_rng(seed).uniform(-noise, noise, 600)
    seen = chosen(*[(0.5, 0.5 + more, 0.0, 0.0) for more in jitter])
    assert sum(a != b for a, b in pairwise(seen[10:])) <= 1


def test_another_takes_over_when_it_is_clearly_larger_for_long() -> None:
    """Ten percent more, for the dwelling time without a break."""
    before, after = (0.5, 0.3, 0.0, 0.0), (0.5, 0.6, 0.0, 0.0)
    seen = chosen(*[before] * 10, *[after] * 50, before, *[after] * 70)
    assert DISK not in seen[:120]
    assert seen[-1] == DISK


def test_one_that_is_over_is_let_go() -> None:
    """After as long as its condition stands, whatever else there is."""
    seen = chosen(*[(0.5, 0.0, 0.0, 0.0)] * 10, *[(0.0,) * 4] * 40)
    assert seen[10 + int(LET_GO_SECONDS) - 2] == CPU
    assert seen[-1] == NONE
    seen = chosen(*[(0.5, 0.0, 0.0, 0.0)] * 10, *[(0.0, 0.2, 0.0, 0.0)] * 40)
    assert seen[-1] == DISK


def test_what_another_explains_is_never_primary() -> None:
    """A disk that is busy because memory is short."""
    assert chosen(*[(0.0, 0.9, 0.3, 0.0)] * 10)[-1] == MEMORY
