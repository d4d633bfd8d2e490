"""Tests of the inventory of a host without procfs."""

import os
import platform
from pathlib import Path

import pytest

from flyball_agent.inventory.host_inventory import read_inventory
from flyball_agent.inventory.portable_inventory import complete, power_source
from flyball_agent.settings import AgentSettings
from flyball_proto.v1 import telemetry_pb2 as pb


def test_describes_a_host_without_procfs(tmp_path: Path) -> None:
    """Processor, memory, system and boot time are the same as with procfs. Unknown fields stay empty."""
    settings = AgentSettings(root=str(tmp_path), proc_root=str(tmp_path), sys_root=str(tmp_path))
    mine, linux = read_inventory(settings), read_inventory(AgentSettings())
    assert mine.operating_system == f"Linux {platform.release()}"
    assert mine.kernel == linux.kernel
    assert mine.memory_bytes == linux.memory_bytes
    assert mine.cpu.threads == os.cpu_count()
    assert 0 < mine.cpu.cores <= mine.cpu.threads
    assert abs(mine.booted_ns - linux.booted_ns) <= 2_000_000_000
    assert {each.device for each in mine.networks} == {each.device for each in linux.networks} - {"lo"}
    assert mine.power_source in {"mains", "battery", "unknown"}
    assert not mine.disks


def test_known_fields_are_kept() -> None:
    """Only empty fields are filled in."""
    known = pb.Inventory(
        operating_system="macOS 15.1", kernel="24.1.0", booted_ns=5, memory_bytes=7, power_source="battery",
        cpu=pb.Cpu(model="Apple M4", cores=10, threads=11, max_hertz=3), networks=[pb.NetworkInterface(device="en0")],
    )  # fmt: skip
    completed = pb.Inventory.FromString(known.SerializeToString())
    complete(completed)
    assert completed == known


@pytest.mark.parametrize(("plugged", "source"), [(None, "unknown"), (True, "mains"), (False, "battery")])
def test_power_source_follows_the_battery(plugged: bool | None, source: str) -> None:
    """Without a battery the power source is unknown."""
    assert power_source(plugged) == source
