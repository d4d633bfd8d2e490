"""Tests of sweeps on a Dask cluster with a scheduler and two worker processes on this machine."""

from collections.abc import Iterator

import dask
import pytest
from distributed import Client, LocalCluster

from flyball_planner.scaling.measurement import measure_sizes
from flyball_planner.sweep.configurations import grid
from flyball_planner.sweep.runner import run_sweep
from tests.planner.sweep import tasks

DEPTHS = grid({"depth": range(3, 8)})


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Yield a client of a cluster that fails a task as soon as its worker dies."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,  # type: ignore[no-untyped-call]
        Client(cluster) as connected,  # type: ignore[no-untyped-call]
    ):
        yield connected


def test_every_configuration_is_tried_on_the_cluster(client: Client) -> None:
    """All outcomes are returned in the order of the configurations."""
    outcomes = run_sweep(tasks.count, DEPTHS, open_executor=client.get_executor, at_once=2)
    assert [outcome.configuration for outcome in outcomes] == list(DEPTHS)
    assert [outcome.patterns for outcome in outcomes] == [100 * depth for depth in range(3, 8)]


def test_a_dead_worker_fails_one_configuration(client: Client) -> None:
    """The cluster replaces the worker and the sweep continues."""
    outcomes = run_sweep(tasks.die_at_five, DEPTHS, open_executor=client.get_executor)
    failures = {outcome.configuration["depth"]: outcome.failure for outcome in outcomes if outcome.failure}
    assert list(failures) == [5]
    assert "KilledWorker" in failures[5]
    assert [outcome.patterns for outcome in outcomes] == [3, 4, 0, 6, 7]


def test_growing_sizes_run_on_the_cluster(client: Client) -> None:
    """The scaling analysis accepts the same executors."""
    points = measure_sizes(tasks.count_samples, (10, 20, 30), repeats=2, open_executor=client.get_executor)
    assert [point.size for point in points] == [10, 10, 20, 20, 30, 30]
