"""Virtual machines and containers."""

from pathlib import Path

import pytest

from flyball_agent.inventory.container import container_runtime, read_limits, virtual_machine
from flyball_agent.probes.testing import write_tree


@pytest.mark.parametrize(
    ("files", "runtime"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"var/run/secrets/kubernetes.io/token": "", ".dockerenv": ""}, "kubernetes"),
        ({"self/cgroup": "0::/kubepods.slice/kubepods-pod1.slice\n"}, "kubernetes"),
        ({"self/cgroup": "4:memory:/docker/abc\n"}, "docker"),
        ({"self/cgroup": "0::/user.slice/libpod-1.scope\n"}, "podman"),
        ({"self/cgroup": "0::/user.slice\n"}, ""),
    ],
)
def test_a_container_is_told_by_its_marks(tmp_path: Path, files: dict[str, str], runtime: str) -> None:
    """Files that runtimes leave, and names of control groups."""
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
def test_a_virtual_machine_is_told_by_its_firmware(tmp_path: Path, files: dict[str, str], kind: str) -> None:
    """The processor says that there is a hypervisor, the firmware which; bare metal of a cloud is none."""
    write_tree(tmp_path, files)
    assert virtual_machine(tmp_path, tmp_path) == kind


def test_limits_are_those_of_the_group(tmp_path: Path) -> None:
    """What is limited is said, what is not is 0."""
    files = {"cpu.max": "150000 100000\n", "memory.max": "4096\n", "memory.current": "1\n", "pids.max": "max\n"}
    write_tree(tmp_path, {f"fs/cgroup/{name}": text for name, text in {**files, "cgroup.controllers": ""}.items()})
    limits = read_limits("docker", tmp_path, tmp_path)
    assert (limits.runtime, limits.cpus, limits.memory_bytes, limits.pids) == ("docker", 1.5, 4096, 0)


def test_no_group_limits_nothing(tmp_path: Path) -> None:
    """Without control groups: no limits."""
    assert read_limits("", tmp_path, tmp_path).ByteSize() == 0
