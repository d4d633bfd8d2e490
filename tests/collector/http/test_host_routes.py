"""Hosts over HTTP."""

import asyncio

import pytest

from flyball_collector.blocks.testing import small_block
from flyball_collector.http.testing import MachineDouble, WallClock, denied, fetch, inventory_of, make_parts, serving
from flyball_collector.store.memory import MemoryStore
from flyball_proto.v1 import telemetry_pb2 as pb

OPERATOR = {"X-Flyball-Operator": "1"}


async def test_hosts_are_listed_with_their_state() -> None:
    """Hosts are up, not_reporting or waiting. Filters and pages work."""
    clock = WallClock()
    parts = make_parts(clock=clock)
    for seed, name in enumerate(("b", "a")):
        parts.fleet.apply(MachineDouble(name, 1, seed=seed).tick(0, clock.now_ns - seed * 60 * 10**9))
    parts.fleet.ensure("c")
    async with serving(parts) as url:
        answer = (await fetch(f"{url}/api/v1/hosts")).json()
        assert [(host["name"], host["status"]) for host in answer["hosts"]] == [
            ("a", "not_reporting"),
            ("b", "up"),
            ("c", "waiting"),
        ]
        assert answer["hosts"][2]["last_report"] is None
        stopped = (await fetch(f"{url}/api/v1/hosts?status=not_reporting")).json()
        assert [host["name"] for host in stopped["hosts"]] == ["a"]
        page = (await fetch(f"{url}/api/v1/hosts?sort=name&descending=true&offset=1&limit=1")).json()
        assert (page["total"], [host["name"] for host in page["hosts"]]) == (3, ["b"])


async def test_one_host() -> None:
    """Unavailable readings have a remedy, the inventory only set fields, and processes their run and GPU memory."""
    parts = make_parts()
    machine = MachineDouble("a", 1)
    state = parts.fleet.ensure("a")
    state.unavailable = (denied(),)
    state.inventory = inventory_of(machine)
    state.tenancy = pb.Tenancy(members=[pb.Member(pid=7, run="r", user="ada", gpus=machine.gpus)])
    tick = machine.tick(0, 1)
    processes = [pb.GpuProcess(gpu=machine.gpus[0], pid=7, memory_used_bytes=2**40)]
    steps = [pb.StepReport(run="r", step=5, steps=2, step_seconds=1.0)]
    tick.extras = pb.Record(gpu_processes=processes, steps=steps).SerializeToString()
    tick.received_ns = parts.clock()
    parts.fleet.apply(tick)
    async with serving(parts) as url:
        answer = (await fetch(f"{url}/api/v1/hosts/a")).json()
    assert answer["unavailable"][0]["reason"] == "denied"
    assert "CAP_DAC_READ_SEARCH" in answer["unavailable"][0]["remedy"]
    assert answer["inventory"]["memory_bytes"] == 512 * 2**30
    assert "power_limit_watts" not in answer["inventory"]["gpus"][0]
    assert answer["processes"][0]["gpu_memory_bytes"] == 2**40
    assert answer["runs"][0]["mean_step_seconds"] == 0.5


async def test_an_unknown_reading_is_null_with_its_reason() -> None:
    """The value is null, not zero, and the unavailable reading that explains it is included."""
    parts = make_parts()
    parts.fleet.apply(MachineDouble("a", 1).tick(0, parts.clock(), unknown=("cpu_busy_ratio",)))
    unavailable_reading = denied()
    parts.fleet.ensure("a").unavailable = (
        type(unavailable_reading)("cpu", "", "", unavailable_reading.reason, "no /proc/stat", "mount /proc"),
    )
    async with serving(parts) as url:
        answer = (await fetch(f"{url}/api/v1/hosts/a/latest")).json()
    readings = {each["metric"]: each for each in answer["readings"]}
    assert readings["cpu_busy_ratio"]["value"] is None
    assert readings["cpu_busy_ratio"]["why"]["remedy"] == "mount /proc"
    assert readings["memory_total_bytes"]["value"] == 512 * 2**30
    assert readings["memory_total_bytes"]["why"] is None
    assert readings["gpu_utilization_ratio"]["labels"] == {"gpu": "GPU-0000-00"}


async def test_the_live_answer_has_columns_once() -> None:
    """A caller with a current `seen` gets only values. A changed layout returns the columns again."""
    parts = make_parts()
    parts.fleet.apply(MachineDouble("a", 1).tick(0, parts.clock()))
    async with serving(parts) as url:
        first = (await fetch(f"{url}/api/v1/hosts/a/live")).json()
        second = (await fetch(f"{url}/api/v1/hosts/a/live?seen={first['seen']}")).json()
        parts.fleet.apply(MachineDouble("a", 2).tick(1, parts.clock()))
        third = (await fetch(f"{url}/api/v1/hosts/a/live?seen={first['seen']}")).json()
    assert len(first["columns"]) == len(first["values"])
    assert "columns" not in second
    assert "inventory" not in second
    assert len(third["columns"]) == len(third["values"]) > len(first["values"])


async def test_an_unknown_host_returns_similar_names() -> None:
    """The error suggests the intended name."""
    parts = make_parts()
    parts.fleet.ensure("gpu-node-17")
    async with serving(parts) as url:
        for path in ("", "/latest", "/live", "/series?metric=x"):
            answer = await fetch(f"{url}/api/v1/hosts/gpu-nod-17{path}")
            assert answer.status == 404
            assert answer.json()["error"]["code"] == "unknown_host"
            assert "gpu-node-17" in answer.json()["error"]["hint"]


async def test_a_removed_host_is_gone_everywhere() -> None:
    """Removal deletes the live state, buffered rows and stored blocks. A connected host is not removed."""
    store = MemoryStore()
    store.put_blocks([small_block("a")])
    forgotten: list[str] = []
    parts = make_parts(store)
    parts = type(parts)(**{name: getattr(parts, name) for name in parts.__slots__} | {"forget_host": forgotten.append})
    parts.fleet.ensure("a").connected = True
    async with serving(parts) as url:
        assert (await fetch(f"{url}/api/v1/hosts/a", method="DELETE", headers=OPERATOR)).status == 409
        parts.fleet.ensure("a").connected = False
        removed = await fetch(f"{url}/api/v1/hosts/a", method="DELETE", headers=OPERATOR)
        assert removed.json() == {"host": "a", "blocks": 1}
        assert (await fetch(f"{url}/api/v1/hosts/a", method="DELETE", headers=OPERATOR)).status == 404
    assert parts.fleet.get("a") is None
    assert forgotten == ["a", "a"]
    assert not list(store.read_blocks("a", 0, 2**62))


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=100000", "offset=-1", "sort=nonsense", "status=broken", "descending=perhaps"]
)
async def test_an_invalid_parameter_is_an_error(query: str) -> None:
    """The answer is one JSON error that names the parameter, without a traceback."""
    async with serving(make_parts()) as url:
        answer = await fetch(f"{url}/api/v1/hosts?{query}")
    assert answer.status == 400
    assert query.partition("=")[0] in answer.json()["error"]["what"]
    assert b"Traceback" not in answer.body


async def test_concurrent_requests() -> None:
    """A hundred concurrent callers are all answered."""
    parts = make_parts()
    parts.fleet.apply(MachineDouble("a", 8).tick(0, parts.clock()))
    async with serving(parts) as url:
        answers = await asyncio.gather(*(fetch(f"{url}/api/v1/hosts/a/latest") for _ in range(100)))
    assert {answer.status for answer in answers} == {200}
