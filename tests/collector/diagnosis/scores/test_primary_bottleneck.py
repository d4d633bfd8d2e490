"""The primary bottleneck is one of the active ones and does not flap."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_collector.diagnosis.scores.primary_bottleneck import (
    CLEARLY_LARGER,
    NONE,
    SETTLED_SECONDS,
    PrimaryBottleneck,
    active_by_host,
)
from flyball_collector.diagnosis.subject import Subject, subjects

CPU, DISK, MEMORY = range(3)
HOSTS = subjects([Subject("a")], [0])
DWELL = 10.0
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


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.05), st.floats(20.0, 600.0))
def test_two_of_about_the_same_size_never_change_places(seed: int, sway: float, period: float) -> None:
    """Noise and waves below the dead band change nothing, however long they last."""
    noise = np.random.default_rng(seed).uniform(-0.01, 0.01, 600)
    waves = sway * np.sin(2 * np.pi * np.arange(600) / period)
    assert changes(chosen(*[(0.6, 0.6 + more, 0.0) for more in noise + waves])) == 0


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(12, 40), *[st.floats(0.05, 1.0)] * 3), min_size=1, max_size=5))
def test_it_never_hides_for_long_that_another_one_costs_more(spells: list[tuple[int, float, float, float]]) -> None:
    """Whatever happened before: after the dwell time, what the primary one costs is close to the largest."""
    lines = [scores for seconds, *scores in spells for _ in range(seconds)]
    seen = chosen(*[(cpu, disk, memory) for cpu, disk, memory in lines])
    last = 0
    for seconds, *scores in spells:
        last += seconds
        assert scores[seen[last - 1]] >= max(scores) / CLEARLY_LARGER


def test_another_takes_over_if_it_is_larger_for_the_dwell_time() -> None:
    """It must be ten per cent larger without a break."""
    before, after = (0.5, 0.3, 0.0), (0.5, 0.6, 0.0)
    seen = chosen(*[before] * 10, *[after] * 8, before, *[after] * 11)
    assert DISK not in seen[:29]
    assert seen[-1] == DISK


def test_the_one_that_costs_twice_as_much_is_named_soon_after_a_change() -> None:
    """CPU at 41 % is not named while the network costs 77 %, even if the primary one has changed a minute ago."""
    network, cpu = (0.41, 0.77, 0.0), (0.6, 0.3, 0.0)
    seen = chosen(*[(0.2, 0.5, 0.0)] * 20, *[cpu] * 60, *[network] * 20)
    assert seen[20 + 60 - 1] == CPU
    assert seen[20 + 60 + 11] == DISK


def test_soon_after_a_change_a_slightly_larger_one_does_not_take_over() -> None:
    """A load that fluctuates keeps its primary; ten minutes later, ten per cent are enough."""
    first, second, third = (0.5, 0.2, 0.1), (0.3, 0.5, 0.2), (0.58, 0.5, 0.2)
    assert changes(chosen(*[first] * 10, *[second] * 20, *[third] * 500)) == 1
    late = chosen(*[first] * 10, *[second] * (20 + int(SETTLED_SECONDS)), *[third] * 20)
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
