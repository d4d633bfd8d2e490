"""The primary bottleneck is one of the active ones and does not flap."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.scores.primary_bottleneck import (
    NONE,
    SETTLED_SECONDS,
    PrimaryBottleneck,
    active_by_host,
)
from flyball_collector.diagnosis.subject import Subject, subjects

CPU, DISK, MEMORY = range(3)
HOSTS = subjects([Subject("a")], [0])
DWELL = 60.0
LINE = tuple[float, float, float]


def chosen(*scores: LINE, active: tuple[bool, ...] | None = None) -> list[int]:
    """Return the primary of each second of these scores. By default, scores above zero are active."""
    primary = PrimaryBottleneck(dead_band=0.1, dwell_seconds=DWELL)
    found = []
    for second, line in enumerate(scores):
        is_active = np.array([active if active is not None else [score > 0 for score in line]])
        found.append(int(primary.choose(HOSTS, is_active, np.array([line]), float(second))[0]))
    return found


def changes(seen: list[int]) -> int:
    """Count the changes."""
    return sum(one != other for one, other in pairwise(seen))


def test_the_largest_active_one_is_primary_at_once() -> None:
    """A condition has lasted for some seconds when it becomes active."""
    assert chosen((0.2, 0.5, 0.0)) == [DISK]


def test_an_inactive_one_is_never_primary() -> None:
    """However large its score is; an active one comes first even if its score is unknown."""
    assert chosen((0.9, 0.1, 0.2), active=(False, True, False)) == [DISK]
    assert chosen((0.9, float("nan"), 0.2), active=(False, True, False)) == [DISK]
    assert chosen((0.9, 0.9, 0.9), active=(False, False, False)) == [NONE]


def test_a_cleared_primary_is_replaced_in_the_same_second() -> None:
    """The largest active one follows, or none."""
    assert chosen((0.9, 0.1, 0.2), (0.9, 0.1, 0.2), (0.0, 0.1, 0.2), (0.0, 0.0, 0.0)) == [CPU, CPU, MEMORY, NONE]


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.3), st.floats(0.0, 0.3), st.floats(20.0, 600.0))
def test_steady_load_changes_it_once_in_ten_minutes_at_most(
    seed: int, noise: float, sway: float, period: float
) -> None:
    """Two have about the same size, with noise and with waves as long as the dwell time and longer."""
    jitter = np.random.default_rng(seed).uniform(-noise, noise, 600) + sway * np.sin(
        2 * np.pi * np.arange(600) / period
    )
    assert changes(chosen(*[(0.6, 0.6 + more, 0.0) for more in jitter])) <= 1


def test_another_takes_over_if_it_is_larger_for_long() -> None:
    """It must be ten per cent larger for the dwell time without a break."""
    before, after = (0.5, 0.3, 0.0), (0.5, 0.6, 0.0)
    seen = chosen(*[before] * 10, *[after] * 50, before, *[after] * 70)
    assert DISK not in seen[:120]
    assert seen[-1] == DISK


def test_soon_after_a_change_another_must_be_twice_as_large() -> None:
    """A fluctuating load keeps its primary; a load that has changed for good does not."""
    first, second, third = (0.5, 0.2, 0.1), (0.3, 0.5, 0.2), (0.9, 0.5, 0.2)
    seen = chosen(*[first] * 10, *[second] * 70, *[third] * 500)
    assert changes(seen) == 1
    assert chosen(*[first] * 10, *[second] * 70, *[(1.1, 0.5, 0.2)] * 70)[-1] == CPU
    late = chosen(*[first] * 10, *[second] * (70 + int(SETTLED_SECONDS)), *[third] * 70)
    assert late[-1] == CPU


def test_a_condition_of_a_gpu_counts_for_its_host() -> None:
    """It is active for the host if it is active for any of its GPUs."""
    hosts = subjects([Subject("a"), Subject("b")], [0, 1])
    gpus = subjects([Subject("a", "0"), Subject("b", "0"), Subject("b", "1")], [0, 1, 1])
    flags = {
        "bottleneck_cpu": (hosts, np.array([True, False])),
        "bottleneck_pcie": (gpus, np.array([False, False, True])),
    }
    assert active_by_host(["cpu", "pcie"], hosts, flags.__getitem__).tolist() == [[True, False], [False, True]]
