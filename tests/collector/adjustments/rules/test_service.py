"""A learner that waits for a service."""

import pytest

from tests.collector.adjustments.rules.runs import event, find, host, situation, to_of, value

WAITS = {"gpus": 0, "gpu_busy_share": None, "service_share": 0.9, "calls_per_sample": 100.0, "call_seconds": 0.01}


@pytest.mark.parametrize(("now", "calls", "to"), [
    (1, 100.0, 50), (1, 30.0, 10), (10, 10.0, 50), (1, 4.0, None), (50, 2.0, None), (100, 10.0, None), (1, None, 10),
])  # fmt: skip
def test_calls_are_batched_until_a_sample_needs_few(now: int, calls: float | None, to: int | None) -> None:
    """The smallest number of items is chosen with which a sample needs at most four calls, in one change."""
    found = situation(**(WAITS | {"calls_per_sample": calls}))
    assert to_of(find("batch_calls", [value("calls_per_batch", now)], found)) == to


def test_the_gain_of_batching_follows_from_the_share_of_the_calls() -> None:
    """With 90 % of the time in a hundred calls, two calls are between 1.8 and 8.5 times as fast."""
    change = find("batch_calls", [value("calls_per_batch")], situation(**WAITS))
    assert change is not None
    assert change.gain is not None
    assert change.gain == pytest.approx((1 / (0.55 + 0.45 * 0.02), 1 / (0.1 + 0.9 * 0.02)), rel=0.05)


@pytest.mark.parametrize(("facts", "expects"), [
    ({}, True), ({"service_share": 0.15}, False), ({"service_share": None}, False),
    ({"gpus": 1, "gpu_busy_share": 0.9}, False), ({"gpus": 1, "gpu_busy_share": 0.3}, True),
    ({"gpus": 1, "gpu_busy_share": None}, False),
])  # fmt: skip
def test_calls_count_only_as_far_as_they_cost_time(facts: dict[str, float | None], expects: bool) -> None:
    """A small or unknown share, or a GPU that works meanwhile, leads to no change of any of the three levers."""
    found = situation(**(WAITS | facts))
    rules = {"batch_calls": "calls_per_batch", "grow_pool": "pool", "add_workers": "workers"}
    assert {find(rule, [value(lever)], found) is not None for rule, lever in rules.items()} == {expects}


@pytest.mark.parametrize(("waits", "to"), [(0.3, 8), (0.01, None), (None, 8)])
def test_a_pool_grows_unless_it_is_known_to_be_large_enough(waits: float | None, to: int | None) -> None:
    """Calls that wait for connections, or of which this is unknown, get the next larger pool."""
    found = situation(**WAITS, hosts=(host(pool_wait_share=waits),))
    assert to_of(find("grow_pool", [value("pool")], found)) == to


@pytest.mark.parametrize(("share", "now", "to"), [(0.9, 1, 4), (0.9, 2, 8), (0.9, 8, None), (0.3, 1, 2), (0.3, 4, 8)])
def test_workers_are_multiplied(share: float, now: int, to: int | None) -> None:
    """Each change at most doubles the workers; where most time passes in calls, it multiplies them by four."""
    found = situation(**(WAITS | {"service_share": share}))
    assert to_of(find("add_workers", [value("workers", now)], found)) == to


@pytest.mark.parametrize(("pool", "workers", "larger_pool", "more_workers"), [
    (1, 1, 4, None), (4, 1, 8, 4), (4, 4, 16, None), (16, 4, None, 8), (8, 2, 16, 8),
])  # fmt: skip
def test_a_pool_comes_before_the_workers_that_need_it(
    pool: int, workers: int, larger_pool: int | None, more_workers: int | None
) -> None:
    """Workers get no more than the connections serve; a pool that is too small for more of them is enlarged first."""
    values = [value("pool", pool, choices=(1, 2, 4, 8, 16)), value("workers", workers)]
    found = situation(**WAITS)
    change = find("grow_pool", values, found)
    assert to_of(change) == larger_pool
    assert change is None or ("need more than" in change.because) is (pool < 4 * workers)
    assert to_of(find("add_workers", values, found)) == more_workers


def test_a_pool_that_cannot_grow_does_not_limit_the_workers() -> None:
    """At its largest choice, or blocked, only the measured effect limits them."""
    found = situation(**WAITS)
    assert to_of(find("add_workers", [value("pool", 1, choices=(1,)), value("workers")], found)) == 4
    assert to_of(find("add_workers", [value("pool", 1, blocked="busy"), value("workers")], found)) == 4


def test_workers_bring_nothing_on_a_busy_core() -> None:
    """If computing takes the rest of the time on the only core, the expected gain is limited by that core."""
    busy = situation(**(WAITS | {"service_share": 0.3}), hosts=(host(cores=1.0, cpu_busy_share=0.7),))
    change = find("add_workers", [value("workers")], busy)
    assert change is not None
    assert change.gain is not None
    assert change.gain[1] == pytest.approx(1.0 / 0.7)


def test_workers_need_memory() -> None:
    """None are added under memory pressure."""
    assert find("add_workers", [value("workers")], situation(event("memory_pressure"), **WAITS)) is None
