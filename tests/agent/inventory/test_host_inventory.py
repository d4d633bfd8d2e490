"""Tests of the whole inventory."""

import os
import platform
from pathlib import Path

from flyball_agent.inventory.host_inventory import operating_system, read_inventory
from flyball_agent.probes.testing import write_tree
from flyball_agent.settings import AgentSettings
from flyball_proto.v1 import telemetry_pb2 as pb


def test_reads_this_host() -> None:
    """The inventory agrees with what Python reports of this host."""
    inventory = read_inventory(AgentSettings(), [pb.Gpu(uuid="GPU-1")], "1.2.3")
    assert inventory.kernel == platform.release()
    assert inventory.architecture == platform.machine()
    assert inventory.memory_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < inventory.cpu.cores <= inventory.cpu.threads == os.cpu_count()
    assert "lo" in {network.device for network in inventory.networks}
    assert inventory.booted_ns > 0
    assert len(inventory.boot_id) == 36
    assert [gpu.uuid for gpu in inventory.gpus] == ["GPU-1"]
    assert inventory.agent_version == "1.2.3"


def test_uses_the_roots(tmp_path: Path) -> None:
    """With other roots nothing of this host is read except its architecture and Python version."""
    os_release = 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n'
    write_tree(tmp_path, {"usr/lib/os-release": os_release, "etc/os-release": "->/usr/lib/os-release", "stat": ""})
    settings = AgentSettings(root=str(tmp_path), proc_root=str(tmp_path), sys_root=str(tmp_path))
    inventory = read_inventory(settings)
    assert inventory.operating_system == "Debian GNU/Linux 13 (trixie)"
    present = {field.name for field, _ in inventory.ListFields()}
    assert present == {"operating_system", "architecture", "python_version", "power_source", "cpu", "limits"}


def test_names_the_operating_system() -> None:
    """The name is the pretty name, else the name, else empty."""
    assert operating_system("NAME=Alpine\n") == "Alpine"
    assert operating_system("garbage") == ""
