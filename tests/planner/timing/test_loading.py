"""Tests of the time to load training data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.catalogue.machines import machine
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.timing.loading import LOADER, PREPARING, STORAGE, Loading, LoadingTime, load

NODE = machine("H100 SXM", 8)
STEP = Interval(0.8, 1.0, 1.3)


def loading_time(loading: Loading, batch: int = 1000, devices: int = 8, tensor: int = 1) -> LoadingTime:
    """Return the time to load the data of one step."""
    found = load(loading, batch, ParallelLayout(devices=devices, tensor=tensor), machine("H100 SXM", devices))
    assert found is not None
    return found


def test_the_slowest_stage_limits_the_loader() -> None:
    """Storage, CPU and a measured rate are compared in samples/s."""
    all_stages = Loading(
        samples_per_second=4000,
        bytes_per_sample=1e6,
        storage_bytes_per_second=2e9,
        core_seconds_per_sample=0.01,
        workers=2,
    )
    found = loading_time(all_stages)
    assert found.rates == pytest.approx({LOADER: 4000, STORAGE: 2000, PREPARING: 1600})
    assert found.slowest_stage == PREPARING
    assert found.seconds == pytest.approx(1000 / 1600)


def test_a_prefetching_loader_overlaps_with_the_step() -> None:
    """The slower of loading and computing counts, at each end of the interval."""
    quick, slow = loading_time(Loading(samples_per_second=2000)), loading_time(Loading(samples_per_second=900))
    assert quick.with_step(STEP) == STEP
    assert quick.wait(1.0) == 0
    assert slow.with_step(STEP) == Interval(1000 / 900, 1000 / 900, 1.3)
    assert slow.wait(1.0) == pytest.approx(1 / 9)


def test_without_workers_loading_and_computing_add_up() -> None:
    """Without workers the training process loads and then computes."""
    found = loading_time(Loading(core_seconds_per_sample=0.004, workers=0))
    assert found.seconds == pytest.approx(0.5)
    assert found.with_step(STEP) == Interval(1.3, 1.5, 1.8)
    assert found.wait(1.0) == pytest.approx(0.5)


def test_more_workers_than_cores_prepare_no_faster() -> None:
    """Without stated cores a node has sixteen for each device; with stated ones their number limits the workers."""
    many = Loading(core_seconds_per_sample=0.01, workers=64)
    assert loading_time(many).workers == 16 * 8
    few = load(many, 1000, ParallelLayout(devices=8), replace(NODE, host_cores=48))
    assert few is not None
    assert few.workers == 48


def test_a_replica_over_several_nodes_reads_its_samples_once() -> None:
    """Two nodes with their own replicas load half of the samples each; one replica over both loads all on one node."""
    rate = Loading(samples_per_second=1000)
    assert loading_time(rate, devices=16).samples == 500
    assert loading_time(rate, devices=16, tensor=16).samples == 1000


def test_unknown_rates_give_no_loading_time() -> None:
    """If no stage has a known rate, there is no loading time."""
    assert load(Loading(bytes_per_sample=1e6), 100, ParallelLayout(devices=8), NODE) is None


@given(st.floats(1, 1e5), st.floats(0.01, 10), st.integers(1, 64))
def test_no_loader_makes_a_step_shorter(rate: float, step: float, workers: int) -> None:
    """A step takes at least as long as its computation and as its loading."""
    found = loading_time(Loading(samples_per_second=rate, core_seconds_per_sample=0.001, workers=workers))
    total = found.with_step(Interval.exactly(step)).middle
    assert total == max(step, found.seconds)
    assert found.wait(step) == pytest.approx(total - step, abs=1e-9)
