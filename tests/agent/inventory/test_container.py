"""Tests of the detection of virtual machines and containers."""

import gc
import os
from pathlib import Path

import pytest

from flyball_agent.inventory.container import container_runtime, read_limits, virtual_machine
from flyball_agent.probes.testing import write_tree


@pytest.mark.parametrize(
    ("files", "runtime"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"var/run": "->/run", "run/secrets/kubernetes.io/token": ""}, "kubernetes"),
        ({"run/.containerenv": ""}, "podman"),
        ({"var/run/secrets/kubernetes.io/token": "", ".dockerenv": ""}, "kubernetes"),
        ({"1/cgroup": "0::/kubepods.slice/kubepods-pod1.slice\n"}, "kubernetes"),
        ({"1/cgroup": "4:memory:/docker/abc\n"}, "docker"),
        ({"1/cgroup": "0::/user.slice/libpod-1.scope\n"}, "podman"),
        ({"1/cgroup": "0::/user.slice\n"}, ""),
        ({"1/cgroup": "0::/init.scope\n", "self/cgroup": "0::/kubepods.slice/kubepods-pod1.slice\n"}, ""),
    ],
)
def test_containers_are_detected(tmp_path: Path, files: dict[str, str], runtime: str) -> None:
    """A container around the host is detected by files of its runtime, or by the control group of process 1."""
    write_tree(tmp_path, files)
    assert container_runtime(tmp_path, tmp_path) == runtime


VIRTUAL_CPU = {"cpuinfo": "flags\t: fpu hypervisor\n"}


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({**VIRTUAL_CPU, "class/dmi/id/sys_vendor": "QEMU\n"}, "kvm"),
        (
            {**VIRTUAL_CPU, "class/dmi/id/sys_vendor": "Amazon EC2\n", "class/dmi/id/product_name": "p5.48xlarge\n"},
            "kvm",
        ),
        ({**VIRTUAL_CPU, "class/dmi/id/product_name": "Virtual Machine\n"}, "hyperv"),
        (VIRTUAL_CPU, "vm"),
        ({"cpuinfo": "flags\t: fpu\n", "class/dmi/id/sys_vendor": "Amazon EC2\n"}, ""),
        ({"hypervisor/type": "xen\n"}, "xen"),
        ({}, ""),
    ],
)
def test_virtual_machines_are_detected(tmp_path: Path, files: dict[str, str], kind: str) -> None:
    """A CPU flag shows a hypervisor, the firmware names it. Bare metal of a cloud provider is not a virtual machine."""
    write_tree(tmp_path, files)
    assert virtual_machine(tmp_path, tmp_path) == kind


def test_limits_are_those_of_the_group(tmp_path: Path) -> None:
    """Limits that are set are reported; 0 means no limit."""
    files = {"cpu.max": "150000 100000\n", "memory.max": "4096\n", "memory.current": "1\n", "pids.max": "max\n"}
    write_tree(tmp_path, {f"fs/cgroup/{name}": text for name, text in {**files, "cgroup.controllers": ""}.items()})
    limits = read_limits("docker", tmp_path, tmp_path)
    assert (limits.runtime, limits.cpus, limits.memory_bytes, limits.pids) == ("docker", 1.5, 4096, 0)


def test_reading_limits_leaves_no_file_open(tmp_path: Path) -> None:
    """After the limits are read, the files of the group are closed without a garbage collection."""
    files = {"cpu.max": "150000 100000\n", "memory.max": "4096\n", "memory.current": "1\n", "pids.max": "max\n"}
    write_tree(tmp_path, {f"fs/cgroup/{name}": text for name, text in {**files, "cgroup.controllers": ""}.items()})
    gc.disable()
    try:
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  names, not paths, are wanted
        read_limits("docker", tmp_path, tmp_path)
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    finally:
        gc.enable()


def test_without_a_group_there_are_no_limits(tmp_path: Path) -> None:
    """Without control groups all limits are 0."""
    assert read_limits("", tmp_path, tmp_path).ByteSize() == 0
