"""Tests of how data reach a training."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.catalogue.machines import machine
from flyball_planner.interval import Interval
from flyball_planner.layouts.columns import Layout
from flyball_planner.timing.loading import LOADER, PREPARING, STORAGE, Loaded, Loading, load

NODE = machine("H100 SXM", 8)
STEP = Interval(0.8, 1.0, 1.3)


def loaded(loading: Loading, batch: int = 1000, devices: int = 8, tensor: int = 1) -> Loaded:
    """The data of a step on so many devices."""
    found = load(loading, batch, Layout(devices=devices, tensor=tensor), machine("H100 SXM", devices))
    assert found is not None
    return found


def test_the_slowest_stage_bounds_the_loader() -> None:
    """Storage, processors and a measured rate are compared in samples a second."""
    every = Loading(
        samples_per_second=4000, bytes_a_sample=1e6, storage_bytes_per_second=2e9, core_seconds_a_sample=0.01, workers=2
    )
    found = loaded(every)
    assert found.rates == pytest.approx({LOADER: 4000, STORAGE: 2000, PREPARING: 1600})
    assert found.bound_by == PREPARING
    assert found.seconds == pytest.approx(1000 / 1600)


def test_a_prefetching_loader_hides_behind_the_step() -> None:
    """Of loading and computing the slower one counts, at each end of the interval."""
    quick, slow = loaded(Loading(samples_per_second=2000)), loaded(Loading(samples_per_second=900))
    assert quick.with_step(STEP) == STEP
    assert quick.wait(1.0) == 0
    assert slow.with_step(STEP) == Interval(1000 / 900, 1000 / 900, 1.3)
    assert slow.wait(1.0) == pytest.approx(1 / 9)


def test_without_workers_loading_and_computing_add_up() -> None:
    """The training process does one after the other."""
    found = loaded(Loading(core_seconds_a_sample=0.004, workers=0))
    assert found.seconds == pytest.approx(0.5)
    assert found.with_step(STEP) == Interval(1.3, 1.5, 1.8)
    assert found.wait(1.0) == pytest.approx(0.5)


def test_a_replica_over_several_nodes_reads_its_samples_once() -> None:
    """Sixteen devices in two nodes: each loads half; as one replica of sixteen, one node loads all."""
    rate = Loading(samples_per_second=1000)
    assert loaded(rate, devices=16).samples == 500
    assert loaded(rate, devices=16, tensor=16).samples == 1000


def test_what_is_not_known_costs_nothing() -> None:
    """No stage's rate is told."""
    assert load(Loading(bytes_a_sample=1e6), 100, Layout(devices=8), NODE) is None


@given(st.floats(1, 1e5), st.floats(0.01, 10), st.integers(1, 64))
def test_no_loader_makes_a_step_shorter(rate: float, step: float, workers: int) -> None:
    """Whatever the loader does, a step takes at least its computation and at least its loading."""
    found = loaded(Loading(samples_per_second=rate, core_seconds_a_sample=0.001, workers=workers))
    whole = found.with_step(Interval.exactly(step)).middle
    assert whole == max(step, found.seconds)
    assert found.wait(step) == pytest.approx(whole - step, abs=1e-9)
