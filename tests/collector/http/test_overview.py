"""The overview of the fleet."""

import numpy as np

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.http.diagnosis_testing import diagnosed
from flyball_collector.http.overview import make_overview
from flyball_collector.http.status import Status
from flyball_collector.http.testing import MachineDouble, WallClock, fetch, make_parts, serving
from tests.counted import calls_of


async def test_values_are_in_the_order_of_names() -> None:
    """There is one value for each host, and one for each GPU. Missing values are null."""
    parts = make_parts()
    for name, gpus in (("b", 2), ("a", 0), ("c", 1)):
        parts.fleet.apply(MachineDouble(name, gpus).tick(0, parts.clock(), unknown=("gpu_temperature_celsius",)))
    parts.fleet.ensure("d")
    async with serving(parts) as url:
        answer = (await fetch(f"{url}/api/v1/overview")).json()
    assert answer["hosts"] == {"names": ["a", "b", "c", "d"], "gpus": [0, 2, 1, 0]}
    assert answer["status"] == [0, 0, 0, 3]
    assert answer["cpu_ratio"][3] is None
    assert 0 < answer["cpu_ratio"][0] < 1
    assert answer["gpu_memory_ratio"] == [0.62, 0.65, 0.62]
    assert answer["gpu_temperature_celsius"] == [None, None, None]


async def test_names_are_sent_once() -> None:
    """A caller with the current generation gets only values, until a host is added or removed."""
    clock = WallClock()
    parts = make_parts(clock=clock)
    parts.fleet.apply(MachineDouble("a", 1).tick(0, clock()))
    async with serving(parts) as url:
        first = (await fetch(f"{url}/api/v1/overview")).json()
        again = (await fetch(f"{url}/api/v1/overview?generation={first['generation']}")).json()
        assert "hosts" not in again
        parts.fleet.ensure("b")
        clock.now_ns += 10**9
        later = (await fetch(f"{url}/api/v1/overview?generation={first['generation']}")).json()
    assert later["hosts"]["names"] == ["a", "b"]


async def test_diagnosis_by_host() -> None:
    """Each host has its highest severity and primary bottleneck. The most severe conditions come first."""
    async with serving(diagnosed()) as url:
        answer = (await fetch(f"{url}/api/v1/overview")).json()
    assert answer["hosts"]["names"] == ["a", "b", "c"]
    assert answer["attention"] == [3, 2, 0]
    assert answer["active"] == {"critical": 1, "warning": 2, "info": 1}
    assert [entry["kind"] for entry in answer["worst"]] == ["memory_exhaustion", "disk_full", "straggler"]


def test_a_large_fleet_is_cheap() -> None:
    """An overview of 2,048 hosts with 8 GPUs takes a small share of a core each second."""
    fleet = Fleet(4096)
    machine = MachineDouble("x", 8)
    tick = machine.tick(0, 10**18)
    for number in range(2048):
        tick.host = f"host-{number:04d}"
        fleet.apply(tick)
    statuses = [Status.UP] * 2048
    make_overview(fleet.snapshot(10**18), statuses, 10**18, warming=False)
    overview = make_overview(fleet.snapshot(10**18), statuses, 10**18, warming=False)
    assert calls_of(lambda: make_overview(fleet.snapshot(10**18), statuses, 10**18, warming=False)) < 15 * 2048
    assert len(overview.gpu_power_watts) == 2048 * 8
    assert not np.isnan(overview.gpu_power_watts).any()
