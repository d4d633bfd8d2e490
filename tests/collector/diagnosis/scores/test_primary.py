"""The primary bottleneck: one of those that stand, and it does not flap."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.scores.primary import NONE, SETTLED_SECONDS, Primary, stand_by_host
from flyball_collector.diagnosis.subject import Subject, subjects

CPU, DISK, MEMORY = range(3)
HOSTS = subjects([Subject("a")], [0])
DWELL = 60.0
LINE = tuple[float, float, float]


def chosen(*scores: LINE, active: tuple[bool, ...] | None = None) -> list[int]:
    """What is primary at each second of these scores; what scores nothing does not stand, unless it is said."""
    primary = Primary(dead_band=0.1, dwell_seconds=DWELL)
    found = []
    for second, line in enumerate(scores):
        stands = np.array([active if active is not None else [score > 0 for score in line]])
        found.append(int(primary.choose(HOSTS, stands, np.array([line]), float(second))[0]))
    return found


def changes(seen: list[int]) -> int:
    """How often it changed."""
    return sum(one != other for one, other in pairwise(seen))


def test_the_largest_of_what_stands_is_primary_at_once() -> None:
    """To stand it has lasted for some seconds already."""
    assert chosen((0.2, 0.5, 0.0)) == [DISK]


def test_what_does_not_stand_is_never_primary() -> None:
    """However large its score is; and what stands comes first even where its score is unknown."""
    assert chosen((0.9, 0.1, 0.2), active=(False, True, False)) == [DISK]
    assert chosen((0.9, float("nan"), 0.2), active=(False, True, False)) == [DISK]
    assert chosen((0.9, 0.9, 0.9), active=(False, False, False)) == [NONE]


def test_what_no_longer_stands_goes_in_that_second() -> None:
    """To the largest that stands, or to none."""
    assert chosen((0.9, 0.1, 0.2), (0.9, 0.1, 0.2), (0.0, 0.1, 0.2), (0.0, 0.0, 0.0)) == [CPU, CPU, MEMORY, NONE]


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.3), st.floats(0.0, 0.3), st.floats(20.0, 600.0))
def test_steady_load_changes_it_once_in_ten_minutes_at_most(
    seed: int, noise: float, sway: float, period: float
) -> None:
    """Two that are about as large, with noise and with waves as long as the dwelling time and longer."""
    jitter = np.random.default_rng(seed).uniform(-noise, noise, 600) + sway * np.sin(
        2 * np.pi * np.arange(600) / period
    )
    assert changes(chosen(*[(0.6, 0.6 + more, 0.0) for more in jitter])) <= 1


def test_another_takes_over_when_it_is_larger_for_long() -> None:
    """Ten percent more, for the dwelling time without a break."""
    before, after = (0.5, 0.3, 0.0), (0.5, 0.6, 0.0)
    seen = chosen(*[before] * 10, *[after] * 50, before, *[after] * 70)
    assert DISK not in seen[:120]
    assert seen[-1] == DISK


def test_soon_after_a_change_only_twice_as_much_takes_over() -> None:
    """A load that sways keeps its primary; one that has changed for good does not."""
    first, second, third = (0.5, 0.2, 0.1), (0.3, 0.5, 0.2), (0.9, 0.5, 0.2)
    seen = chosen(*[first] * 10, *[second] * 70, *[third] * 500)
    assert changes(seen) == 1
    assert chosen(*[first] * 10, *[second] * 70, *[(1.1, 0.5, 0.2)] * 70)[-1] == CPU
    late = chosen(*[first] * 10, *[second] * (70 + int(SETTLED_SECONDS)), *[third] * 70)
    assert late[-1] == CPU


def test_a_host_stands_for_its_gpus() -> None:
    """What stands for any GPU stands for its host."""
    hosts = subjects([Subject("a"), Subject("b")], [0, 1])
    gpus = subjects([Subject("a", "0"), Subject("b", "0"), Subject("b", "1")], [0, 1, 1])
    flags = {
        "bottleneck_cpu": (hosts, np.array([True, False])),
        "bottleneck_pcie": (gpus, np.array([False, False, True])),
    }
    assert stand_by_host(["cpu", "pcie"], hosts, flags.__getitem__).tolist() == [[True, False], [False, True]]
